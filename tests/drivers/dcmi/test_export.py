"""The documents that programs of a cluster read: the vendor's own examples, byte for byte, and a reader of them."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers.dcmi.export import EXPORT, check_code
from cmgr.model.values.chips import Chip, ChipId, ChipReport, RingId
from cmgr.model.values.faults import Assertion, Fault, FaultClass, FaultCode, Handling, Isolation, Level
from cmgr.model.values.handling.rules import Raise, RuleKind, Tally
from cmgr.model.values.machine import MachineFault
from cmgr.model.values.messages.commands import FaultSaid, Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase, Ring
from cmgr.vendor import exports
from tests.security.fuzz import tries
from tests.support.picture import running

GOLDEN = Path(__file__).parents[2] / "golden" / "export"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LINK, ROWS = 1744168468259, 1744167455784


def moment(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


def fault(chip: int, code: str, handling: Handling, at: int, fault_class: FaultClass = FaultClass.CHIP) -> Fault:
    since = moment(at)
    return Fault(
        ChipId(chip), FaultCode(code), "", handling.level, since, since, since, handling=handling,
        fault_class=fault_class,
    )  # fmt: skip


def machine(*faults: Fault, model: str = "910B3", chips: int = 8) -> Node:
    """Return chips in one ring, all answering, with these faults; what asks for it is isolated."""
    known = {ChipId(c): Chip(ChipId(c), RingId(0), c, model=model) for c in range(chips)}
    by_chip = {c: {f.key: f for f in faults if f.chip == c} for c in known}
    bad = {f.chip: Isolation(f.chip, f.since, "level", "x", f.code) for f in faults if f.level is Level.SeparateNPU}
    return Node(
        catalog=load_catalog(Config()),
        chips=known,
        rings={RingId(0): Ring(RingId(0), tuple(known))},
        reports={c: ChipReport(c) for c in known},
        faults={c: found for c, found in by_chip.items() if found},
        isolations=bad,
    )


def example() -> Node:
    """Return the machine of the vendor's example: a link is down on chip 0, and chip 4 has no room for bad memory."""
    memory = {"A8028801": Handling.SeparateNPU, "A4028801": Handling.NotHandleFault}
    memory |= {"80E18402": Handling.SeparateNPU, "80E18401": Handling.NotHandleFault}
    down = fault(0, "81078603", Handling.PreSeparateNPU, LINK, FaultClass.NETWORK)
    return machine(down, *(fault(4, code, handling, ROWS) for code, handling in memory.items()))


def documents(node: Node, host: str = "node133", at: int = 1744182144000) -> dict[str, bytes]:
    return {name: text for name, (_, text) in EXPORT.documents(node, host, moment(at)).items()}


def test_the_device_plugins_document_is_that_of_the_vendors_example_byte_for_byte() -> None:
    assert documents(example())["deviceinfo"] == GOLDEN.joinpath("deviceinfo.json").read_bytes().rstrip()


@pytest.mark.parametrize(
    ("model", "family"), [("910B3", "Ascend910"), ("Ascend310P3", "Ascend310P"), ("Ascend950PR", "npu"), ("950", "npu")]
)
def test_chips_have_the_names_that_the_makers_components_give_to_their_family(model: str, family: str) -> None:
    told = json.loads(documents(machine(fault(1, "80E18402", Handling.SeparateNPU, ROWS), model=model))["deviceinfo"])
    devices = told["DeviceInfo"]["DeviceList"]
    assert devices[f"huawei.com/{family}-Unhealthy"] == f"{family}-1"


def test_volcanos_document_is_that_of_the_vendors_example_but_for_what_nobody_looks_after() -> None:
    wanted = GOLDEN.joinpath("fault-node.json").read_bytes().rstrip()
    told = documents(example(), at=1744182212000)["fault-node"]
    assert told == wanted.replace(b'"NodeDEnable":true', b'"NodeDEnable":false')
    watched = replace(example(), watched=frozenset({"memory"}))
    assert documents(watched, at=1744182212000)["fault-node"] == wanted


