"""Parts of rank tables between appliances: told before the others may start by them, and read as a stranger's text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from cmgr.drivers.dcmi.ranktable import table
from cmgr.errors import CmgrError, DriverError, FleetError
from cmgr.fleet.appliance_text import presence as taken
from cmgr.fleet.appliance_text import presence_text
from cmgr.model.values.chips import ChipId
from cmgr.model.values.fleet import NEVER, FleetGroup
from cmgr.model.values.messages.documents import Document, Entry, EntryState, Outcome
from cmgr.model.values.node import Node
from cmgr.model.values.presence import Ail, Presence
from cmgr.model.values.ranks import MOST_DEVICES, MOST_PARTS, Device, Part, Server
from cmgr.ports import ChipDriver
from cmgr.service.parts.ranks import Ranks
from tests.fleet.world import LEASE, SLOW, Make, One, appliances
from tests.model.builders import Cmgr, container
from tests.support.daemons.etcd import Cluster
from tests.support.waiting import eventually

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PART = Part("tp", 3, 2, -1, Server("machine-a", (Device(0, "10.0.7.0"), Device(4, "fd00::4", 7, 65536))))
SHOWN = Presence("ready", NOW, parts=(PART, Part("lone", 0, 1, 0, Server("machine-a", ()), "chip 2 has no address")))


# Text.


def test_parts_come_through_to_the_others_and_without_any_nothing_is_said_of_them() -> None:
    assert taken(presence_text(SHOWN, NOW)) == (SHOWN, NOW)
    assert b"parts" not in presence_text(Presence("ready", NOW), NOW)


def test_they_are_written_as_appliances_of_an_older_version_read_them() -> None:
    time = '"at":"2026-01-01T00:00:00+00:00","since":"2026-01-01T00:00:00+00:00"'
    parts = (
        '{"group":"tp","round":3,"members":2,"order":-1,"server":"machine-a",'
        '"devices":[[0,"10.0.7.0",null,0],[4,"fd00::4",7,65536]],"why":""},'
        '{"group":"lone","round":0,"members":1,"order":0,"server":"machine-a","devices":[],'
        '"why":"chip 2 has no address"}'
    )
    assert presence_text(replace(SHOWN, ails=(Ail("is ill"),)), NOW).decode() == (
        f'{{"v":1,{time},"state":"ready","episodes":0,"isolated":0,"ails":[{{"text":"is ill","hint":""}}],'
        f'"more":0,"parts":[{parts}]}}'
    )


def test_as_much_as_may_be_told_can_be_read() -> None:
    here = tuple(
        Device(chip, f"fd00:1111:2222:3333:4444:5555:6666:{chip + 4096:x}", 2**31, 2**32)
        for chip in range(MOST_DEVICES)
    )
    most = tuple(Part(f"{n:063}", 2**52, 1000, 2**31, Server("m" * 253, here)) for n in range(MOST_PARTS))
    assert taken(presence_text(replace(SHOWN, parts=most), NOW))[0].parts == most


def changed(**fields: Any) -> bytes:
    told = json.loads(presence_text(SHOWN, NOW))
    told["parts"][0] |= fields
    return json.dumps(told).encode()


@pytest.mark.parametrize(
    "fields",
    [
        {"group": "../tp"},
        {"group": "lone"},
        {"round": -1},
        {"round": True},
        {"members": "2"},
        {"order": 1.5},
        {"server": ""},
        {"server": "a\x1b[2J"},
        {"why": "it is so"},
        {"why": None},
        {"devices": {}},
        {"devices": [[0, "10.0.7.0", None]]},
        {"devices": [["0", "10.0.7.0", None, 0]]},
        {"devices": [[0, "10.0.7.0; reboot", None, 0]]},
        {"devices": [[0, "fe80::1%\x1b[2J", None, 0]]},
        {"devices": [[0, 167773952, None, 0]]},
        {"devices": [[0, "10.0.7.0", "7", 0]]},
        {"devices": [[0, "10.0.7.0", None, 0], [0, "10.0.7.1", None, 0]]},
        {"devices": [[chip, "10.0.7.0", None, 0] for chip in range(MOST_DEVICES + 1)]},
    ],
)
def test_a_part_of_another_form_is_not_read(fields: dict[str, Any]) -> None:
    with pytest.raises(FleetError, match="cannot read what an appliance shows"):
        taken(changed(**fields))


@pytest.mark.parametrize("parts", [{}, None, [None], [{}], [json.loads(changed())["parts"][0]] * (MOST_PARTS + 1)])
def test_parts_of_another_form_are_not_read(parts: object) -> None:
    told = json.loads(changed()) | {"parts": parts}
    with pytest.raises(FleetError, match="cannot read what an appliance shows"):
        taken(json.dumps(told).encode())


# Over an engine.


class Chips:
    """A driver whose chips say their addresses, and how often they were asked."""

    name = "dcmi"

    def __init__(self, net: int) -> None:
        self.net = net
        self.asked = 0
        self.mute = False

    def devices(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Device | DriverError]:
        self.asked += len(chips)
        mute = DriverError("chip 0 has no address")
        return {chip: mute if self.mute else Device(chip, f"10.0.{self.net}.{chip}") for chip in chips}

    def rank_table(self, servers: Sequence[Server]) -> Mapping[str, object]:
        return table(servers)


class Party:
    """An appliance of the fleet with a member of the group on each of these chips."""

    def __init__(self, one: One, net: int, *chips: int) -> None:
        self.one, self.chips = one, Chips(net)
        self.node = Node()
        self.ranks = Ranks(cast("ChipDriver", self.chips), f"m{net}", lambda: self.node, one.fleet)
        self.on(*chips)
        one.fleet.show(lambda: replace(Presence("ready", NOW), parts=self.ranks.told()))

    def on(self, *chips: int) -> None:
        """Let its members have these chips, and let it have seen what was told of the group last."""
        members = (container(f"r{n}", chip, group="tp", group_size=4) for n, chip in enumerate(chips))
        seen = [NEVER, *self.one.seen("tp")][-1]
        self.node = replace(Cmgr(*members).node, fleet_groups={"tp": FleetGroup("tp", seen=seen)})

    def table(self) -> list[tuple[str, str, str]]:
        told: Any = self.ranks.table("tp")
        found = [(server["server_id"], each) for server in told["server_list"] for each in server["device"]]
        return [(each["rank_id"], server, each["device_ip"]) for server, each in found]

    def refusal(self) -> str:
        """Return why there is no table; nothing where there is one."""
        try:
            self.ranks.table("tp")
        except CmgrError as refused:
            return refused.message
        return ""


def agreed(round_: int, state: EntryState = EntryState.READY) -> Document:
    entry = Entry(round_, state, "", ("r0", "r1"))
    return Document(4, round_, members={"a": entry, "b": entry})


@pytest.mark.etcd
def test_a_part_is_told_before_its_appliance_says_that_it_is_ready(etcd: Cluster) -> None:
    # Nothing but a write shows anything, and nothing keeps the lease.
    with appliances(etcd.endpoints, timedelta(minutes=5)) as make:
        told_before_ready(make, etcd)


def told_before_ready(make: Make, etcd: Cluster) -> None:
    ones = [make(name, pace=SLOW, at="/ranks").begin().up() for name in "ab"]
    a, b = Party(ones[0], 7, 0, 4), Party(ones[1], 8, 1, 2)
    assert a.refusal() == "cannot make the rank table of group tp: 2 of 4 members are known here"
    revision = 0
    for round_, chips in ((1, (0, 4)), (2, (0, 3)), (3, (0, 3))):
        revision = a.one.fleet.write("tp", agreed(round_, EntryState.HALTED), revision).revision
        for each in (a, b):
            each.one.sees("tp", agreed(round_, EntryState.HALTED))
        b.on(1, 2)
        a.on(0, 4)
        assert f"b has not reported its part{f' in round {round_} yet' if round_ > 1 else ''}" in a.refusal()
        a.on(*chips)  # It moves while it is held.
        for each in (a, b):
            written = each.one.fleet.write("tp", agreed(round_), revision)
            assert written.outcome is Outcome.DONE
            revision = written.revision
        expected = [
            ("0", "m7", "10.0.7.0"),
            ("1", "m7", f"10.0.7.{chips[1]}"),
            ("2", "m8", "10.0.8.1"),
            ("3", "m8", "10.0.8.2"),
        ]
        assert a.table() == b.table() == expected
    etcd.ctl("put", "/ranks/alive/a", changed(server="a\nb").decode())
    assert b.refusal() == "cannot make the rank table of group tp: a has not reported its part"


@pytest.mark.etcd
def test_a_part_is_told_by_itself_and_the_driver_is_seldom_asked(make: Make) -> None:
    a, b = Party(make("a").begin().up(), 7, 0, 4), Party(make("b").begin().up(), 8, 1, 2)
    a.one.fleet.write("tp", agreed(0, EntryState.RUNNING), 0)
    for each, chips in ((a, (0, 4)), (b, (1, 2))):
        each.one.sees("tp", agreed(0, EntryState.RUNNING))
        each.on(*chips)
    eventually(lambda: not a.refusal(), "a has the whole table")
    assert len(a.table()) == 4
    asked = b.chips.asked
    assert asked == 2
    eventually(lambda: b.one.fleet.shown()["a"].parts, "a is seen by b")
    assert b.chips.asked == asked
    b.chips.mute = True
    b.on(1, 3)
    eventually(lambda: "b has none: chip 0 has no address" in a.refusal(), "a says why there is none")
    b.one.fleet.close()
    eventually(lambda: a.refusal().endswith("b has not reported its part"), f"b is gone, after {LEASE} at most")


def test_where_there_is_no_fleet_nothing_is_told() -> None:
    chips = Chips(7)
    node = Cmgr(container("r0", 0, group="tp", group_size=1), container("r1", 1, group="tp", group_size=1)).node
    ranks = Ranks(cast("ChipDriver", chips), "m7", lambda: node, None)
    assert ranks.told() == ()
    assert chips.asked == 0
    assert len(cast("Any", ranks.table("tp"))["server_list"][0]["device"]) == 2
