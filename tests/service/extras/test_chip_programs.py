"""The programs that test chips and come with cmgr, against tools that answer as the real ones do.

Their words: the maker's manual of npu-smi (`info -t health`, `info -t ecc`); nvidia-smi(1); what DCGM 4 prints and its
reference page of `dcgmi diag` for the exit codes (DCGM at 1f7a418e, dcgmi/Diag.cpp: GetFailureResult).
"""

import shutil
import threading
from pathlib import Path

import pytest

from cmgr.host.act import Act, Ended
from cmgr.host.host import Host

PROGRAMS = Path(__file__).parents[3] / "packaging" / "tests"

UUID = "GPU-9ca02968-f496-c0c4-01d9-509cb6c32f5f"

HEALTHY = """        Health Status                  : OK
        Error Code                     : NA
        Error Information              : NA"""

CARD = """        Health                         : OK
        Chip Name                      : MCU
        Health                         : {}"""

ECC = """        NPU ID                                   : 3
        HBM Single Bit Error Count               : 4
        HBM Double Bit Error Count               : {}
        HBM Double Bit Aggregate Total Err Cnt   : 12"""

FOUND = f"""2 GPUs found.
+--------+----------------------------------------------------------------------+
| GPU ID | Device Information                                                   |
+--------+----------------------------------------------------------------------+
| 0      | Name: NVIDIA T4G                                                     |
|        | PCI Bus ID: 00000000:00:1F.0                                         |
|        | Device UUID: GPU-00000000-f496-c0c4-01d9-509cb6c32f5f                |
+--------+----------------------------------------------------------------------+
| 11     | Name: NVIDIA T4G                                                     |
|        | PCI Bus ID: 00000000:00:2F.0                                         |
|        | Device UUID: {UUID}                |
+--------+----------------------------------------------------------------------+
0 NvSwitches found."""

DIAG = """Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Deployment  --------+------------------------------------------------|
| Environment Variables     | Pass                                           |
| Page Retirement/Row Remap | {}                                           |
|                           | Error: GPU 3 had memory errors and row         |
|                           | remappings are pending                         |
| Graphics Processes        | Pass                                           |
+---------------------------+------------------------------------------------+"""


class Tools:
    """The tools that a program finds: each says and ends as the first word that fits its arguments has it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("sh", "awk", "grep", "tr", "cat", "echo"):
            (folder / name).symlink_to(shutil.which(name) or name)

    def has(self, name: str, **answers: tuple[str, int]) -> None:
        cases = ""
        for number, (word, (says, code)) in enumerate(answers.items()):
            said = self._folder / f"{name}.{number}"
            said.write_text(says + "\n" * bool(says))
            cases += f"*{word.replace('_', '-')}*) cat {said}; exit {code} ;;\n"
        tool = self._folder / name
        tool.write_text(f'#!/bin/sh\necho "$@" >>{self._folder}/asked\ncase "$*" in\n{cases}esac\nexit 99\n')
        tool.chmod(0o755)

    def run(self, program: str, called: str) -> Ended:
        environment = {"PATH": str(self._folder), "CMGR_HOOK_CALLED": called}
        return Host("").run(Act(program, (str(PROGRAMS / program),), environment, 30.0), threading.Event())

    def asked(self) -> list[str]:
        return (self._folder / "asked").read_text().splitlines()


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


@pytest.mark.parametrize(
    ("health", "errors", "code"),
    [
        ((HEALTHY, 0), ("", 1), 0),
        ((HEALTHY, 0), (ECC.format(0), 0), 0),
        ((HEALTHY, 0), (ECC.format("NA"), 0), 0),
        ((HEALTHY, 0), (ECC.format(10), 0), 1),
        ((CARD.format("OK"), 0), ("", 1), 0),
        ((CARD.format("Alarm"), 0), ("", 1), 1),
        ((HEALTHY.replace("OK", "Warning"), 0), ("", 1), 1),
        (("This device is not existed.", 255), ("", 1), 75),
        (("", 0), ("", 1), 75),
    ],
)
def test_npu_smi(tools: Tools, health: tuple[str, int], errors: tuple[str, int], code: int) -> None:
    tools.has("npu-smi", health=health, ecc=errors)
    ended = tools.run("npu-smi", "3/1")
    assert ended.code == code, ended.output
    assert tools.asked()[0] == "info -t health -i 3 -c 1"


def test_of_a_950_npu_smi_is_asked_for_the_npu_alone(tools: Tools) -> None:
    tools.has("npu-smi", health=(HEALTHY, 0), ecc=(ECC.format(0), 0))
    assert tools.run("npu-smi", "2").code == 0
    assert tools.asked() == ["info -t health -i 2", "info -t ecc -i 2"]


@pytest.mark.parametrize(
    ("errors", "rows", "code"),
    [
        (("0", 0), ("No, No", 0), 0),
        (("[N/A]", 0), ("[N/A], [N/A]", 0), 0),
        (("2", 0), ("No, No", 0), 1),
        (("0", 0), ("Yes, No", 0), 1),
        (("0", 0), ("No, Yes", 0), 1),
        (("Unable to determine the device handle for GPU0: 0000:07:00.0: Unknown Error", 15), ("No, No", 0), 75),
        (("0", 0), ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9), 75),
    ],
)
def test_nvidia_smi(tools: Tools, errors: tuple[str, int], rows: tuple[str, int], code: int) -> None:
    tools.has("nvidia-smi", volatile=errors, remapped=rows)
    ended = tools.run("nvidia-smi", "4")
    assert ended.code == code, ended.output
    assert all(line.startswith("-i 4 ") for line in tools.asked())


@pytest.mark.parametrize(
    ("diag", "code", "says"),
    [
        ((DIAG.format("Pass"), 0), 0, "dcgmi diag -r 1: passed"),
        ((DIAG.format("Fail"), 226), 1, "Error: GPU 3 had memory errors and row"),
        ((DIAG.format("Fail"), 205), 1, "ends with 205"),
        (("Error: Unable to complete diagnostic. Another one runs.", 217), 75, "Another one runs"),
        (("Error: the NVVS binary was not found", 204), 75, "was not found"),
    ],
)
def test_dcgmi(tools: Tools, diag: tuple[str, int], code: int, says: str) -> None:
    tools.has("nvidia-smi", uuid=(UUID, 0))
    tools.has("dcgmi", discovery=(FOUND, 0), diag=diag)
    ended = tools.run("dcgmi", "1")
    assert ended.code == code, ended.output
    assert says in ended.output
    assert "Graphics Processes" not in ended.output
    assert tools.asked() == ["-i 1 --query-gpu=uuid --format=csv,noheader", "discovery -l", "diag -r 1 -i 11"]


@pytest.mark.parametrize(
    "found", [(FOUND.replace(UUID, "GPU-1"), 0), ("Error: unable to establish a connection to localhost", 235)]
)
def test_of_a_gpu_that_dcgm_does_not_know_nothing_is_learned(tools: Tools, found: tuple[str, int]) -> None:
    tools.has("nvidia-smi", uuid=(UUID, 0))
    tools.has("dcgmi", discovery=found)
    assert tools.run("dcgmi", "1").code == 75


@pytest.mark.parametrize("program", sorted(path.name for path in PROGRAMS.iterdir()))
def test_without_its_tool_nothing_is_learned(tools: Tools, program: str) -> None:
    assert tools.run(program, "0").code == 75
