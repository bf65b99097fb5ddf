"""Values of options, as text and as numbers of Python and numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sauvolanet.errors import UsageError
from sauvolanet.options import Option

COUNT = Option("count", int, 1, 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(10**18 + 1, 10**18 + 1), (str(10**18 + 1), 10**18 + 1), (np.int64(2**53 + 1), 2**53 + 1),
     pytest.param(10**400, 10**400, id="401 digits"), (np.uint8(3), 3), (np.float32(3), 3), (3.0, 3), ("3.0", 3), (" 3 ", 3), ("5e8", 500_000_000)],
)  # fmt: skip
def test_whole_numbers_keep_all_digits(given: object, expected: int) -> None:
    """A float has 53 bits, and no number of 401 digits is one."""
    found = COUNT.parse(given)
    assert type(found) is int and found == expected


@pytest.mark.parametrize("given", [3.5, "3.5", "", "many", "nan", float("inf"), "1e400", True, [3], 0, -1])
def test_what_is_no_whole_number_from_1(given: object) -> None:
    with pytest.raises(UsageError, match="count must be a whole number, at least 1, not"):
        COUNT.parse(given)
