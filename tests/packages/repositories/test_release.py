"""A fresh clone is released: checksums, signature, bills of materials and notes are right."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cmgr import __version__
from tests.packages import dists
from tests.packages.test_contents import refused

pytestmark = pytest.mark.alone

BILLS = {f"cmgr-{__version__}.{arch}.sbom.cdx.json" for arch in dists.ARCHES}


def packages() -> list[Path]:
    return [*(made(arch) for arch in dists.ARCHES for made in (dists.deb, dists.rpm)), dists.selinux()]


@pytest.fixture(scope="module")
def release(owner: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of the last commit. The clone is lent our environment, which pip would make for it."""
    clone = tmp_path_factory.mktemp("clone") / "cmgr"
    dists.said("git", "clone", "--quiet", str(dists.ROOT), str(clone))
    (clone / ".venv").symlink_to(dists.ROOT / ".venv")
    settings = [f"{name}={value}" for name, value in owner.items()]
    dists.said("env", *settings, "make", "-C", str(clone), "--old-file=.venv/.installed", "release")
    assert dists.said("git", "-C", str(clone), "status", "--porcelain") == ""
    return clone / "dist/release"


def test_it_has_packages_bills_notes_and_a_key(release: Path) -> None:
    found = {file.name for file in release.iterdir()}
    assert found == {
        *(each.name for each in packages()),
        *BILLS,
        "NOTES.md",
        "cmgr.asc",
        "SHA256SUMS",
        "SHA256SUMS.asc",
    }


def test_its_packages_are_those_that_were_built_elsewhere_of_the_same_commit(release: Path) -> None:
    if dists.said("git", "-C", str(dists.ROOT), "status", "--porcelain"):
        pytest.skip("files are not committed: others were built")
    assert [each for each in packages() if (release / each.name).read_bytes() != each.read_bytes()] == []


def test_its_checksums_are_of_all_and_signed_by_the_key_beside_them(release: Path, tmp_path: Path) -> None:
    """As install.md has it typed."""
    sums = (release / "SHA256SUMS").read_text()
    named = {line.split("  ")[1] for line in sums.splitlines()}
    assert named == {file.name for file in release.iterdir()} - {"SHA256SUMS", "SHA256SUMS.asc"}
    dists.said("sh", "-c", f"cd {release} && sha256sum --quiet --check SHA256SUMS")
    key = tmp_path / "cmgr.gpg"
    dists.said("gpg", "--batch", "--dearmor", "--output", str(key), str(release / "cmgr.asc"))
    changed = tmp_path / "changed"
    changed.write_text(sums.replace(sums[0], "0" if sums[0] != "0" else "1", 1))
    for file, code in ((release / "SHA256SUMS", 0), (changed, 1)):
        words = ["gpgv", "--keyring", str(key), str(release / "SHA256SUMS.asc"), str(file)]
        assert subprocess.run(words, capture_output=True, check=False).returncode == code


def test_its_bills_of_materials_are_what_a_validator_takes(release: Path) -> None:
    for name in BILLS:
        assert refused((release / name).read_text()) is None


def test_its_notes_are_what_the_changelog_has_of_this_version(release: Path) -> None:
    notes = (release / "NOTES.md").read_text()
    parts = re.split(r"^## (.*)$", (dists.ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    assert notes.strip() == sections.get(__version__, sections["Unreleased"]).strip() != ""
