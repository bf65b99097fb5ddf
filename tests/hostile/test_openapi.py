"""The service does what its own description says: schemathesis makes requests from it, right ones and wrong ones."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis")
jsonschema_rs = pytest.importorskip("jsonschema_rs")
pytest.importorskip("uvicorn")

from hypothesis import HealthCheck, assume, given, settings  # noqa: E402
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

EXAMPLES = settings(max_examples=8, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def described(start):
    service = start()
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


def wrong_when_sent(case) -> bool:
    """Whether a request that is meant to be wrong is wrong on the wire, by the description of its form.

    schemathesis goes by what it has changed. It leaves out the method, which makes a request for a model; it says that
    some bytes are no file; it sends an empty list, which in a form is nothing.
    """
    sent = {**case.query, **(case.body if isinstance(case.body, dict) else {})}
    if any(change.parameter_location.value != "body" for change in case.meta.phase.data.mutations):
        return not any(isinstance(value, list) for value in sent.values())
    form = next(iter(case.operation.body)).definition["schema"]
    lists = {name: value if isinstance(value, list) else [value] for name, value in sent.items() if name != "job"}
    fields = {name: "" if name == "file" else _text(value[0]) for name, value in lists.items() if value}
    return any(len(value) > 1 for value in lists.values()) or not jsonschema_rs.is_valid(form, fields)


def _text(value: object) -> object:
    """A value after its way through a form: what reads as a number is one."""
    try:
        return float(str(value))
    except ValueError:
        return str(value)


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
            if mode is GenerationMode.NEGATIVE:
                assume(wrong_when_sent(case))
            # a description cannot say that a file must be a page, and have as many pages as it is asked for
            case.call_and_validate(excluded_checks=[positive_data_acceptance], timeout=300)

        ask()