def test_the_check_code_is_that_of_the_compact_device_info() -> None:
    whole = json.loads(GOLDEN.joinpath("deviceinfo.json").read_text())
    assert check_code(whole["DeviceInfo"]) == whole["CheckCode"]


def usable(deviceinfo: bytes) -> list[str]:
    """Return the chips that a reader may start something on, by the vendor's rule: those that the list names."""
    told = json.loads(deviceinfo)["DeviceInfo"]["DeviceList"]
    listed = [name for name in told["huawei.com/Ascend910"].split(",") if name]
    assert not set(listed) & set(filter(None, told["huawei.com/Ascend910-Unhealthy"].split(",")))
    return listed


def test_a_reader_finds_the_chips_that_are_well_and_free() -> None:
    node = example()
    assert usable(documents(node)["deviceinfo"]) == [f"Ascend910-{n}" for n in (0, 1, 2, 3, 5, 6, 7)]
    used = running("a", 1, 2)
    node = replace(node, containers={used.key: used})
    assert usable(documents(node)["deviceinfo"]) == [f"Ascend910-{n}" for n in (0, 3, 5, 6, 7)]


def test_what_is_isolated_without_a_fault_is_told_so_that_nobody_starts_there() -> None:
    chip = ChipId(2)
    node = replace(machine(), isolations={chip: Isolation(chip, moment(ROWS), "operator", "smells")})
    (entry,) = json.loads(
        json.loads(documents(node)["deviceinfo"])["DeviceInfo"]["DeviceList"]["huawei.com/Ascend910-Fault"]
    )
    assert (entry["npu_name"], entry["fault_handling"], entry["fault_code"]) == ("Ascend910-2", "SeparateNPU", "")
    assert "Ascend910-2" not in usable(documents(node)["deviceinfo"])


def test_what_only_a_person_ends_is_called_so_without_a_fault_too() -> None:
    chip, code = ChipId(2), FaultCode("80E24E00")
    raised = Raise(RuleKind.FREQUENCY, Handling.ManuallySeparateNPU, moment(ROWS), "x", manual=True)
    isolation = Isolation(chip, moment(ROWS), "escalation", "came 2 times", code)
    node = replace(machine(), isolations={chip: isolation}, tallies={(chip, code): Tally(chip, code, raised=(raised,))})
    (entry,) = json.loads(
        json.loads(documents(node)["deviceinfo"])["DeviceInfo"]["DeviceList"]["huawei.com/Ascend910-Fault"]
    )
    assert (entry["fault_level"], entry["fault_code"]) == ("ManuallySeparateNPU", "")


@pytest.mark.parametrize(
    ("name", "config_map", "space", "key"),
    [
        ("fault-node", "vcjob-fault-npu-cm", "volcano-system", "fault-node"),
        ("deviceinfo", "mindx-dl-deviceinfo-node133", "kube-system", "DeviceInfoCfg"),
        ("switchinfo", "mindx-dl-deviceinfo-node133", "kube-system", "SwitchInfoCfg"),
        ("nodeinfo", "mindx-dl-nodeinfo-node133", "mindx-dl", "NodeInfo"),
        ("cluster-node", "cluster-info-node-cm", "mindx-dl", "cluster-info-node-cm"),
    ],
)
def test_a_document_is_described_as_its_config_map(name: str, config_map: str, space: str, key: str) -> None:
    node = replace(dead_links(), watched=frozenset({"memory"}))
    file, text = EXPORT.documents(node, "node133", moment(ROWS))[name]
    labels = "mx-consumer-volcano=true" if name.startswith("cluster-") else "<none>"
    assert EXPORT.described(name, file, text.decode()).splitlines() == [
        f"Name:         {config_map}", f"Namespace:    {space}", f"Labels:       {labels}", "Annotations:  <none>", "",
        "Data", "====", f"{key}:", "----", text.decode(), "", "", "BinaryData", "====", "", "Events:  <none>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pod", "server", "told"),
    [(None, None, (-2, -2)), (7, 2, (7, 2)), (0xFFFFFFFF, 0xFFFFFFFF, (-1, -1)), (7, None, (7, -2))],
)
def test_the_place_in_a_superpod_is_told_as_far_as_the_driver_tells_it(
    pod: int | None, server: int | None, told: tuple[int, int]
) -> None:
    node = machine()
    node = replace(node, chips={c: replace(chip, pod=pod, server=server) for c, chip in node.chips.items()})
    for document in (
        json.loads(documents(node)["deviceinfo"]),
        json.loads(documents(node)["cluster-device"])["mindx-dl-deviceinfo-node133"],
    ):
        assert (document["SuperPodID"], document["ServerIndex"]) == told


