"""Which chips a container asks for, read from everything in its definition that can say so.

Pure, and the same for every runtime. A claim is what `chips.resolve` takes: a physical id in decimal digits,
`chips.ALL_CHIPS`, or a serial, uuid or bus id. What cannot be read becomes a warning that names where it stands; it
never hides the other claims and is never taken for chip 0.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cmgr.model.values.chips import ALL_CHIPS

ASCEND = "ASCEND_VISIBLE_DEVICES"
NVIDIA = "NVIDIA_VISIBLE_DEVICES"

_MOST = 4096
"""No machine has as many chips: a larger number is a mistake, and a range up to it would fill the memory."""

_CONTROL = 192
"""Minor numbers from here on are control devices: NVIDIA's are 254 and 255."""

_NONE = ("", "none", "void")
_NUMBER = re.compile(r"[0-9]{1,4}")
_RANGE = re.compile(r"([0-9]{1,4})\s*-\s*([0-9]{1,4})")
_ASCEND_NAME = re.compile(r"ascend[0-9a-z]*-([0-9]{1,4})", re.IGNORECASE)
_UUID = r"[0-9a-fA-F][0-9a-fA-F-]{3,63}"
_GPU = re.compile(rf"GPU-{_UUID}")
_BUS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
# Parts of a GPU: by index ("0:1"), by its parent's uuid, or by a uuid of its own, which does not name the parent.
_PART_BY_INDEX = re.compile(r"([0-9]{1,4}):[0-9]{1,4}")
_PART_BY_PARENT = re.compile(rf"MIG-(GPU-{_UUID})/[0-9]{{1,4}}/[0-9]{{1,4}}")
_PART = re.compile(rf"MIG-{_UUID}")
_CHIP_NODE = re.compile(r"/dev/(?:davinci|nvidia)([0-9]{1,4})")
_VIRTUAL_NODE = re.compile(r"/dev/vdavinci[0-9]+")
_CDI = re.compile(r"([A-Za-z0-9.-]+)/([A-Za-z0-9._-]+)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Claims:
    """What one place of a definition says: the chips asked for, and a warning for each item that cannot be read."""

    chips: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A device request of Docker. `count` is used where no `ids` are given; -1 is all."""

    driver: str = ""
    ids: tuple[str, ...] = ()
    count: int = 0
    capabilities: frozenset[str] = frozenset()

    @property
    def is_nvidia(self) -> bool:
        """Return whether NVIDIA's part of Docker serves it."""
        return self.driver == "nvidia" or (self.driver == "" and bool(self.capabilities & {"gpu", "nvidia"}))


def joined(parts: Iterable[Claims]) -> Claims:
    """Return what all the parts say together, each warning once."""
    everything = list(parts)
    chips = frozenset[str]().union(*(part.chips for part in everything))
    warnings = list(dict.fromkeys(w for part in everything for w in part.warnings))
    return Claims(chips, _few(warnings, "its definition", most=24))


def from_environment(environment: Sequence[str], requests: Sequence[Request] = ()) -> Claims:
    """Return what `NAME=value` lines say; the last assignment of a name wins.

    A request for NVIDIA chips makes Docker set that vendor's variable anew at each start, so that whatever the image
    or the user had assigned does not count.
    """
    parts = [from_list(ASCEND, _assigned(environment, ASCEND))]
    if not any(request.is_nvidia for request in requests):
        parts.append(from_list(NVIDIA, _assigned(environment, NVIDIA)))
    return joined(parts)


def _assigned(environment: Sequence[str], name: str) -> str:
    value = ""
    for line in environment:
        left, _, right = line.partition("=")
        if left == name:
            value = right
    return value


def from_list(where: str, text: str) -> Claims:
    """Return what a list of chips says: `0,1`, `0-3`, `Ascend910-0`, `GPU-…`, `all`, `none`."""
    if text.strip().casefold() in _NONE:
        return Claims()
    chips: set[str] = set()
    warnings = []
    for item in dict.fromkeys(part.strip() for part in text.split(",")):
        named = _item(item) if item else frozenset[str]()
        if named is None:
            warnings.append(f"cannot read {_shown(item)} in {where}")
        else:
            chips |= named
    return Claims(frozenset(chips), _few(warnings, where))


def _item(item: str) -> frozenset[str] | None:
    """Return the chips that one item of a list names, or None when it cannot be read."""
    if item.casefold() == ALL_CHIPS:
        return frozenset({ALL_CHIPS})
    if _NUMBER.fullmatch(item):
        return _numbers(item, item)
    if span := _RANGE.fullmatch(item):
        return _numbers(span[1], span[2])
    for pattern in (_ASCEND_NAME, _PART_BY_INDEX):
        if named := pattern.fullmatch(item):
            return _numbers(named[1], named[1])
    if part := _PART_BY_PARENT.fullmatch(item):
        return frozenset({part[1]})
    if _GPU.fullmatch(item) or _BUS.fullmatch(item) or _PART.fullmatch(item):
        return frozenset({item})
    return None


def _numbers(first: str, last: str) -> frozenset[str] | None:
    if not int(first) <= int(last) < _MOST:
        return None
    return frozenset(str(number) for number in range(int(first), int(last) + 1))


def from_devices(paths: Iterable[str]) -> Claims:
    """Return what device paths on the host say. Devices that are no chips say nothing."""
    chips: set[str] = set()
    warnings = []
    for given in dict.fromkeys(paths):
        # POSIX keeps two leading slashes as they are; the kernel does not tell them from one.
        path = "/" + posixpath.normpath(given).lstrip("/")
        if node := _CHIP_NODE.fullmatch(path):
            chips.add(str(int(node[1])))
        elif _VIRTUAL_NODE.fullmatch(path):
            warnings.append(f"uses {_shown(path)}, a part of a chip that cannot be told")
        elif path == "/dev":
            warnings.append("is given all of /dev, so it can reach every chip; which it uses cannot be told")
    return Claims(frozenset(chips), _few(warnings, "the devices"))


def from_requests(requests: Iterable[Request]) -> Claims:
    """Return what Docker's device requests say. Those for other vendors' drivers say nothing."""
    return joined(_requested(request) for request in requests)


def _requested(request: Request) -> Claims:
    if request.driver == "cdi":
        return from_cdi(request.ids, "the device requests")
    if not request.is_nvidia:
        return Claims()
    if request.ids:
        return from_list("the device requests", ",".join(request.ids))
    if request.count < 0:
        return Claims(frozenset({ALL_CHIPS}))
    if request.count >= _MOST:
        return Claims(warnings=(f"cannot read a device request for {_MOST} chips or more",))
    # Docker hands out the first ones: moby daemon/nvidia_linux.go, countToDevices.
    return Claims(frozenset(str(number) for number in range(request.count)))


def from_cdi(names: Iterable[str], where: str) -> Claims:
    """Return what CDI device names say: `huawei.com/npu=0`, `nvidia.com/gpu=all`. Other vendors' say nothing."""
    chips: set[str] = set()
    warnings = []
    for name in dict.fromkeys(names):
        parts = _CDI.fullmatch(name)
        vendor = parts[1].casefold() if parts else ""
        if parts is None and ("huawei.com" in name or "nvidia.com" in name):
            warnings.append(f"cannot read {_shown(name)} in {where}")
        elif parts is not None and vendor in ("huawei.com", "nvidia.com"):
            named = _item(parts[3])
            if named is None:
                warnings.append(f"cannot read {_shown(name)} in {where}")
            else:
                chips |= named
    return Claims(frozenset(chips), _few(warnings, where))


def from_annotations(annotations: Mapping[str, str]) -> Claims:
    """Return what the CDI annotations (`cdi.k8s.io/…`) among these say."""
    return joined(
        from_cdi((name.strip() for name in value.split(",")), f"annotation {_shown(key)}")
        for key, value in sorted(annotations.items())
        if key.startswith("cdi.k8s.io/")
    )


def from_numbers(numbers: Iterable[tuple[int, int]], majors: frozenset[int]) -> Claims:
    """Return what character devices' major and minor numbers say; `majors` are the chip drivers' on this machine.

    A negative number stands for all: such a rule lets the container reach chips, and asks for none.
    """
    chips: set[str] = set()
    warnings = []
    for major, minor in dict.fromkeys(numbers):
        if major >= 0 and major not in majors:
            continue
        if major < 0 or minor < 0:
            rule = f"{'*' if major < 0 else major}:{'*' if minor < 0 else minor}"
            warnings.append(f"may reach every chip by its device rule for {rule}; which it uses cannot be told")
        elif minor < _CONTROL:
            chips.add(str(minor))
    return Claims(frozenset(chips), _few(warnings, "the device numbers"))


def chip_majors(table: str) -> frozenset[int]:
    """Return the chip drivers' major numbers from the text of `/proc/devices`."""
    found = re.findall(r"(?m)^\s*([0-9]{1,4}) (?:devdrv-cdev|nvidia|nvidia-frontend)\s*$", table.partition("Block")[0])
    return frozenset(int(major) for major in found)


def _few(warnings: list[str], where: str, most: int = 8) -> tuple[str, ...]:
    # A container's definition is a stranger's text: it must not fill the log.
    if len(warnings) <= most:
        return tuple(warnings)
    return (*warnings[:most], f"cannot read {len(warnings) - most} more items in {where}")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 48 else text[:47] + "…")
