"""The table of what can be asked, on a service that really runs: every route, its description, and its events."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.node import Node
from cmgr.service.door.answers import Version
from cmgr.service.door.client import follow, get, order
from cmgr.service.door.openapi import document
from tests.service.door.http import asked
from tests.support.door import table
from tests.support.service import NOW, Service
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service that has had one episode."""
    folder = Path(tempfile.mkdtemp(prefix="cmgr-api-"))
    made = Service(folder, {})
    made.pretend("one", "two")
    made.start()
    eventually(lambda: made.container("one"))
    made.inject(0, NOW)
    made.until_over()
    eventually(lambda: made.status()["service"]["state"] == "ready")
    yield made
    made.close()
    shutil.rmtree(folder)


def told(service: Service, *words: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(service.cmgr(*words, "-o", "json").out)
    return found


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("chips", ("chips",)),
        ("faults", ("faults",)),
        ("faults?all=true", ("faults", "--all")),
        ("faults?since=24h", ("faults", "--since", "24h")),
        ("episodes", ("history",)),
        ("episodes?limit=1", ("history", "--limit", "1")),
        ("episodes/1", ("history", "1")),
        ("history", ("history", "--all")),
        ("history?limit=3", ("history", "--all", "--limit", "3")),
        ("episodes?container=one&chip=0", ("history", "--container", "one", "--chip", "0")),
        ("episodes?chip=1-3&outcome=failed", ("history", "--chip", "1-3", "--outcome", "failed")),
        ("episodes?outcome=under%20way&since=1h", ("history", "--outcome", "under-way", "--since", "1h")),
        ("history?container=two&since=1h", ("history", "--all", "--container", "two", "--since", "1h")),
        ("downtime?when=2020-Q1", ("downtime", "2020-Q1")),
        ("explain/80E24E00", ("explain", "80E24E00")),
        ("explain/0x80e24e00", ("explain", "80E24E00")),
        ("check", ("check",)),
    ],
)
def test_a_document_is_the_one_that_the_command_prints(service: Service, target: str, words: tuple[str, ...]) -> None:
    # Measuring and reading the chips goes on between two looks.
    eventually(lambda: get(service.socket, target) == told(service, *words))


@pytest.mark.parametrize(
    ("target", "status", "error"),
    [
        ("episodes?chip=a", 400, "'a' is no chip"),
        ("episodes?outcome=well", 400, "outcome must be one of recovered, "),
        ("episodes?since=soon", 400, "since must be a length of time"),
        ("episodes?container=nobody", 404, "cannot find nobody"),
        ("history?group=nobody", 404, "cannot find group nobody"),
        ("history?outcome=failed", 400, "there is no argument 'outcome'"),
    ],
)
def test_what_narrows_nothing_is_refused(service: Service, target: str, status: int, error: str) -> None:
    answer = asked(service.socket, "GET", f"/v1/{target}")
    assert answer.status == status
    assert error in answer.body.decode()


def test_the_picture_and_the_containers_in_it(service: Service) -> None:
    def the_same() -> bool:
        picture, printed = get(service.socket, "status"), told(service, "status")
        of_it = get(service.socket, "containers")["containers"]
        return {**picture, "at": ""} == {**printed, "at": ""} and picture["containers"] == of_it

    eventually(the_same)


def test_a_service_that_is_well_says_so(service: Service) -> None:
    reply = asked(service.socket, "GET", "/v1/health")
    assert (reply.status, reply.value) == (200, {"healthy": True, "state": "ready", "troubles": []})


@pytest.mark.parametrize("target", ["status", "containers", "explain/80E24E00"])
def test_unchanged_is_told_until_something_changes(service: Service, target: str) -> None:
    def unchanged() -> bool:
        first = asked(service.socket, "GET", f"/v1/{target}")
        again = asked(service.socket, "GET", f"/v1/{target}", If_None_Match=first.headers["ETag"])
        return (first.status, again.status) == (200, 304)

    # A resync may come in between.
    eventually(unchanged)
    tag = asked(service.socket, "GET", f"/v1/{target}").headers["ETag"]
    order(service.socket, "isolate", chip=7, reason="its fan is loud")
    assert asked(service.socket, "GET", f"/v1/{target}", If_None_Match=tag).status == 200
    order(service.socket, "release", chip=7)


def test_a_version_is_another_one_whenever_the_value_is() -> None:
    version, other = Version(), Version()
    node = Node(Policy())
    first = version.of(node)
    assert version.of(node) == version.of(Node(Policy())) == first
    changed = version.of(Node(Policy(strategy=Strategy.RING)))
    assert changed != first
    assert version.of(node) not in (first, changed), "what was told in between is not forgotten"
    assert other.of(node) != first, "of another life"


def test_events_are_the_lines_that_history_has_later(service: Service) -> None:
    reader = follow(service.socket, "events")
    assert next(reader) is None
    order(service.socket, "isolate", chip=6, reason="its fan is loud")
    order(service.socket, "release", chip=6)
    heard: list[object] = []
    while not any("released" in str(line) or "release" in str(line) for line in heard):
        heard += [json.loads(line) for line in [next(reader)] if line is not None]
    reader.close()
    notes = get(service.socket, f"history?limit={len(heard)}")["notes"]
    assert notes == heard


def test_the_description_is_valid_and_has_every_route(service: Service) -> None:
    described = get(service.socket, "openapi.json")
    assert list(OpenAPIV31SpecValidator(described).iter_errors()) == []
    paths = described["paths"]
    assert isinstance(paths, dict)
    assert {(m.upper(), p) for p, methods in paths.items() for m in methods} == {(r.method, r.path) for r in table()}
    names = [method["operationId"] for methods in paths.values() for method in methods.values()]
    assert len(set(names)) == len(names)


def test_the_description_has_the_shape_of_every_answer() -> None:
    described: Any = document(table())
    refs = {}
    for methods in described["paths"].values():
        for operation in methods.values():
            (content,) = operation["responses"]["200"]["content"].values()
            refs[operation["operationId"]] = [
                s.get("$ref") for s in content["schema"].get("anyOf", [content["schema"]])
            ]
    bare = [name for name, found in refs.items() if None in found]
    assert bare == ["ranktable", "export", "picture", "status-text", "chips-text", "faults-text", "describe"]
    resumed = [f"#/components/schemas/{name}" for name in ("Resumed", "AllResumed", "Preview")]
    assert refs["resume"] == resumed
    assert refs["events"] == ["#/components/schemas/HistoryLine"]
    schemas = described["components"]["schemas"]
    assert schemas["Ring"]["properties"]["deadline"]["anyOf"][0] == {"type": "string", "format": "date-time"}
    assert "version" not in schemas["Service"]["required"]


def test_a_description_that_is_wrong_is_noticed() -> None:
    assert list(OpenAPIV31SpecValidator({"openapi": "3.1.0", "info": {"title": "x"}, "paths": {}}).iter_errors())
