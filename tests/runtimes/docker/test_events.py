"""Reading the lines of Docker's event stream."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.services.containers import Exit
from cmgr.runtimes.docker.events import Event, parsed

DIE = {
    "status": "die",
    "id": "c1",
    "from": "image",
    "Type": "container",
    "Action": "die",
    "Actor": {"ID": "c1", "Attributes": {"exitCode": "137", "image": "image", "name": "web"}},
    "scope": "local",
    "time": 1700000000,
    "timeNano": 1700000000123456789,
}


def test_an_event_is_read() -> None:
    read = parsed(json.dumps(DIE).encode())
    assert read == Event("die", "c1", 1700000000123456789, {"exitCode": "137", "image": "image", "name": "web"})
    assert read is not None
    assert read.exit() == Exit(137, datetime(2023, 11, 14, 22, 13, 20, 123456, UTC))


@pytest.mark.parametrize("code", ["", "x", "1.0", " 1", "9" * 20])
def test_an_exit_code_that_is_none_is_no_exit(code: str) -> None:
    assert Event("die", "c1", 1, {"exitCode": code}).exit() is None
    assert Event("die", "c1", 1, {}).exit() is None


def test_podmans_removal_is_one_and_its_deaths_are_nobodys_for_sure() -> None:
    attributes = {"containerExitCode": "0", "name": "web"}
    removed = {**DIE, "Action": "remove", "Actor": {"ID": "c1", "Attributes": attributes}}
    read = parsed(json.dumps(removed).encode())
    assert read is not None
    assert (read.action, read.blames) == ("destroy", False)
    docker = parsed(json.dumps({**DIE, "Action": "remove"}).encode())
    assert docker is not None
    assert (docker.action, docker.blames) == ("remove", True)


@pytest.mark.parametrize("missing", ["Action", "Actor", "timeNano"])
def test_an_event_that_lacks_something_is_none(missing: str) -> None:
    assert parsed(json.dumps({k: v for k, v in DIE.items() if k != missing}).encode()) is None


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_no_line_makes_reading_fail(line: bytes) -> None:
    assert parsed(line) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["ID", "Attributes", "x"]), inner),
    max_leaves=5,
)


@given(action=JSON, actor=JSON, at=JSON, code=st.text(max_size=12))
def test_no_event_makes_reading_fail(action: object, actor: object, at: object, code: str) -> None:
    read = parsed(json.dumps({"Action": action, "Actor": actor, "timeNano": at}).encode())
    assert read is None or (read.id and isinstance(read.action, str))
    end = Event("die", "c", 2**63 - 1, {"exitCode": code}).exit()
    assert end is None or str(end.code) == str(int(code))
