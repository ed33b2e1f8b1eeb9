"""The script that traces a reset of a GPU: it does nothing that was not asked for, and packs what it saw."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.drivers.test_vendors import PACKAGE

SHIPPED = PACKAGE.parent / "packaging"
SCRIPT = SHIPPED / "trace-nvidia-reset"

NVIDIA_SMI = """#!/bin/sh
echo "nvidia-smi $*" >>"$NOTED"
case "$*" in
*--query-compute-apps*) printf '%s' "${USERS:-}" ;;
*--gpu-reset*) echo "GPU 00000000:3B:00.0 was successfully reset."; exit "${ENDS:-0}" ;;
*) echo "a line of $*" ;;
esac
"""
STRACE = """#!/bin/sh
echo "strace $*" >>"$NOTED"
while [ "$1" != nvidia-smi ]; do [ "$1" != -o ] || echo 'openat("/sys/bus/pci/rescan")' >"$2"; shift; done
exec "$@"
"""
IDLE = "#!/bin/sh\nexit 3\n"

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can reset a GPU")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with programs that note how they are called."""
    programs = {"nvidia-smi": NVIDIA_SMI, "strace": STRACE, "systemctl": IDLE, "udevadm": IDLE, "dmesg": IDLE}
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def run(here: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{here}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "NOTED": f"{here}/noted", **more}
    return subprocess.run(
        ["sh", str(SCRIPT), *words], cwd=here, env={**environment, "TMPDIR": str(here)}, capture_output=True, text=True
    )  # fmt: skip


def noted(here: Path) -> str:
    return (here / "noted").read_text() if (here / "noted").exists() else ""


@pytest.mark.parametrize(
    "words", [(), ("--reset",), ("0000:3b:00.0",), ("--help",), ("-reset", "x"), ("--reset", "x", "y")]
)
def test_without_its_words_it_does_nothing(here: Path, words: tuple[str, ...]) -> None:
    before = sorted(here.iterdir())
    ran = run(here, *words)
    assert ran.returncode == 2
    assert ran.stderr.startswith("usage: trace-nvidia-reset --reset BUS-ID")
    assert sorted(here.iterdir()) == before, "no program was run, and nothing written"


@root
def test_it_packs_what_a_reset_did_and_how_it_ended(here: Path) -> None:
    ran = run(here, "--reset", "0000:3b:00.0", ENDS="255")
    assert "nvidia-smi ended with 255" in ran.stdout
    assert noted(here).count("--gpu-reset -i 0000:3b:00.0") == 2, "strace's words, and its program's"
    (packed,) = here.glob("nvidia-reset-*.tar.gz")
    with tarfile.open(packed) as archive:
        found = {name.removeprefix("./") for name in archive.getnames()}
        status, traced = archive.extractfile("./status"), archive.extractfile("./strace")
        assert status is not None
        assert traced is not None
        assert status.read() == b"255\n"
        assert b"/sys/bus/pci/rescan" in traced.read()
    assert found >= {"before", "after", "said", "files-meanwhile", "udev", "kernel"}
    assert sorted(path.name for path in here.iterdir()) == sorted(["bin", "noted", packed.name])


@root
def test_it_resets_no_gpu_that_is_in_use(here: Path) -> None:
    ran = run(here, "--reset", "0000:3b:00.0", USERS="7, python")
    assert ran.returncode == 1
    assert "it is in use by 7, python" in ran.stderr
    assert "--gpu-reset" not in noted(here)


@root
def test_it_resets_none_while_the_service_has_them_open(here: Path) -> None:
    (here / "bin/systemctl").write_text("#!/bin/sh\nexit 0\n")
    assert "systemctl stop cmgr" in run(here, "--reset", "0000:3b:00.0").stderr
    assert "--gpu-reset" not in noted(here)


def test_it_is_shipped_and_the_page_names_its_place() -> None:
    rows = [line.split() for line in (SHIPPED / "contents").read_text().splitlines() if not line.startswith("#")]
    place = "usr/share/cmgr/trace-nvidia-reset"
    assert ["0755", "packaging/trace-nvidia-reset", place] in rows
    assert f"`/{place} --reset BUS`" in (PACKAGE.parent / "docs/nvml.md").read_text()