def test_chips_that_recover_are_told_and_not_free() -> None:
    node = machine()
    rings = {RingId(0): replace(node.rings[RingId(0)], phase=Phase.WAITING)}
    told = json.loads(documents(replace(node, rings=rings))["deviceinfo"])["DeviceInfo"]["DeviceList"]
    assert told["huawei.com/Ascend910-Recovering"] == ",".join(f"Ascend910-{n}" for n in range(8))
    assert told["huawei.com/Ascend910"] == ""


def test_a_chip_that_ails_itself_is_not_given_out_and_one_that_was_reported_is_public() -> None:
    early = fault(1, "80E3A200", Handling.PreSeparateNPU, ROWS)
    reported = fault(2, "220001001", Handling.SeparateNPU, 1736926605000, FaultClass.REPORTED)
    told = json.loads(documents(machine(early, reported))["cluster-device"])["mindx-dl-deviceinfo-node133"]
    faults = json.loads(told["DeviceList"]["huawei.com/Ascend910-Fault"])
    assert told["DeviceList"]["huawei.com/Ascend910-Unhealthy"] == "Ascend910-1,Ascend910-2"
    public = next(f for f in faults if f["fault_type"] == "PublicFault")
    assert public["fault_time_and_level_map"] == {"220001001": {"fault_time": 1736926605, "fault_level": "SeparateNPU"}}


@pytest.mark.parametrize(
    ("model", "name"),
    [("Ascend910B4", "Ascend910"), ("910A3", "Ascend910"), ("310P3", "Ascend310P"), ("310B", "Ascend310B")],
)
def test_chips_are_named_by_their_family(model: str, name: str) -> None:
    told = json.loads(documents(machine(model=model, chips=1))["deviceinfo"])["DeviceInfo"]["DeviceList"]
    assert told[f"huawei.com/{name}"] == f"{name}-0"


def test_other_makes_have_no_such_documents() -> None:
    assert documents(machine(model="NVIDIA H200")) == documents(machine(chips=0)) == {}
    assert EXPORT in exports()


@tries(100)
@given(host=st.text(max_size=20), model=st.text(max_size=8), module=st.text(max_size=8))
def test_whatever_a_machine_is_called_its_documents_are_json(host: str, model: str, module: str) -> None:
    odd = replace(fault(0, "80E24E00", Handling.RestartNPU, ROWS), module=module)
    node = machine(odd, model="910" + model)
    for text in documents(node, host).values():
        assert json.loads(text) is not None
        assert text.isascii()


def ailing(*found: tuple[str, str, Handling]) -> Node:
    """Return a machine that is looked at, with these faults of its own."""
    faults = [MachineFault(FaultCode(c), part, "x", handling, EPOCH, EPOCH) for c, part, handling in found]
    return replace(machine(), watched=frozenset({"memory"}), machine_faults={f.key: f for f in faults})


def test_a_machine_that_is_well_is_told_in_the_bytes_of_the_vendors_example() -> None:
    told = documents(ailing(), host="kwok-node-0")
    # From the example for ClusterD: the entry of one node.
    entry = b'{"FaultDevList":[],"NodeStatus":"Healthy","CmName":"mindx-dl-nodeinfo-kwok-node-0"}'
    assert told["cluster-node"] == b'{"mindx-dl-nodeinfo-kwok-node-0":' + entry + b"}"
    whole = json.loads(told["nodeinfo"])
    assert list(whole) == ["NodeInfo", "CheckCode"]
    assert whole["CheckCode"] == check_code(whole["NodeInfo"])


