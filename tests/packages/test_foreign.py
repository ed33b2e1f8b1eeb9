"""The package for the other architecture runs: emulated, as no machine of that kind is at hand."""

import json
from collections.abc import Callable, Iterator, Mapping

import pytest

from cmgr import __version__
from tests.fakes.dcmi.build import CannotBuild, Workshop
from tests.packages import dists
from tests.packages.conftest import cannot
from tests.packages.machines.emulator import FOREIGN, INSTALLED, LARGEST_PAGES, Chips, Emulator, compiler
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.daemon import CannotRun
from tests.support.service import NOW, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install, containers, folder, install
from tests.system.containers import Containers, Spec
from tests.system.tasks import Tasks

__all__ = ["containers", "folder", "install"]

ONE_BY_ONE = """
import importlib, json, sys
sys.path.append("/usr/lib/cmgr/lib")
found = {name: importlib.import_module(name).__file__ for name in %r}
print(json.dumps(found))
"""

ON_CONTAINERD: Mapping[str, Setting] = {"driver": "dcmi", "runtimes": ["containerd"]}
ON_DOCKER: Mapping[str, Setting] = {"driver": "dcmi", "runtimes": ["docker"]}


@pytest.fixture
def foreign(install: Install, emulator: Emulator) -> Install:
    """Install services of the other architecture's package."""

    def made(settings: Mapping[str, Setting]) -> Service:
        service = install(settings)
        service.python, service.program = emulator.python, emulator.program
        return service

    return made


def start_once_more(service: Service, emulator: Emulator, *pages: str) -> None:
    """Start a service of real chips, which starts the process that drives them."""
    words, environment = emulator.once_more(*pages)
    service.python, service.program = words, ()
    service.start(environment)


def recovered(service: Service) -> None:
    service.until_said("is over: recovered")
    service.until_over()


def test_every_compiled_module_is_loaded_and_none_in_its_place(emulator: Emulator) -> None:
    """Some have a twin in Python, which would be taken without a word."""
    lib = emulator.tree / "usr/lib/cmgr/lib"
    files = [path.relative_to(lib) for path in lib.rglob("*.so")]
    assert len(files) > 5
    wanted = {
        ".".join((*path.parent.parts, path.name.partition(".")[0])): str(INSTALLED / "lib" / path) for path in files
    }
    assert dists.answer(emulator.python, ONE_BY_ONE % list(wanted)) == wanted


def test_every_module_of_cmgr_is_loaded(emulator: Emulator) -> None:
    lib = emulator.tree / "usr/lib/cmgr/lib"
    files = [p.relative_to(lib) for p in (lib / "cmgr").rglob("*.py") if p.name not in ("__main__.py", "__init__.py")]
    wanted = {".".join(path.with_suffix("").parts): str(INSTALLED / "lib" / path) for path in files}
    assert dists.answer(emulator.python, ONE_BY_ONE % list(wanted)) == wanted


def test_it_says_its_version(emulator: Emulator) -> None:
    assert dists.said(*emulator.python, *emulator.program, "--version") == f"cmgr {__version__}\n"


def test_it_checks_what_it_needs(foreign: Install) -> None:
    told = foreign({}).cmgr("check", "-o", "json")
    assert told.code == 0, told
    findings = {row["what"]: row["state"] for row in json.loads(told.out)["findings"]}
    assert findings["driver"] == findings["database"] == "ok"


def test_an_episode_goes_on_after_a_kill_in_its_midst(foreign: Install) -> None:
    service = foreign({"sim.reset_time": "3s"})
    service.pretend("llm-0", "llm-1")
    service.start()
    told = service.cmgr("inject", "0", NOW)
    assert told.code == 0, told
    service.until_phase("resetting")
    service.kill9()
    service.start()
    recovered(service)
    # A reset that was under way is not ordered once more.
    assert [(r.chips, r.outcome) for r in service.resets()] == [((0, 1, 2, 3), "taken")]
    shown = json.loads(service.cmgr("status", "-o", "json").out)
    assert {c["name"]: c["status"] for c in shown["containers"]} == {"llm-0": "running", "llm-1": "running"}
    service.terminate()
    history = json.loads(service.cmgr("history", "-o", "json").out)
    assert [row["outcome"] for row in history["episodes"]] == ["recovered"]
    assert [row.outcome for row in service.episodes()] == ["recovered"]


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Compiles the stand-in for the other architecture."""
    try:
        made = Workshop(compiler(tmp_path_factory.mktemp("zig")))
    except (CannotBuild, CannotRun) as why:
        cannot("compiler for the other architecture", why)
    yield made
    made.close()


@pytest.fixture
def chips(emulator: Emulator, workshop: Workshop) -> Callable[[str], Chips]:
    """Make a machine of eight Ascend chips behind a library of that family."""

    def made(family: str) -> Chips:
        return Chips(emulator, workshop.place(family), family)

    return made


@pytest.fixture
def paged(emulator: Emulator) -> tuple[str, ...]:
    """Words that make the emulator's kernel one with large pages. No emulator after 8 can."""
    try:
        return emulator.with_pages(LARGEST_PAGES[FOREIGN])
    except CannotRun as why:
        pytest.skip(str(why))


@pytest.fixture
def tasks(containerd: Containerd) -> Iterator[Tasks]:
    made = Tasks(containerd)
    yield made
    made.close()


def test_ascend_chips_and_containers_of_containerd(
    foreign: Install, emulator: Emulator, chips: Callable[[str], Chips], tasks: Tasks
) -> None:
    machine = chips("one")
    service = foreign(
        {**ON_CONTAINERD, "containerd.address": tasks.containerd.socket, "dcmi.library": str(machine.library)}
    )
    tasks.run(Spec("web-1", "1"), Spec("web-2", "2"))
    start_once_more(service, emulator)
    machine.fault(2)
    recovered(service)
    eventually(lambda: (tasks.lives("web-1"), tasks.lives("web-2")) == (2, 2))
    assert machine.resets() == [(2, 0)]


def test_ascend_chips_and_containers_of_docker_on_large_pages(
    foreign: Install, emulator: Emulator, chips: Callable[[str], Chips], containers: Containers, paged: tuple[str, ...]
) -> None:
    """libffi makes callbacks in another way there, and SQLite maps its shared memory in another."""
    machine = chips("two")
    service = foreign({**ON_DOCKER, "docker.socket": containers.dockerd.socket, "dcmi.library": str(machine.library)})
    containers.run(Spec("web-1", "1"), Spec("web-2", "2"))
    machine.occupy(2, containers.pid("web-2"))
    start_once_more(service, emulator, *paged)
    machine.fault(2)
    recovered(service)
    assert (containers.was_restarted("web-1"), containers.was_restarted("web-2")) == (False, True)
    assert machine.resets() == [(2, 0)]
