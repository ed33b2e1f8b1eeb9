"""Strangers' words in the kernel's log, and in what tools say, are never taken for the kernel's own.

Source of the lines: the kernel of 6.18 where nothing else is said.
"""

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.drivers.kernel_log import KernelLog
from cmgr.drivers.machine.ipmi import entries, sensed
from cmgr.drivers.machine.kernel import said
from cmgr.drivers.machine.smart import Smart
from cmgr.drivers.nvml.hearing.kernel_log import XidLog
from tests.fakes.machine.tree import Tree
from tests.security.fuzz import SECTION, tries
from tests.support.figures import Figures
from tests.support.programs import program
from tests.support.waiting import PATIENCE

OWN, OTHER = "0a" * 32, "1b" * 32

BELIEVED = (
    "NVRM: Xid (PCI:0000:a3:00): 119, pid=7, name=a, Timeout after 6s of waiting for RPC response",
    "NVRM: Xid (0000:a3:00): 79, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:a3:00 GPU-I:05): 95, pid=7, Uncontained: LTC TAG (0x2). RST: Yes, D-RST: No",
    "NVRM: GPU 0000:a3:00.0: GPU has fallen off the bus.",
    "NVRM: GPU 0000:a3:00.0: RmInitAdapter failed! (0x62:0x65:2084)",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01  Release Build",
    "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:a3:00 (printing 1 of every 30).",
    "NVRM: Attempting to remove device 0000:a3:00.0 with non-zero usage count!",
    "nvidia 0000:a3:00.0: probe with driver nvidia failed with error -1",
    "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 28 LTSSM Fault Up",
    "nvidia-uvm: uvm_global.c:425 uvm_global_set_fatal_error_impl[pid:1] Encountered a global fatal error: x [0xf]",
    "mce: [Hardware Error]: Machine check events logged",
    "{1}[Hardware Error]: event severity: fatal",
    "Memory failure: 0x3f5a1: recovery action for dirty LRU page: Failed",
    "pcieport 0000:00:1c.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
    "INFO: task a:1 blocked for more than 122 seconds.",
    "watchdog: BUG: soft lockup - CPU#7 stuck for 26s! [a:1]",
    "BUG: workqueue lockup - pool cpus=2 node=0 flags=0x0 nice=0 stuck for 33s!",
    "I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
    "EXT4-fs error (device sda1): ext4_find_entry:1682: inode #2: comm a: reading directory lblock 0",
    "XFS (sda1): Metadata I/O Error (0x4) detected at x",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=a,pid=1,uid=0",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,"
    f"oom_memcg=/docker/{OTHER},task_memcg=/docker/{OTHER},task=a,pid=1,uid=0",
    f",mems_allowed=0,oom_memcg=/docker/{OTHER},task_memcg=/docker/{OTHER},task=a,pid=1,uid=0",
)
"""Lines, each of which a reader believes when the kernel begins one so; the last is the rest of one."""

_AT = "ip 000056 sp 00007f error 6"
_OOM = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)"

PRINTED = (
    # arch/x86/mm/fault.c and mm/memory.c (print_vma_addr): of 6.3 and later, and of those before.
    "{comm}[1]: segfault at 8 " + _AT + " in {file}[11a5,562f3d6d8000+1000] likely on CPU 1 (core 1, socket 0)",
    "{comm}[1]: segfault at 8 " + _AT + " in {file}[562f3d6d8000+1000]",
    # arch/x86/kernel/traps.c, with and without the words in front that it has since 3.0.
    "traps: {comm}[1] trap invalid opcode ip:55 sp:7f error:0 in {file}[11ab,55b19eca9000+1000]",
    "traps: {comm}[1] general protection fault ip:55 sp:7f error:0 in {file}[11ad,560c1e662000+1000]",
    "{comm}[1] trap divide error ip:55 sp:7f error:0 in {file}[560c1e662000+1000]",
    # arch/arm64/kernel/traps.c, kernel/signal.c, fs/exec.c, arch/x86/kernel/cpu/bus_lock.c.
    "{comm}[1]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2 translation fault in {file}[55+1000]",
    "{comm}: potentially unexpected fatal signal 11.",
    "process '{file}' started with executable stack",
    "x86/split lock detection: #AC: {comm}/1 took a split_lock trap at address: 0x401136",
    # fs/drop_caches.c, kernel/capability.c, kernel/cgroup/pids.c, mm/memory-failure.c.
    "{comm} (1): drop_caches: 3",
    "warning: `{comm}' uses 32-bit capabilities (legacy support in use)",
    "cgroup: fork rejected by pids controller in {group}",
    "Memory failure: 0x1: Sending SIGBUS to {comm}:1 due to hardware memory corruption",
    # mm/oom_kill.c, mm/memcontrol.c; before 4.19 in the words of the last of these.
    "{comm} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "Memory cgroup out of memory: Killed process 1 ({comm}) total-vm:1kB, anon-rss:1kB, file-rss:1kB, UID:0",
    "Out of memory: Killed process 1 ({comm}) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:0kB, UID:0",
    "Memory cgroup stats for {group}:",
    "Task in {group} killed as a result of limit of {group}",
    # kernel/hung_task.c (with kernel/sched/core.c), and kernel/watchdog.c.
    "task:{comm}            state:D stack:0     pid:1     tgid:1     ppid:1      flags:0x00004002",
    "INFO: task {comm}:1 blocked for more than 122 seconds.",
    "watchdog: BUG: soft lockup - CPU#7 stuck for 26s! [{comm}:1]",
    # kernel/audit.c, which quotes only plain words: here it does not, for the reader's sake.
    'audit: type=1701 audit(1.2:3): auid=1 uid=1 gid=1 ses=1 pid=1 comm="{comm}" exe="{file}" sig=11 res=1',
    'audit: type=1400 audit(1.2:3): apparmor="DENIED" operation="open" profile="a" name="{file}" pid=1 comm="{comm}"',
    # The maker's kernel modules of 595.45: osapi.c (RmPerformVersionCheck), kernel-open/nvidia/nv-mmap.c, kernel_rc.c.
    "NVRM: API mismatch: the client '{client}' (pid 1)\nNVRM: has the version 580.65.06, but this kernel module has",
    "NVRM: VM: nvidia_mmap_helper: late unmap, comm: {comm}, 0x0000000012345678",
)
"""All that the kernel and the driver print of strangers, with the places of their words."""