def test_parts_of_the_machine_are_told_one_by_one_and_the_gravest_says_how_it_is() -> None:
    node = ailing(
        ("psu-failed", "PSU1", Handling.SubHealthFault),
        ("psu-failed", "PSU2", Handling.SubHealthFault),
        ("memory-uncorrected", "DIMM3", Handling.PreSeparateNPU),
        ("memory-corrected", "DIMM3", Handling.NotHandleFault),
    )
    told = json.loads(documents(node)["nodeinfo"])["NodeInfo"]
    assert told == {
        "FaultDevList": [
            {
                "DeviceType": "Memory", "DeviceId": 0, "FaultCode": ["memory-corrected", "memory-uncorrected"],
                "FaultLevel": "PreSeparateFault",
            },
            {"DeviceType": "PSU", "DeviceId": 0, "FaultCode": ["psu-failed"], "FaultLevel": "NotHandleFault"},
            {"DeviceType": "PSU", "DeviceId": 1, "FaultCode": ["psu-failed"], "FaultLevel": "NotHandleFault"},
        ],
        "NodeStatus": "PreSeparate",
    }  # fmt: skip
    gone = documents(ailing(("raid-failed", "md0", Handling.SeparateNPU)))
    assert json.loads(gone["nodeinfo"])["NodeInfo"]["NodeStatus"] == "UnHealthy"


def test_alarms_of_the_bmc_have_the_makers_codes_parts_and_numbers_beside_cmgrs_own_words() -> None:
    node = ailing(
        ("ALM-0x0300000D", "PSU 2", Handling.NotHandleFault),
        ("ALM-0x03000013", "PSU 2", Handling.NotHandleFault),
        ("psu-failed", "BMC Status 10.2", Handling.SubHealthFault),
        ("ALM-0x28000053", "Cable 10", Handling.PreSeparateNPU),
        ("ALM-0x28000053", "Cable 9", Handling.PreSeparateNPU),
        ("ALM-0x0000001D", "what a drill says", Handling.PreSeparateNPU),
        ("ALM-0x2C000099", "System 1", Handling.NotHandleFault),  # In no table: NodeD leaves it out, too.
    )
    told = json.loads(documents(node)["nodeinfo"])["NodeInfo"]["FaultDevList"]
    assert [(row["DeviceType"], row["DeviceId"], row["FaultCode"]) for row in told] == [
        ("Cable", 9, ["28000053"]),
        ("Cable", 10, ["28000053"]),
        ("Other", 0, ["0000001D"]),
        ("PSU", 2, ["0300000D", "03000013"]),
        ("PSU", 0, ["psu-failed"]),
    ]
    (whole,) = json.loads(documents(node)["fault-node"])
    assert [row["fault_code"] for row in whole["FaultDeviceList"]] == ["28000053,0000001D"]


def test_a_machine_that_ails_offers_no_chip_and_blames_none() -> None:
    told = json.loads(documents(ailing(("memory-uncorrected", "DIMM3", Handling.PreSeparateNPU)))["deviceinfo"])
    chips = told["DeviceInfo"]["DeviceList"]
    assert {key.rpartition("-")[2]: value for key, value in chips.items()} == {
        "huawei.com/Ascend910".rpartition("-")[2]: "", "Fault": "[]", "NetworkUnhealthy": "", "Recovering": "",
        "Unhealthy": "",
    }  # fmt: skip


def test_volcano_is_told_that_the_machine_ails_and_of_no_chip_and_no_handling_there() -> None:
    node = ailing(("raid-failed", "md0", Handling.SeparateNPU), ("disk-gone", "sda", Handling.PreSeparateNPU))
    (told,) = json.loads(documents(node)["fault-node"])
    assert told["NodeHealthState"] == "NodeUnhealthy"
    assert told["FaultDeviceList"] == [
        {
            "fault_type": "NodeUnhealthy", "npu_name": "", "fault_level": "", "fault_handling": "",
            "large_model_fault_level": "", "fault_code": "raid-failed,disk-gone",
        }
    ]  # fmt: skip
    slight = ailing(("psu-failed", "PSU1", Handling.SubHealthFault))
    assert json.loads(documents(slight)["fault-node"]) == [], "the node is healthy with it"


