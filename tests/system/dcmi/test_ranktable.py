"""The rank table of a group, printed, and written anew by the page's own hook before each start: after a move, too, and
over appliances.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.service.door.client import order
from tests.fakes.dcmi import hosts
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.etcd import Cluster
from tests.support.hooks import HookFolder
from tests.support.service import Service, Setting
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.containers import Spec
from tests.system.dcmi.conftest import Furnish
from tests.system.tasks import Tasks

HOOKS_PAGE = Path(__file__).parents[3] / "docs" / "hooks.md"


@pytest.fixture
def tasks(containerd: Containerd) -> Iterator[Tasks]:
    made = Tasks(containerd)
    yield made
    made.close()


def devices(table: str) -> list[tuple[str, str, str]]:
    (server,) = json.loads(table)["server_list"]
    assert server["server_id"] == "appliance-7"
    return [(device["rank_id"], device["device_id"], device["device_ip"]) for device in server["device"]]


def printed(service: Service) -> list[tuple[str, str, str]]:
    told = service.cmgr("ranktable", "--group", "tp")
    assert (told.code, told.err) == (0, "")
    return devices(told.out)


def page_hook(service: Service, to: Path) -> str:
    """Return the body of the page's example, for this service and this place."""
    (text,) = re.findall(
        r"<!-- hook before_start \d -->\n```sh\n#!/bin/sh\n(.*?)```", HOOKS_PAGE.read_text(), re.DOTALL
    )
    assert "cmgr ranktable --group" in text
    command = f"{sys.executable} -m cmgr ranktable --config {service.config} --group"
    return str(text).replace("/run/appliance", str(to)).replace("cmgr ranktable --group", command)


@pytest.mark.containerd
def test_a_group_finds_the_table_of_its_chips_as_they_are_before_it_is_started(
    furnish_alone: Furnish, tasks: Tasks, tmp_path: Path
) -> None:
    hooks = HookFolder(tmp_path)
    settings = {"runtimes": ["containerd"], "containerd.address": tasks.containerd.socket, "strategy": "singleRecover"}
    more = {"isolation.on_isolate": "stop", "hooks.dir": str(hooks.dir), "export.node": "appliance-7"}
    appliance = furnish_alone(hosts.host_910b_infer(4), {**settings, **more})
    service, table = appliance.service, tmp_path / "tp.json"
    hooks.put("before_start", after=page_hook(service, tmp_path))
    service.start()
    labels = {"cmgr.group": "tp", "cmgr.spare": "auto"}
    tasks.run(Spec("rank0", "0", labels=labels), Spec("rank1", "1", labels=labels))
    eventually(lambda: service.runs("rank0") and service.runs("rank1"), why="cmgr knows both")
    assert printed(service) == [("0", "0", "10.0.7.0"), ("1", "1", "10.0.7.1")]
    assert not table.exists()
    order(service.socket, "isolate", chip=0, reason="its fan is loud")
    service.until_said("rank0 runs again")
    service.until_said("rank1 runs again")
    (spare,) = (service.container("rank0") or {})["chips"]
    assert spare in (2, 3)
    expected = [("0", str(spare), f"10.0.7.{spare}"), ("1", "1", "10.0.7.1")]
    assert devices(table.read_text()) == expected == printed(service)
    texts = [note.text for note in service.notes()]
    ran = next(n for n, text in enumerate(texts) if text.startswith("hook before_start ended well"))
    assert ran < min(texts.index("rank0 runs again"), texts.index("rank1 runs again"))
    checks.each_was_stopped_once(tasks, ["rank0", "rank1"])


PLACES = {"a": (0, 1), "b": (3, 2)}
"""The chips of the members on each appliance: the stand-ins' addresses say no more than their numbers."""


def with_two_members(furnish: Furnish, etcd: Cluster, place: Path, *chips: int) -> Service:
    """Return an appliance that runs, whose hook writes the table into this place."""
    place.mkdir()
    hooks, name = HookFolder(place), place.name
    fleet: dict[str, Setting] = {"fleet.engine": "etcd", "fleet.endpoints": list(etcd.endpoints), "fleet.name": name}
    more = {"hooks.dir": str(hooks.dir), "export.node": f"machine-{name}", "fleet.prefix": "/of-rank-tables"}
    service = furnish(hosts.host_910b_infer(4), {**fleet, **more}).service
    service.more = "\n".join(
        f'[[sim.containers]]\nname = "rank{n}"\nchips = [{chip}]\ngroup = "tp"\ngroup_size = 4\n'
        for n, chip in enumerate(chips)
    )
    service.configure({})
    hooks.put("before_start", after=page_hook(service, place))
    service.start()
    return service


@pytest.mark.etcd
def test_a_group_over_appliances_finds_the_whole_table_before_any_member_is_started(
    furnish_alone: Furnish, etcd: Cluster, tmp_path: Path
) -> None:
    both = [with_two_members(furnish_alone, etcd, tmp_path / name, *chips) for name, chips in PLACES.items()]
    a = both[0]
    eventually(lambda: a.cmgr("ranktable", "--group", "tp").code == 0, "both have told their parts")
    assert a.cmgr("group", "restart", "tp").code == 0
    for service in both:
        service.until_said("rank0 runs again")
        service.until_said("rank1 runs again")
    expected = [
        {"server_id": f"machine-{name}", "device": [device(rank, chip) for rank, chip in ranks]}
        for name, ranks in (("a", ((0, 0), (1, 1))), ("b", ((2, 3), (3, 2))))
    ]
    told = [(tmp_path / name / "tp.json").read_text() for name in PLACES] + [
        each.cmgr("ranktable", "--group", "tp").out for each in both
    ]
    for text in told:
        assert sorted(json.loads(text)["server_list"], key=lambda server: str(server["server_id"])) == expected
    for service in both:
        texts = [note.text for note in service.notes()]
        assert sum(text.startswith("hook before_start ended well") for text in texts) == 2
        assert not [text for text in texts if text.startswith("hook before_start") and "ended well" not in text]


def device(rank: int, chip: int) -> dict[str, str]:
    return {"device_id": str(chip), "device_ip": f"10.0.7.{chip}", "rank_id": str(rank)}


def test_a_group_that_is_not_whole_and_one_that_is_not_there_get_no_table(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b_infer(2))
    service = appliance.service
    service.more = '[[sim.containers]]\nname = "rank0"\nchips = [0]\ngroup = "tp"\ngroup_size = 2\n'
    service.configure({})
    service.start()
    told = service.cmgr("ranktable", "--group", "tp")
    assert told.code == 1
    assert "cannot make the rank table of group tp: 1 of 2 members are known here" in told.err
    told = service.cmgr("ranktable", "--group", "nobody")
    assert (told.code, told.out) == (1, "")
    assert "nobody" in told.err
