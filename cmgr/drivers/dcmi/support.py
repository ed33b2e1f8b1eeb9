"""The files and programs that Ascend's support asks for.

Which they are, and how the programs number chips: the maker's driver of 2026-07. `npu-smi -i` takes the card, which is
the logical id on a 950; `hccn_tool -i` the physical id, or on a 950 the logical one; `msnpureport -d` the logical id.
"""

from collections.abc import Sequence

from cmgr.model.values.chips import Chip
from cmgr.vendor import Support, Tool

_DRIVER = "/usr/local/Ascend/driver"

FILES = (
    "/var/log/nputools_LOG_*.log*",
    "/var/log/hccn_tool/**",
    "/var/log/npu/**",
    "/var/log/ascend_seclog/**",
    "/etc/ascend_install.info",
    "/etc/hccn.conf",
    "/etc/vnpu.cfg",
    "/etc/custom_process.cfg",
    "/etc/dms_events_conf.lst",
    f"{_DRIVER}/version.info",
    "/usr/local/Ascend/firmware/version.info",
)


def support(chips: Sequence[Chip]) -> Support:
    tools = [
        Tool("dmesg", ("dmesg",)),
        *(Tool(f"npu-smi{word}", ("npu-smi", "info", *filter(None, (word,)))) for word in ("", "-m", "-l")),
        _smi("topo"),
    ]
    for card in sorted({chip.card for chip in chips}):
        tools += [_smi(what, "-i", str(card)) for what in ("board", "health", "ecc", "pcie-err")]
    for chip in chips:
        tools.append(_smi("phyid-remap", "-p", str(chip.id)))
        ports = ("-g", "-dev_info", "-i", str(chip.logical))  # So the tool is asked for the links of a 950.
        words = ports if chip.model.startswith("Ascend950") else ("-i", str(chip.id), "-link_stat", "-g")
        tools.append(Tool(f"hccn_tool-{chip.id}", (f"{_DRIVER}/tools/hccn_tool", *words)))
    return Support(FILES, tuple(tools), tuple(_report(chip) for chip in chips))


def _smi(what: str, *more: str) -> Tool:
    return Tool("-".join(("npu-smi", what, *more[1:])), ("npu-smi", "info", "-t", what, *more))


def _report(chip: Chip) -> Tool:
    """Return what reads the chip's own logs and its black box."""
    return Tool(f"msnpureport-{chip.id}", (f"{_DRIVER}/tools/msnpureport", "report", "-d", str(chip.logical)))
