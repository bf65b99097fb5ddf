"""The service does what its own description says: schemathesis makes requests from it, right ones and wrong ones."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis")
pytest.importorskip("uvicorn")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

EXAMPLES = settings(
    max_examples=8, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def described(start):
    service = start()
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_requests_made_from_the_description(described, mode):
    operations = [found.ok() for found in described.get_all_operations()]
    assert {operation.path for operation in operations} >= {"/v1/binarize", "/v1/explain", "/v1/methods", "/healthz"}
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and not (operation.body or list(operation.iter_parameters())):
            continue  # nothing can be wrong with it

        @EXAMPLES
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            # a description cannot say that a file must be a page, and have as many pages as it is asked for
            case.call_and_validate(excluded_checks=[positive_data_acceptance], timeout=300)

        ask()
