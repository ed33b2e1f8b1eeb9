"""The documents that MindCluster's components publish of a machine's chips: the same names, order and bytes.

Source of the shapes: MindCluster's scheduling documentation, the chapters on the fault queries of Volcano, Ascend
Device Plugin and ClusterD. Pure. No part of a machine is called healthy that nobody has looked at.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cmgr.model.containers.moving.spares import free_chips
from cmgr.model.scope import active_faults, pre_isolating
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, Fault, FaultClass, FaultCode, Handling
from cmgr.model.values.machine import MachineFault
from cmgr.model.values.node import Node
from cmgr.vendor import Export, Line
from cmgr.view.machine import active
from cmgr.view.status import healthy

NOT_KNOWN, NOWHERE = -2, -1
"""The number of a SuperPod that the driver does not tell, and of none."""

_IN_NO_POD = 0xFFFFFFFF

TYPES = {
    FaultClass.CHIP: "CardUnhealthy",
    FaultClass.NETWORK: "CardNetworkUnhealthy",
    FaultClass.MACHINE: "NodeUnhealthy",
    FaultClass.REPORTED: "PublicFault",
}

_DEVICES = {
    "CPU": ("processor-", "machine-check", "task-hung"),
    "Memory": ("memory-", "container-out-of-memory"),
    "Disk": ("disk-", "raid-", "file-system-"),
    "PSU": ("psu-", "redundancy-"),
    "Fan": ("fan-",),
    "PCIe": ("pci-",),
}
_ALARM = "ALM-0x"
"""The beginning of the codes of a BMC's own alarms: in these documents they are the digits alone."""

_LEVELS = ("NotHandleFault", "PreSeparateFault", "SeparateFault")
_STATUS = ("Healthy", "PreSeparate", "UnHealthy")

_SUB_HEALTH = "SubHealth"
_WITH_PORTS = "Ascend910"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FAMILY = re.compile(r"(?:ascend)?\s*(310[bp]?|910|950)", re.IGNORECASE)
_NEWER = {"950": "npu"}
"""The names of families that MindCluster no longer calls by their numbers (its default_name.go)."""

Json = dict[str, Any]


def _family(node: Node) -> str:
    """Return what every chip's name begins with; nothing where not all are of one known family."""
    found = {match[1].upper() if (match := _FAMILY.match(chip.model)) else "" for chip in node.chips.values()}
    if len(found) != 1 or "" in found:
        return ""
    (number,) = found
    return _NEWER.get(number, f"Ascend{number}")


class _Picture:
    """The chips as these documents tell of them."""

    def __init__(self, node: Node) -> None:
        self.family, self._node = _family(node), node
        self.kept_free = {chip: pre_isolating(node, chip) for chip in sorted(node.chips)}
        self.network = [c for c in self.kept_free if any(map(self._is_network, self.kept_free[c]))]
        self.unhealthy = [c for c in self.kept_free if not healthy(node, c) or self._is_going(c)]
        rings = {ring.id for ring in node.rings.values() if ring.in_episode}
        self.recovering = [c for c in self.kept_free if node.chips[c].ring in rings]
        only_network = [c for c in self.network if all(map(self._is_network, self.kept_free[c]))]
        self.free = free_chips(node, also=frozenset(only_network))

    def _is_network(self, code: FaultCode) -> bool:
        return self._node.catalog.class_of(code) is FaultClass.NETWORK

    def _is_going(self, chip: ChipId) -> bool:
        """Return whether the chip itself is to be taken out of use as soon as it is free."""
        gravest = {f.handling for f in active_faults(self._node, chip) if f.fault_class is not FaultClass.NETWORK}
        return Handling.PreSeparateNPU in gravest

    def name(self, chip: int) -> str:
        return f"{self.family}-{chip}"

    def names(self, chips: Iterable[ChipId]) -> str:
        return ",".join(self.name(chip) for chip in chips)

    def faults(self) -> list[tuple[str, ChipId, Handling, Mapping[FaultCode, tuple[int, Handling]]]]:
        """Return an entry for each chip and type of fault: the gravest handling, and each code with its own."""
        found = []
        for chip in self.kept_free:
            active = active_faults(self._node, chip)
            for fault_class, kind in TYPES.items():
                told = self._told(chip, [f for f in active if f.fault_class is fault_class], fault_class)
                gravest = max((handling for _, handling in told.values()), default=Handling.NotHandleFault)
                isolated = fault_class is FaultClass.CHIP and chip in self._node.isolations
                if told or isolated:
                    # Without an active code, too: no reader shall start anything there.
                    found.append((kind, chip, max(gravest, self._isolated(chip)) if isolated else gravest, told))
        # In the order of the types within a chip the network comes first, as in the vendor's own example.
        return sorted(found, key=lambda one: (one[1], one[0] != TYPES[FaultClass.NETWORK]))

    def _isolated(self, chip: ChipId) -> Handling:
        """Return the word for why the chip is isolated: that of a rule that only a person ends, where it was one."""
        code = self._node.isolations[chip].code
        tally = self._node.tallies.get((chip, code)) if code is not None else None
        return max(Handling.SeparateNPU, tally.handling if tally is not None else Handling.NotHandleFault)

    def _told(
        self, chip: ChipId, faults: list[Fault], fault_class: FaultClass
    ) -> Mapping[FaultCode, tuple[int, Handling]]:
        # Seconds for what another program reported, milliseconds else: as the vendor's examples have it.
        scale = 1 if fault_class is FaultClass.REPORTED else 1000
        told = {f.code: (_number(f.since, scale), f.handling) for f in faults}
        for code, since in self.kept_free[chip].items():
            # A fault of the machine keeps new work from a chip that has no rule of it.
            raised = (chip, code) in self._node.tallies
            if code not in told and raised and self._node.catalog.class_of(code) is fault_class:
                told[code] = _number(since, scale), self._node.tallies[chip, code].handling
        return told