TRUE = (
    "NVRM: Xid (PCI:0000:0b:00): 13, pid=1, name={comm}, Graphics Exception: ESR 0x514730=0x20",
    "NVRM: Xid (PCI:0000:0b:00): 94, pid=1, name={comm}, Contained: SM (0x1). RST: No, D-RST: No",
    _OOM + ",cpuset={name},mems_allowed=0,oom_memcg=/docker/" + OWN + ",task_memcg=/docker/" + OWN + "/{group},"
    "task={comm},pid=1,uid=0",
    _OOM
    + ",cpuset=a,mems_allowed=0,oom_memcg=/user.slice{group},task_memcg=/user.slice{group},task={comm},pid=1,uid=0",
    "EXT4-fs error (device sdb1): ext4_find_entry:1682: inode #2: comm {comm}: reading directory lblock 0",
)
"""Lines that are believed, and are to say what they say, whatever a stranger's words in them are."""

HARMLESS = {"comm": "sh", "file": "sh", "group": "/a.slice", "name": "a", "client": "535.161.08"}
PIECES = ("", "\n", "x\n", "\x01c", "\x013", ", ", "], ", "\\x0a", " in ", "'", "/", "NVRM: ")

words = st.lists(
    st.sampled_from(PIECES) | st.sampled_from(BELIEVED) | st.sampled_from(BELIEVED).map(lambda text: text[:15]),
    min_size=1,
    max_size=4,
).map("".join)


def printed(line: str, word: str) -> str:
    """Return the line as /dev/kmsg has it with this word of a stranger in each of its places."""
    places = {"comm": 15, "file": 255, "group": 1000, "name": 255, "client": 63}
    cut = {place: word.replace("/", "|" if place in ("file", "name") else "/")[:most] for place, most in places.items()}
    text = line.format(**{**cut, "group": f"/{word.lstrip('/')}"[:1000]})
    return "".join(c if " " <= c <= "~" and c != "\\" else f"\\x{ord(c) & 0xFF:02x}" for c in text)


