"""The SELinux module: its form is one that old distributions read, and it labels what the packages bring along."""

import re
import shutil
import struct
from pathlib import Path

import pytest

from tests.packages import dists

pytestmark = pytest.mark.alone

SOURCES = dists.ROOT / "packaging/selinux"

DEVELOPER = Path("/usr/share/selinux/devel/Makefile")

READ_BY_ALL = 19
"""Of modules, by libsepol 2.9, which distributions with glibc 2.28 have (RHEL 8, openEuler 20.03)."""

AGENT = """
policy_module(agent, 1.0)
type agent_t;
domain_type(agent_t)
cmgr_stream_connect(agent_t)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of the module's package."""
    folder = tmp_path_factory.mktemp("files")
    dists.said("sh", "-c", f"cd {folder} && rpm2cpio {dists.selinux()} | cpio --extract --make-directories --quiet")
    return folder


def test_the_package_has_a_module_of_the_sources_in_a_form_that_all_read(files: Path, tmp_path: Path) -> None:
    module = files / "usr/share/selinux/packages/cmgr.pp"
    labels = tmp_path / "labels"
    dists.said("semodule_unpackage", str(module), str(tmp_path / "module"), str(labels))
    assert labels.read_text() == (SOURCES / "cmgr.fc").read_text()
    head = (tmp_path / "module").read_bytes().partition(b"SE Linux Module")[2]
    assert struct.unpack_from("<II", head)[1] == READ_BY_ALL


def test_what_it_labels_is_in_the_package_or_made_by_it() -> None:
    brought = {entry.path for entry in dists.entries(dists.deb())}
    made = re.findall(r"^d (\S+)", (dists.ROOT / "packaging/cmgr.tmpfiles").read_text(), re.MULTILINE)
    labelled = [
        line.split()[0].removesuffix("(/.*)?").replace("\\", "")
        for line in (SOURCES / "cmgr.fc").read_text().splitlines()
    ]
    assert len(labelled) > 5
    assert [path for path in labelled if path not in brought and path not in made] == []


def test_others_may_use_its_interface_in_modules_of_theirs(files: Path, tmp_path: Path) -> None:
    """By what Debian has for that, as each distribution does."""
    if not DEVELOPER.exists():
        pytest.skip(f"there is no {DEVELOPER} (tests/support/install.sh packages)")
    shutil.copy(files / "usr/share/selinux/devel/include/distributed/cmgr.if", tmp_path)
    # It takes interfaces of modules that it has the sources of.
    shutil.copy(SOURCES / "cmgr.te", tmp_path)
    (tmp_path / "agent.te").write_text(AGENT)
    dists.said("make", "-C", str(tmp_path), "-f", str(DEVELOPER), "agent.pp", "cmgr.pp")
    dists.said("semodule_unpackage", str(tmp_path / "agent.pp"), str(tmp_path / "module"))
    assert "cmgr_runtime_t" in dists.said("sh", "-c", f"strings {tmp_path / 'module'}")