def _number(at: datetime, scale: int) -> int:
    # Whole numbers all the way: a float would be a millisecond off now and then.
    return (at - _EPOCH) // timedelta(microseconds=1_000_000 // scale)


def _entry(picture: _Picture, kind: str, chip: ChipId, gravest: Handling, codes: list[FaultCode]) -> Json:
    return {
        "fault_type": kind,
        "npu_name": picture.name(chip),
        "large_model_fault_level": gravest.name,
        "fault_level": gravest.name,
        "fault_handling": gravest.name,
        "fault_code": ",".join(codes),
    }


def _device_list(node: Node) -> Json:
    picture = _Picture(node)
    faults = []
    for kind, chip, gravest, told in picture.faults():
        by_code = {c: {"fault_time": told[c][0], "fault_level": told[c][1].name} for c in sorted(told)}
        entry = _entry(picture, kind, chip, gravest, sorted(told, reverse=True))
        faults.append({**entry, "fault_time_and_level_map": by_code})
    key = f"huawei.com/{picture.family}"
    return {
        key: picture.names(picture.free),
        f"{key}-Fault": compact(faults).decode(),
        f"{key}-NetworkUnhealthy": picture.names(picture.network),
        f"{key}-Recovering": picture.names(picture.recovering),
        f"{key}-Unhealthy": picture.names(picture.unhealthy),
    }


