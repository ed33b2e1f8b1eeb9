"""Where the library is looked for, and what is refused."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.drivers.dcmi.library.calls import Library
from cmgr.drivers.dcmi.library.load import WANTED
from cmgr.drivers.libraries import Where, cached, find, search
from cmgr.errors import DriverMissing
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import Workshop
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Purpose

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def safe(workshop: Workshop) -> Path:
    return workshop.place("one")


def where(safe: Path | str = "", installed: Sequence[str] = (), **changes: object) -> Where:
    wanted = replace(WANTED, installed=installed)
    values = {"wanted": wanted, "configured": str(safe), "environ": {}, "cache": "", **changes}
    return Where(**values)  # type: ignore[arg-type]  # as the fields are


def refusal(path: Path, **changes: object) -> tuple[str, str]:
    (candidate,) = search(where(path, (), **changes))
    return candidate.refusal, candidate.hint


def test_one_that_is_safe_is_found(safe: Path) -> None:
    assert find(where(safe)) == str(safe)


def test_the_configured_one_is_the_only_candidate(safe: Path) -> None:
    missing = safe.parent / "other.so"
    told = search(where(missing, environ={"LD_LIBRARY_PATH": str(safe.parent)}))
    assert [(c.path, c.refusal, c.hint) for c in told] == [
        (str(missing), "there is no such file", "correct dcmi.library")
    ]


def test_the_order_is_the_library_path_then_the_cache_then_the_usual_places(workshop: Workshop) -> None:
    a, b, c = (workshop.place("one") for _ in range(3))
    cache = f"\tlibdcmi.so (libc6,x86-64) => {b}\n"
    everywhere = where(environ={"LD_LIBRARY_PATH": f"/nowhere:{a.parent}"}, cache=cache, installed=(str(c.parent),))
    assert find(everywhere) == str(a)
    assert find(replace(everywhere, environ={})) == str(b)
    assert find(replace(everywhere, environ={}, cache="")) == str(c)


def test_one_that_is_refused_makes_way_for_the_next(workshop: Workshop) -> None:
    a, b = workshop.place("one"), workshop.place("one")
    a.chmod(0o666)
    told = search(where(environ={"LD_LIBRARY_PATH": f"{a.parent}:{b.parent}"}))
    assert [(c.path, bool(c.refusal)) for c in told] == [(str(a), True), (str(b), False)]


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_library_that_others_can_write_is_refused(safe: Path, mode: int) -> None:
    safe.chmod(mode)
    assert refusal(safe) == (f"others can write the file {safe} (mode {mode:04o})", f"chmod go-w {safe}")


@pytest.mark.parametrize(("mode", "mends"), [(0o777, "chmod go-w {}"), (0o1777, "put it where root alone can write")])
def test_a_library_in_a_folder_that_others_can_write_is_refused(safe: Path, mode: int, mends: str) -> None:
    safe.parent.chmod(mode)
    why, hint = refusal(safe)
    assert why == f"others can write the directory {safe.parent} (mode {mode:04o})"
    assert hint.startswith(mends.format(safe.parent))


@ROOT_ONLY
def test_a_library_of_another_user_is_refused(safe: Path) -> None:
    os.chown(safe, 4242, 0)
    why, hint = refusal(safe)
    assert f"the file {safe} belongs to user 4242" in why
    assert hint == f"chown root {safe}"
    assert refusal(safe, uid=4242) == ("", "")


@ROOT_ONLY
def test_a_link_of_another_user_is_refused_and_one_of_ones_own_is_resolved(safe: Path) -> None:
    link = safe.parent / "link.so"
    link.symlink_to(safe)
    assert find(where(link)) == str(safe)
    os.chown(link, 4242, 0, follow_symlinks=False)
    assert f"the link {link} belongs to user 4242" in refusal(link)[0]


def test_what_is_no_file_or_leads_nowhere_is_refused(safe: Path) -> None:
    assert refusal(safe.parent)[0] == "it is not a file"
    dangling = safe.parent / "dangling.so"
    dangling.symlink_to(safe.parent / "gone")
    assert refusal(dangling)[0].startswith("it cannot be looked at")


@pytest.mark.parametrize("left", [65, 300, 4096, 8192])
def test_a_library_that_was_not_copied_to_its_end_is_refused_before_it_kills_the_process(
    safe: Path, workshop: Workshop, left: int
) -> None:
    whole = workshop.library("one").read_bytes()
    safe.write_bytes(whole)
    assert refusal(safe)[0] == ""
    safe.write_bytes(whole[:left])
    assert refusal(safe) == ("it is cut short", "install the Ascend driver again")


def test_what_is_no_elf_is_left_to_the_loader_to_refuse(safe: Path) -> None:
    for content in (
        b"",
        b"\x7fELF",
        b"#!/bin/sh\n" * 10,
        b"\x7fELF\x01\x01" + bytes(100),
        b"\x7fELF\x02\x01" + bytes(100),
    ):
        safe.write_bytes(content)
        assert refusal(safe)[0] == ""


def test_the_working_directory_is_never_looked_in(safe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(safe.parent)
    for value in ("", ":", ".", "relative:"):
        assert search(where(environ={"LD_LIBRARY_PATH": value})) == ()


def test_a_library_path_that_is_too_long_is_refused_as_a_whole(safe: Path) -> None:
    (told,) = search(where(environ={"LD_LIBRARY_PATH": f"{safe.parent}:{'x' * 1024}"}))
    assert "longer than 1024" in told.refusal


def test_nothing_found_is_an_error_with_a_hint() -> None:
    with pytest.raises(DriverMissing, match=r"cannot find libdcmi\.so in LD_LIBRARY_PATH") as caught:
        find(where())
    assert "dcmi.library" in caught.value.hint


def test_every_refusal_is_told_with_its_hint(workshop: Workshop) -> None:
    a, b = workshop.place("one"), workshop.place("one")
    a.chmod(0o666)
    b.chmod(0o666)
    with pytest.raises(DriverMissing) as caught:
        find(where(environ={"LD_LIBRARY_PATH": f"{a.parent}:{b.parent}"}))
    assert f"{a} (LD_LIBRARY_PATH): others can write" in caught.value.message
    assert f"chmod go-w {b}" in caught.value.hint


def test_the_loaders_cache_is_read_as_ldconfig_prints_it() -> None:
    listing = """2 libs found in cache `/etc/ld.so.cache'
\tlibdcmi.so.1 (libc6,x86-64) => /usr/lib/libdcmi.so.1
\tlibdcmi.so (libc6,x86-64, OS ABI: Linux 3.2.0) => /usr/local/dcmi/libdcmi.so
\tlibnotdcmi.so (libc6,x86-64) => /usr/lib/libnotdcmi.so
Cache generated by: ldconfig
"""
    assert cached(listing, "libdcmi.so") == ("/usr/local/dcmi/libdcmi.so",)
    assert cached("", "libdcmi.so") == ()


def test_the_machines_own_cache_can_be_read() -> None:
    assert isinstance(search(Where(replace(WANTED, installed=()), environ={})), tuple)


@pytest.mark.parametrize(
    ("chips", "family", "number"),
    [
        (hosts.host_910b(), "one", 1),
        (hosts.host_910b(), "both", 1),
        (hosts.host_950(), "two", 2),
        (hosts.host_950(), "both", 2),
    ],
)
def test_the_family_is_the_one_that_begins_with_these_chips(
    ascend: Make, chips: tuple[FakeChip, ...], family: str, number: int
) -> None:
    assert Library(str(ascend(chips, family).library)).family == number


def test_a_library_without_either_family_is_refused(workshop: Workshop) -> None:
    with pytest.raises(DriverMissing, match=r"dcmi_init: .*no such function.*dcmiv2_init: ") as caught:
        Library(str(workshop.place("none")))
    assert "npu-smi" in caught.value.hint


def test_a_library_that_does_not_begin_is_refused_with_its_reason(ascend: Make) -> None:
    machine = ascend(hosts.host_910a())
    machine.answer(0, Purpose.INIT, -8002)
    with pytest.raises(DriverMissing, match=r"-8002 \(no permission\)"):
        Library(str(machine.library))


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "libdcmi.so"
    path.write_text("text")
    with pytest.raises(DriverMissing, match="cannot open"):
        Library(str(path))
