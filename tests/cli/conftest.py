"""A configuration, a service and a database for the command line."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from cmgr.cli import main
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.node import Node
from cmgr.service.door.routes import Request, number_of
from cmgr.store import open_store
from cmgr.store.files import NAME
from cmgr.view import status as view
from cmgr.view.one import about
from cmgr.words import stamp
from tests.cli.scenes import NOTES, NOW, SERVICE, recovering
from tests.support.door import door


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Home:
    """A place for one service. `cmgr` runs a command in this process, `program` in one of its own."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def config(self) -> Path:
        return self.folder / "cmgr.toml"

    @property
    def socket(self) -> Path:
        return self.folder / "cmgr.sock"

    @property
    def database(self) -> Path:
        return self.folder / "state" / NAME

    def cmgr(self, *words: str) -> Outcome:
        self.capture.readouterr()
        code = main(words)
        return Outcome(code, *self.capture.readouterr())

    def here(self, *words: str) -> Outcome:
        return self.cmgr(*words, "--config", str(self.config))

    def program(self, *words: str) -> Outcome:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CMGR_")}
        ended = subprocess.run(
            [sys.executable, "-m", "cmgr", *words], capture_output=True, text=True, env=environment, check=False
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def configure(self, *lines: str) -> None:
        fixed = ['driver = "sim"', 'runtimes = ["sim"]', 'metrics.listen = ""']
        paths = [f'state_dir = "{self.folder / "state"}"', f'socket = "{self.socket}"']
        self.config.touch(mode=0o600)
        self.config.write_text("\n".join([*fixed, *paths, *lines, ""]))


@pytest.fixture
def home(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A configuration, and neither service nor database."""
    for name in [name for name in os.environ if name.startswith("CMGR_")]:
        monkeypatch.delenv(name)
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="cmgr-cli-"))
    made = Home(folder, capsys)
    made.configure()
    yield made
    shutil.rmtree(folder)


Answer = Callable[[Request], Mapping[str, object]]


def answers(node: Node, asked: list[Request]) -> Answer:
    """Return what a service answers that has this state, and refuses to inject on chip 9."""

    def answer(request: Request) -> Mapping[str, object]:
        asked.append(request)
        match request.do:
            case "status":
                return view.status(node, SERVICE, NOW)
            case "chips":
                return {"chips": view.chips(node)}
            case "chip":
                return about.chip(node, ChipId(number_of(request, "chip")), about.Past([], [], []))
            case "container":
                (found,) = about.named(node, str(request.args["container"]))
                return about.container(node, found, about.Past([], [], []))
            case "faults":
                return view.faults(node)
            case "explain":
                return view.explain(str(request.args["code"]), Node(Policy(), load_catalog(Config())))
            case _:
                return ordered(request)

    return answer


def ordered(request: Request) -> Mapping[str, object]:
    """Return what a service answers that carries the order out; of chip 9 it knows nothing."""
    args, none = request.args, list[str]()
    if args.get("chip") == 9:
        raise DriverError("cannot inject: there is no chip 9", hint="cmgr chips lists them")
    of_ring = {"ring": 0, "chips": [0, 1], "containers": none, "left": none}
    known: Mapping[str, Mapping[str, object]] = {
        "release": {"isolated": False, "reason": ""},
        "reset": of_ring,
        "test": of_ring,
        "cancel": {**of_ring, "containers": ["b"]},
        "resume": {"rings": none, "containers": none},
    }
    meant = args.get("chip", args.get("container", ""))
    return {**args, **known.get(request.do, {}), "did": [f"{meant}: did {request.do} at {stamp(NOW)}"]}


@pytest.fixture
def asked() -> list[Request]:
    """The requests that the service got."""
    return []


@pytest.fixture
def service(home: Home, asked: list[Request]) -> Iterator[Home]:
    """A service that answers."""
    server = door(home.socket, answers(recovering(), asked))
    server.start()
    with closing(server):
        yield home


@pytest.fixture
def database(home: Home) -> Home:
    """The database of a service that is not running."""
    with closing(open_store(home.database)) as store:
        store.save(recovering(), (), NOTES)
    return home