class Readers:
    """Both readers of the kernel's log of a machine, which is this file."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def say(self, *records: tuple[str, str]) -> tuple[object, object]:
        """Return what they take from a log that has these records, each with its flag."""
        self._log.write_text("".join(f"4,{n},{n},{flag};{text}\n" for n, (flag, text) in enumerate(records, 1)))
        chips, machine = XidLog(str(self._log)), KernelLog(str(self._log), said, "")
        with closing(chips), closing(machine):
            symptoms = {(symptom.code, symptom.container) for symptom in machine.so_far()}
            return [line for _, line in chips.so_far()], symptoms


@pytest.fixture
def readers(tmp_path: Path) -> Readers:
    return Readers(tmp_path / "kmsg")


def test_each_line_is_believed_where_the_kernel_begins_it(readers: Readers) -> None:
    for line in BELIEVED[:-1]:
        assert readers.say(("-", line)) != ([], set()), line


@pytest.fixture
def usual(readers: Readers) -> dict[str, object]:
    return {line: readers.say(("-", line.format(**HARMLESS))) for line in (*PRINTED, *TRUE)}


@tries(200)
@given(word=words)
def test_what_the_kernel_prints_of_a_stranger_says_what_it_says_of_anybody(
    readers: Readers, usual: dict[str, object], word: str
) -> None:
    for line, said_of_anybody in usual.items():
        told = readers.say(("-", printed(line, word)))
        # Of a control group with a name that nobody can take apart nothing is said.
        assert told == said_of_anybody or ("oom-kill" in line and told == ([], set())), printed(line, word)


@tries(100)
@given(word=words)
def test_a_piece_of_a_line_is_no_line(readers: Readers, word: str) -> None:
    # kernel/printk/printk.c: a piece (KERN_CONT) that comes after another processor's line is a record of its own.
    name = printed("{name}", word)
    pieces = [("-", _OOM), ("c", ",cpuset="), ("-", "sh[1]: segfault at 8"), ("c", name), ("c", ",mems_allowed=0")]
    pieces += [("c", printed(" in {file}[11a5,562f3d6d8000+1000]", word)), ("c", ",task_memcg="), ("c", f"/{name}")]
    assert readers.say(*pieces) == ([], set())
    assert readers.say(*pieces, ("c", BELIEVED[0]))[0], "the driver is heard after it"


@pytest.mark.parametrize(
    "records",
    [
        # kernel/cgroup/pids.c: any user with a control group of his own can have its whole path printed.
        [("-", "cgroup: fork rejected by pids controller in /user.slice/user-7.slice/x,cpuset=")],
        # The name and what follows it in one piece: nothing came between those two.
        [("-", f"{_OOM},cpuset="), ("c", "a,mems_allowed=0,oom_memcg=/,task_memcg=/,task=a,pid=1,uid=0")],
        [("-", _OOM), ("c", ",cpuset="), ("-", "usb 1-1: new device"), ("c", "a,mems_allowed=0,oom_memcg=/")],
        [("-", _OOM), ("c", ",cpuset=a,mems_allowed=0,oom_memcg=/,task_memcg=/,task=a,pid=1,uid=0")],
    ],
)
def test_the_driver_is_heard_after_what_ends_as_names_begin_or_goes_on_with_one(
    readers: Readers, records: list[tuple[str, str]]
) -> None:
    assert readers.say(*records) == ([], set())
    assert readers.say(*records, ("c", BELIEVED[0]))[0]


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("crashing") / "crashing"
    source = Path(__file__).with_name("crashing.c")
    subprocess.run([program("gcc"), "-O0", "-w", "-o", str(target), str(source)], check=True, timeout=PATIENCE)
    return target


def test_programs_that_crash_under_chosen_names_are_not_believed(
    crashing: Path, readers: Readers, figures: Figures
) -> None:
    try:
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        pytest.skip("the kernel's log is not to be read here")
    os.lseek(log, 0, os.SEEK_END)
    # The kernel prints ten such lines in five seconds at the most.
    for line in BELIEVED[:9]:
        named = crashing.with_name(line.replace("/", "|"))
        os.link(crashing, named)
        for way in "st" if line == BELIEVED[0] else "s":
            subprocess.run([str(named), way, line], check=False, timeout=PATIENCE, capture_output=True)
    found = []
    try:
        while True:
            found.append(os.read(log, 8192).decode(errors="replace").partition("\n")[0])
    except BlockingIOError:
        os.close(log)
    crashes = [each for each in found if ": segfault at" in each or ";traps: " in each]
    if not crashes:
        pytest.skip("this kernel does not print of programs that crash")
    assert readers.say(*((each.split(",")[3][0], each.partition(";")[2]) for each in crashes)) == ([], set())
    figures.add(SECTION, "programs crashed under the names of faults, none believed", len(crashes))


@pytest.mark.parametrize(
    "word", ["Uncorrectable ECC", "Memory #0x53,Uncorrectable ECC,Asserted", "a|cr|10.1|Redundancy Lost"]
)
def test_names_of_sensors_and_disks_say_nothing(tmp_path: Path, word: str) -> None:
    assert sensed(f"{word} | 05h | ok  |  7.1 | 24 degrees C\nFan | 05h | ok | 10.1 | {word} RPM") == []
    assert entries(f"1,11/24/26,05:00:00,{word} #0x53,State Asserted,Asserted\n") == []
    assert entries(f"1,11/24/26,05:00:00,OEM #0x53,{word},Asserted\n") == []
    assert entries(f"1,11/24/26,05:00:00,Memory #0x53,OEM {word.partition(',')[0]},Asserted\n") == []
    tree = Tree(tmp_path)
    smartctl = tree.program("smartctl")
    told = {"smartctl": {"exit_status": 0}, "model_name": f'{word}"}}, "smart_status": {{"passed": false}}'}
    smartctl.answers("", json.dumps(told))
    assert list(Smart(tree.root, str(smartctl.path), PATIENCE).look()) == []