def dead_links(chips: int = 8) -> Node:
    """Return a machine of eight chips, of which so many have a dead link."""
    down = [fault(c, "81078603", Handling.PreSeparateNPU, LINK + c, FaultClass.NETWORK) for c in range(chips)]
    return machine(*down)


def test_a_switch_is_told_of_in_the_form_of_the_vendors_example() -> None:
    (name, wanted), *_ = json.loads(GOLDEN.joinpath("cluster-switch.json").read_bytes()).items()
    told = json.loads(documents(dead_links(), host="localhost.localdomain")["cluster-switch"])
    assert {name: list(wanted)} == {name: list(each) for name, each in told.items()}


def test_dead_links_of_all_chips_keep_new_work_from_the_node() -> None:
    assert json.loads(documents(dead_links())["switchinfo"]) == {
        "FaultCode": ["81078603"],
        "FaultLevel": "SubHealth",
        "UpdateTime": 1744182144,
        "NodeStatus": "SubHealthy",
        "FaultTimeAndLevelMap": {"81078603": {"fault_time": LINK + 7, "fault_level": "SubHealth"}},
    }


def test_no_switch_is_called_healthy_for_nobody_looks_at_it() -> None:
    for node in (machine(), dead_links(7), replace(machine(), reports={})):
        assert not {"switchinfo", "cluster-switch"} & documents(node).keys()


def said(chip: int, assertion: Assertion | None, **more: Any) -> Note:
    known = FaultSaid(FaultCode("8C084E00"), "RestartBusiness", "RestartBusiness", assertion)
    at = datetime(2023, 11, 21, 5, 36, 53, tzinfo=UTC)
    return Note(at, NoteKind.FAULT, "x", chip=ChipId(chip), fault=known, **more)


def test_events_are_worded_as_in_the_vendors_example() -> None:
    notes = [
        said(2, Assertion.OCCURRED, card=2, device=0),
        said(2, None, card=2, device=0),
        said(3, Assertion.CLEARED, card=1, device=1),
        said(0, Assertion.ONCE),
        Note(datetime(2023, 11, 21, tzinfo=UTC), NoteKind.WARNING, "no fault"),
    ]
    told = json.loads(EXPORT.events(notes, "k8smaster"))
    assert [(one["type"], one["reason"]) for one in told] == [
        ("Warning", "Occur"), ("Normal", "Recovery"), ("Warning", "Notice"),
    ]  # fmt: skip
    assert told[0]["message"] == (
        "device fault, nodeName:k8smaster, assertion:Occur, cardID:2, deviceID:0, faultCodes:8C084E00, "
        "faultLevelName:RestartBusiness, alarmRaisedTime:2023-11-21 05:36:53"
    )


def usable_in_cluster(told: dict[str, bytes], host: str) -> list[str]:
    """Return the chips that are usable by the vendor's rule for what ClusterD publishes, of all three documents."""
    nodes = [json.loads(told[name]) for name in ("cluster-node", "cluster-switch") if name in told]
    if any(value["NodeStatus"] == "UnHealthy" for node in nodes for value in node.values()):
        return []
    chips = json.loads(told["cluster-device"])[f"mindx-dl-deviceinfo-{host}"]["DeviceList"]["huawei.com/Ascend910"]
    return [name for name in chips.split(",") if name]


def test_a_reader_of_all_three_documents_finds_what_can_be_used() -> None:
    well = ailing()
    assert len(usable_in_cluster(documents(well), "node133")) == 8
    assert usable_in_cluster(documents(ailing(("raid-failed", "md0", Handling.SeparateNPU))), "node133") == []


def test_nobody_calls_a_machine_healthy_that_nobody_looks_at() -> None:
    assert not {"nodeinfo", "cluster-node"} & documents(machine()).keys()