def compact(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def check_code(document: object) -> str:
    """Return the check code of a document: SHA-256 of its compact text."""
    return hashlib.sha256(compact(document)).hexdigest()


def _in_pod(node: Node) -> Json:
    """Return the place of the machine in a SuperPod, as the first chip tells it that does."""
    chip = next((c for _, c in sorted(node.chips.items()) if c.pod is not None), None)
    found = {"SuperPodID": chip.pod, "ServerIndex": chip.server} if chip is not None else {}
    told = {key: NOT_KNOWN if (value := found.get(key)) is None else value for key in ("SuperPodID", "ServerIndex")}
    return {key: NOWHERE if value == _IN_NO_POD else value for key, value in told.items()}


def device_info(node: Node, _host: str, at: datetime) -> Json:
    """Return the ConfigMap of Ascend Device Plugin, mindx-dl-deviceinfo-HOST."""
    told = {"DeviceList": _device_list(node), "UpdateTime": _number(at, 1)}
    return {"DeviceInfo": told, **_in_pod(node), "CheckCode": check_code(told)}


def cluster_device(node: Node, host: str, at: datetime) -> Json:
    """Return the ConfigMap of ClusterD, cluster-info-device-0, for this machine alone."""
    name = f"mindx-dl-deviceinfo-{host}"
    told = {"DeviceList": _device_list(node), "UpdateTime": _number(at, 1), "CmName": name}
    return {name: {**told, **_in_pod(node)}}


def fault_node(node: Node, host: str, at: datetime) -> list[Json]:
    """Return the `fault-node` of Volcano's ConfigMap vcjob-fault-npu-cm: nothing where nothing has a fault."""
    picture = _Picture(node)
    faults = []
    for kind, chip, gravest, told in picture.faults():
        entry = _entry(picture, kind, chip, gravest, sorted(told, reverse=True))
        order = ("fault_type", "npu_name", "fault_level", "fault_handling", "large_model_fault_level", "fault_code")
        faults.append({key: entry[key] for key in order})
    broken = sorted({fault.code.removeprefix(_ALARM) for fault in _of_machine(node) if _level(fault)}, reverse=True)
    if broken:
        # Of a fault of the machine the chip and the handling are empty.
        nothing = dict.fromkeys(("npu_name", "fault_level", "fault_handling", "large_model_fault_level"), "")
        entry = {"fault_type": TYPES[FaultClass.MACHINE], **nothing, "fault_code": ",".join(broken)}
        faults.append(entry)
    if not faults:
        return []
    state = "CardUnhealthy" if picture.unhealthy else "CardNetworkUnhealthy" if picture.network else "Healthy"
    state = TYPES[FaultClass.MACHINE] if broken else state
    return [
        {
            "FaultDeviceList": faults,
            "NodeName": host,
            "UnhealthyNPU": [picture.name(c) for c in picture.unhealthy],
            "NetworkUnhealthyNPU": [picture.name(c) for c in picture.network],
            "NodeDEnable": bool(node.watched),
            "NodeHealthState": state,
            "UpdateTime": _number(at, 1),
        }
    ]


def _of_machine(node: Node) -> list[MachineFault]:
    """Return the faults of the machine that these documents have: of a BMC's alarms those in a table, as NodeD does."""
    return [fault for fault in active(node) if not fault.code.startswith(_ALARM) or fault.code in node.catalog.entries]


def _place(fault: MachineFault) -> tuple[str, str, int | None]:
    """Return the type of the part that has this fault, the part, and the number that its BMC gives to it.

    The types are NodeD's words where it has one; a part that has an alarm of the BMC is called by type and number.
    """
    kind, _, number = fault.part.rpartition(" ")
    if fault.code.startswith(_ALARM) and number.isdecimal():
        return kind, fault.part, int(number)
    return next((kind for kind, codes in _DEVICES.items() if fault.code.startswith(codes)), "Other"), fault.part, None


def _node_info(node: Node) -> Json:
    by_part: dict[tuple[str, str, int | None], list[MachineFault]] = {}
    for fault in _of_machine(node):
        by_part.setdefault(_place(fault), []).append(fault)
    parts = sorted(by_part, key=lambda place: (place[0], place[2] is None, place[2] or 0, place[1]))
    found, gravest = [], 0
    for place in parts:
        device, part, number = place
        others = [other for kind, other, told in parts if kind == device and told is None]
        level = max(map(_level, by_part[place]))
        found.append(
            {
                "DeviceType": device,
                "DeviceId": others.index(part) if number is None else number,
                "FaultCode": [fault.code.removeprefix(_ALARM) for fault in by_part[place]],
                "FaultLevel": _LEVELS[level],
            }
        )
        gravest = max(gravest, level)
    return {"FaultDevList": found, "NodeStatus": _STATUS[gravest]}


def _level(fault: MachineFault) -> int:
    return int(fault.pre_isolates) + int(fault.handling >= Handling.SeparateNPU)


def node_info(node: Node, _host: str, _at: datetime) -> Json:
    """Return the ConfigMap of NodeD, mindx-dl-nodeinfo-HOST."""
    told = _node_info(node)
    return {"NodeInfo": told, "CheckCode": check_code(told)}


def cluster_node(node: Node, host: str, _at: datetime) -> Json:
    """Return the ConfigMap of ClusterD, cluster-info-node-cm, for this machine alone."""
    name = f"mindx-dl-nodeinfo-{host}"
    return {name: {**_node_info(node), "CmName": name}}


def _dead_links(node: Node) -> Mapping[FaultCode, datetime]:
    """Return the faults of the network that all chips have: the switch is suspected of them. Since when, too."""
    found: dict[FaultCode, list[datetime]] = {}
    for chip in node.chips:
        for code, since in pre_isolating(node, chip).items():
            if node.catalog.class_of(code) is FaultClass.NETWORK:
                found.setdefault(code, []).append(since)
    return {code: max(times) for code, times in sorted(found.items()) if len(times) == len(node.chips) > 1}


def switch_info(node: Node, _host: str, at: datetime) -> Json:
    """Return what is known of the switch while the links of all chips are dead; no driver tells of it otherwise."""
    dead = _dead_links(node)
    times = {code.lower(): _number(since, 1000) for code, since in dead.items()}
    return {
        "FaultCode": list(times),
        "FaultLevel": _SUB_HEALTH,
        "UpdateTime": _number(at, 1),
        "NodeStatus": "SubHealthy",
        "FaultTimeAndLevelMap": {c: {"fault_time": at, "fault_level": _SUB_HEALTH} for c, at in times.items()},
    }


def cluster_switch(node: Node, host: str, at: datetime) -> Json:
    """Return the ConfigMap of ClusterD, cluster-info-switch-0, for this machine alone."""
    name = f"mindx-dl-switchinfo-{host}"
    return {name: {**switch_info(node, host, at), "CmName": name}}


_EVENTS = {
    Assertion.OCCURRED: ("Warning", "Occur"),
    Assertion.CLEARED: ("Normal", "Recovery"),
    Assertion.ONCE: ("Warning", "Notice"),
}
"""The type and the reason of an event of Kubernetes, as Ascend Device Plugin makes them."""


def events(notes: Iterable[Line], host: str) -> bytes:
    """Return the events of Ascend Device Plugin that these lines of the history are, in the order of the lines."""
    told = []
    for note in notes:
        said = note.fault
        if said is None or said.assertion is None or note.chip is None:
            continue
        kind, reason = _EVENTS[said.assertion]
        at = note.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        where = f"cardID:{note.chip if note.card is None else note.card}, deviceID:{note.device or 0}"
        text = f"device fault, nodeName:{host}, assertion:{reason}, {where}, faultCodes:{said.code}"
        message = f"{text}, faultLevelName:{said.handling}, alarmRaisedTime:{at}"
        told.append({"type": kind, "reason": reason, "message": message})
    return compact(told)


def _documents(node: Node, host: str, at: datetime) -> Mapping[str, tuple[str, bytes]]:
    if not _family(node):
        return {}
    made: Mapping[str, tuple[str, Callable[[Node, str, datetime], object]]] = {
        "deviceinfo": (f"mindx-dl-deviceinfo-{host}", device_info),
        "cluster-device": ("cluster-info-device-0", cluster_device),
        "fault-node": ("vcjob-fault-npu-cm", fault_node),
    }
    if _family(node) == _WITH_PORTS and _dead_links(node):
        # Nobody looks at the switch: without dead links nothing is known of it, and it is not called healthy.
        made = {
            **made,
            "switchinfo": (f"mindx-dl-switchinfo-{host}", switch_info),
            "cluster-switch": ("cluster-info-switch-0", cluster_switch),
        }
    if node.watched:
        # Nobody calls a machine healthy that nobody looks at.
        made = {
            **made,
            "nodeinfo": (f"mindx-dl-nodeinfo-{host}", node_info),
            "cluster-node": ("cluster-info-node-cm", cluster_node),
        }
    return {name: (file, compact(make(node, host, at))) for name, (file, make) in made.items()}


_KEYS = {
    "deviceinfo": ("kube-system", "DeviceInfoCfg"),
    "switchinfo": ("kube-system", "SwitchInfoCfg"),
    "nodeinfo": ("mindx-dl", "NodeInfo"),
    "fault-node": ("volcano-system", "fault-node"),
}
"""The namespace of a document's ConfigMap, and its key there. Those of ClusterD have their own name as the key."""


def described(name: str, file: str, text: str) -> str:
    """Return the document as `kubectl describe cm` shows its ConfigMap."""
    space, key = _KEYS.get(name, ("mindx-dl", file))
    labels = "<none>" if name in _KEYS else "mx-consumer-volcano=true"
    if name == "switchinfo":
        file = file.replace("switchinfo", "deviceinfo", 1)  # It stands in the ConfigMap of Ascend Device Plugin, too.
    head = f"Name:         {file}\nNamespace:    {space}\nLabels:       {labels}\nAnnotations:  <none>\n"
    return f"{head}\nData\n====\n{key}:\n----\n{text}\n\n\nBinaryData\n====\n\nEvents:  <none>"


EXPORT = Export(
    ("deviceinfo", "cluster-device", "fault-node", "switchinfo", "cluster-switch", "nodeinfo", "cluster-node"),
    _documents,
    events,
    described,
)
