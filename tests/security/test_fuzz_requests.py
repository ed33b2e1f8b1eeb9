"""Requests that are well formed and mean nothing good, to a service that really runs."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.errors import CmgrError
from cmgr.service.client import ask
from tests.security.fuzz import SECTION, json_values, numbers, texts, tries
from tests.support.figures import Figures
from tests.support.service import Service


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-fuzz-"))
    made = Service(folder, {})
    made.pretend("one", "two")
    made.start()
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def known(service: Service) -> list[str]:
    """Every request that this service knows: it names them to whoever asks for another."""
    with pytest.raises(CmgrError) as caught:
        ask(service.socket, "no such request")
    found = re.findall(r"[a-z_-]+", caught.value.hint.removeprefix("one of "))
    assert {"status", "chips", "inject"} <= set(found)
    return found


anything = numbers | texts | st.booleans() | json_values
codes = st.sampled_from(["80E24E00", "80C98008", "0x8c084e00", "DEADBEEF", "1"])
spans = st.sampled_from(["2h", "0s", "10ms", "-1h", "9999999d"])
# What each is wanted to be, more often than not, so that the request gets further than the first check.
well = {
    "chip": st.integers(0, 7),
    "code": codes,
    "assertion": st.sampled_from(["occurred", "cleared", "once"]),
    "container": st.sampled_from(["one", "two", "o", ""]),
    "reason": texts,
    "for": spans,
    "seconds": numbers,
    "all": st.booleans(),
    "on": st.booleans(),
}
near = st.fixed_dictionaries({}, optional={name: value | value | value | anything for name, value in well.items()})
whole = st.fixed_dictionaries(well)
far = st.dictionaries(texts.filter(lambda name: name not in ("path", "do")), anything, max_size=3)
requests = st.builds(lambda few, more: {**more, **few}, near | whole, far | st.just({}))


def answered(service: Service, do: str, args: dict[str, object]) -> str:
    """Return the answer, or what is said instead."""
    try:
        return json.dumps(ask(service.socket, do, **args))
    except CmgrError as error:
        return error.message


@tries(1500)
@given(number=st.integers(0, 63), args=requests)
def test_no_request_is_more_than_answered_or_refused(
    service: Service, known: list[str], figures: Figures, number: int, args: dict[str, object]
) -> None:
    told = answered(service, known[number % len(known)], args)
    assert told.startswith(("{", "cannot "))
    assert "internal error" not in told
    figures.add(SECTION, "orders and questions fuzzed")


def test_the_service_has_met_no_bug_by_all_that(service: Service) -> None:
    assert service.running()
    assert not [t for t in service.status()["service"]["troubles"] if "bug" in t]
    said = service.said()
    assert "Traceback" not in said
    assert "please report" not in said
