"""How the packages are built: clean for the checkers, and not without what must be in them."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.packages import dists

pytestmark = pytest.mark.alone

SCRIPTS = sorted(p for p in (dists.ROOT / "packaging").rglob("*.sh")) + sorted(
    dists.ROOT / "packaging/deb" / name for name in ("preinst", "postinst", "prerm", "postrm")
)


def test_lintian_is_content() -> None:
    # Until the manual page is in the tree.
    missing = [] if (dists.ROOT / "docs/man/cmgr.1").exists() else ["--suppress-tags", "no-manual-page"]
    for arch in dists.ARCHES:
        done = subprocess.run(
            ["lintian", "--fail-on", "error,warning", *missing, str(dists.deb(arch))],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


def test_rpmlint_is_content() -> None:
    settings = dists.ROOT / "packaging/rpm/rpmlint.toml"
    for package in (*map(dists.rpm, dists.ARCHES), dists.selinux()):
        told = dists.said("rpmlint", "--config", str(settings), str(package))
        found = [line for line in told.splitlines() if ": E: " in line or ": W: " in line]
        assert found == []


def test_every_exception_from_a_checker_has_a_reason() -> None:
    for name in ("deb/lintian-overrides", "rpm/rpmlint.toml"):
        lines = (dists.ROOT / "packaging" / name).read_text().splitlines()
        assert lines[0].startswith("#")
        assert sum(line.strip().startswith("#") for line in lines) >= 3


def test_shell_scripts_are_without_a_mistake() -> None:
    told = subprocess.run(
        ["shellcheck", "--shell=sh", "--severity=warning", "--exclude=SC1091,SC2154,SC2034", *map(str, SCRIPTS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout


def test_an_unknown_architecture_is_refused() -> None:
    done = subprocess.run(
        ["sh", str(dists.ROOT / "packaging/tree.sh")],
        env={**os.environ, "ARCH": "riscv64"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "cannot build: architecture riscv64 is neither x86_64 nor aarch64\n"


def test_both_packages_say_who_maintains_them_or_that_nobody_is_named() -> None:
    told = (
        dists.said("dpkg-deb", "--field", str(dists.deb()), "Maintainer").strip(),
        dists.said("rpm", "-qp", "--queryformat", "%{PACKAGER}", str(dists.rpm())),
    )
    assert told == (os.environ.get("MAINTAINER") or "nobody is named <unset@maintainer.invalid>",) * 2


def test_a_maintainer_that_is_none_is_refused() -> None:
    for wrong in ("Jo Doe", "<mail@packages.example>", "Jo Doe <mail>", "Jo | Doe <mail@packages.example>"):
        done = subprocess.run(
            ["sh", str(dists.ROOT / "packaging/build.sh"), "deb"],
            env={**os.environ, "MAINTAINER": wrong}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr == f'cannot build: MAINTAINER is no "Name <mailbox>": {wrong}\n'


def test_what_a_build_needs_is_looked_for_before_anything_is_made(tmp_path: Path) -> None:
    for tool in ("make", "sh", "dirname", "uname", "sed", "cat", "git", "grep", "expr", "nproc", "stat", "tr", "gzip"):
        (tmp_path / tool).symlink_to(dists.said("which", tool).strip())
    for command in (["sh", "packaging/build.sh", "deb", "rpm"], ["make", f"VENV={tmp_path}/venv", "deb"]):
        done = subprocess.run(
            [tmp_path / command[0], *command[1:]], cwd=dists.ROOT,
            env={"PATH": str(tmp_path), "HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        missing, _, hint = done.stderr.partition(" (hint: on Debian apt-get install ")
        assert missing.startswith("cannot build: missing: ")
        assert {"cpio", "dpkg-deb", "tclsh", "gcc"} <= set(missing.split())
        assert {"cpio", "tcl", "libc6-dev"} <= set(hint.partition(")")[0].split())
        assert "gzip" not in hint.partition(")")[0].split()
    assert not (tmp_path / "venv").exists()
