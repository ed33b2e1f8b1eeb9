"""Requests that are well formed and mean nothing good, to a service that really runs."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.errors import CmgrError
from cmgr.service.door.client import get, order
from tests.security.fuzz import SECTION, json_values, numbers, texts, tries
from tests.support.door import table
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


ROUTES = {route.do: route for route in table() if route.args is not None and route.do not in ("events", "check")}


anything = numbers | texts | st.booleans() | json_values
codes = st.sampled_from(["80E24E00", "80C98008", "0x8c084e00", "DEADBEEF", "1", "raid-failed"])
spans = st.sampled_from(["2h", "0s", "10ms", "-1h", "9999999d"])
# The value that each is wanted to have, more often than not, so that the request gets further than the first check.
well = {
    "chip": st.integers(0, 7),
    "code": codes,
    "part": texts,
    "assertion": st.sampled_from(["occurred", "cleared", "once"]),
    "container": st.sampled_from(["one", "two", "o", ""]),
    "reason": texts,
    "seconds": numbers,
    "all": st.booleans(),
    "on": st.booleans(),
    "limit": st.integers(-1, 30),
    "episode": st.integers(-1, 3),
    "since": spans,
}
near = st.fixed_dictionaries({}, optional={name: value | value | value | anything for name, value in well.items()})
whole = st.fixed_dictionaries(well)
far = st.dictionaries(texts.filter(lambda name: name not in ("path", "do")), anything, max_size=3)
requests = st.builds(lambda few, more: {**more, **few}, near | whole, far | st.just({}))


def answered(service: Service, do: str, args: dict[str, object]) -> str:
    """Return the answer, or what is said instead."""
    route = ROUTES[do]
    try:
        if route.method == "POST":
            return json.dumps(order(service.socket, do, **args))
        path, query = route.path.removeprefix("/v1/"), {k: str(v) for k, v in args.items()}
        for name in [name for name in query if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", quote(query.pop(name), safe="", errors="replace"))
        asked = f"{path}?{urlencode(query, errors='replace')}"
        return json.dumps(get(service.socket, asked))
    except CmgrError as error:
        return error.message


@tries(1500)
@given(do=st.sampled_from(sorted(ROUTES)), args=requests, strict=st.booleans())
def test_no_request_is_more_than_answered_or_refused(
    service: Service, figures: Figures, do: str, args: dict[str, object], *, strict: bool
) -> None:
    names = {arg.name for arg in ROUTES[do].args or ()}
    told = answered(service, do, {k: v for k, v in args.items() if k in names} if strict else args)
    assert told.startswith(("{", "cannot "))
    assert "internal error" not in told
    figures.add(SECTION, "orders and questions fuzzed")


def test_the_service_has_met_no_bug_by_all_that(service: Service) -> None:
    assert service.running()
    assert not [t for t in service.status()["service"]["troubles"] if "bug" in t]
    said = service.said()
    assert "Traceback" not in said
    assert "please report" not in said
