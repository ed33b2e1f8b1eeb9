"""The rank table over appliances: what each tells of it, and what becomes of all parts."""

from dataclasses import replace

import pytest

from cmgr.drivers.dcmi.ranktable import table
from cmgr.errors import CmgrError, DriverError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages.documents import Document, Entry, EntryState
from cmgr.model.values.ranks import MOST_DEVICES, Device, Part, Server
from cmgr.view.ranks import joined, parts, shared
from tests.model.builders import Cmgr, container
from tests.model.fleet_builders import TP, Fleet

ENTRY = Entry(4, EntryState.RUNNING, containers=("r0", "r1"))
OF_BOTH = Document(4, 4, members={"a": ENTRY, "b": ENTRY})


def devices(*chips: int, net: int = 7) -> dict[ChipId, Device | DriverError]:
    return {ChipId(chip): Device(chip, f"10.0.{net}.{chip}") for chip in chips}


def part(name: str, *chips: int, net: int = 7, order: int = 0) -> Part:
    here = tuple(Device(chip, f"10.0.{net}.{chip}") for chip in chips)
    return Part(TP, 4, 2, order, Server(f"machine-{name}", here))


A, B = part("a", 0, 4), part("b", 4, 1, net=8)


def test_an_appliance_tells_its_part_of_groups_over_appliances_and_of_no_other() -> None:
    a = Fleet().all[0]
    assert shared(a.node) == {TP: [0, 4]}
    (told,) = parts(a.node, "machine-a", devices(0, 4))
    assert told == Part(TP, 0, 2, 0, Server("machine-a", (Device(0, "10.0.7.0"), Device(4, "10.0.7.4"))))
    alone = Cmgr(container("r0", 0, group="own"), container("r1", 1, group="own"), appliance="a")
    assert parts(alone.node, "machine-a", devices(0, 1)) == ()


def test_what_a_part_lacks_is_told_in_its_place() -> None:
    a = Fleet().all[0]
    (told,) = parts(a.node, "machine-a", {**devices(0), ChipId(4): DriverError("chip 4 has no address")})
    assert (told.why, told.server.devices) == ("chip 4 has no address", ())
    (told,) = parts(a.node, "machine-a", devices(0))
    assert told.why == "chip 4 was not asked"
    with pytest.raises(CmgrError, match=r"^a has none: chip 4 was not asked$"):
        joined(TP, OF_BOTH, {"a": replace(told, round=4), "b": B})


def test_ranks_go_on_from_one_appliance_to_the_next() -> None:
    told = table(joined(TP, OF_BOTH, {"b": B, "a": A}))
    assert told == {
        "status": "completed",
        "server_list": [
            {
                "device": [
                    {"device_id": "0", "device_ip": "10.0.7.0", "rank_id": "0"},
                    {"device_id": "4", "device_ip": "10.0.7.4", "rank_id": "1"},
                ],
                "server_id": "machine-a",
            },
            {
                "device": [
                    {"device_id": "4", "device_ip": "10.0.8.4", "rank_id": "2"},
                    {"device_id": "1", "device_ip": "10.0.8.1", "rank_id": "3"},
                ],
                "server_id": "machine-b",
            },
        ],
        "server_count": "2",
        "version": "1.0",
    }


def test_appliances_go_by_their_least_order_and_then_by_name_in_which_numbers_count() -> None:
    document = Document(8, 4, members=dict.fromkeys(("n10", "n2", "first", "cache"), ENTRY))
    told = {"n10": part("n10", 0), "n2": part("n2", 1), "first": part("first", 2, order=-1), "cache": part("cache")}
    assert [server.name for server in joined(TP, document, told)] == ["machine-first", "machine-n2", "machine-n10"]


@pytest.mark.parametrize(
    ("document", "told", "why"),
    [
        (OF_BOTH, {"a": A}, "b has not reported its part"),
        (OF_BOTH, {}, "a has not reported its part; b has not reported its part"),
        (OF_BOTH, {"a": A, "b": replace(B, round=3)}, "b has not reported its part in round 4 yet"),
        (OF_BOTH, {"a": A, "b": replace(B, members=1)}, "b has not reported its part in round 4 yet"),
        (replace(OF_BOTH, size=5), {"a": A, "b": B}, "4 of 5 members are known"),
        (
            replace(OF_BOTH, members={"a": ENTRY, "b": replace(ENTRY, state=EntryState.OUT)}),
            {"a": A, "b": B},
            "b was left out of it",
        ),
        (OF_BOTH, {"a": A, "b": replace(B, server=replace(B.server, name="machine-a"))}, "are called machine-a"),
        (OF_BOTH, {"a": A, "b": part("b", 4)}, "two chips of it have the address 10.0.7.4"),
        (OF_BOTH, {"a": part("a"), "b": part("b")}, "no member has a chip"),
    ],
)
def test_a_table_that_is_not_of_the_whole_group_is_none(document: Document, told: dict[str, Part], why: str) -> None:
    with pytest.raises(CmgrError, match=f"{why}$") as refused:
        joined(TP, document, told)
    assert refused.value.hint


def test_more_chips_than_the_others_would_read_are_not_told() -> None:
    a = Fleet().all[0]
    many = container("r0", group=TP, group_size=4, chips=frozenset(map(ChipId, range(MOST_DEVICES + 1))))
    node = replace(a.node, containers={many.key: many})
    assert parts(node, "machine-a", {})[0].why == f"more than {MOST_DEVICES} chips are of it"
