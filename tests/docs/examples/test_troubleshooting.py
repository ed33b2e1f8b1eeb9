"""docs/troubleshooting.md: what it quotes cmgr really says.

A quote is fenced **`so`**, and `…` in it stands for what differs. Either each of its pieces is a text of the source, or
a run below has cmgr say it.
"""

import ast
import json
import re
import shutil
import socket
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.sentences.sentence import ENGLISH, catalog, pieces
from tests.support.service import NOW, Service

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "troubleshooting.md"
QUOTES = re.findall(r"\*\*`(.+?)`\*\*", PAGE.read_text())

LEAST = 25
"""So many symptoms at least a page of use has."""


def literals() -> Iterator[str]:
    """Yield every text of the source and of the English catalog."""
    yield from (text for id_ in catalog(ENGLISH) for text, _, _ in pieces(ENGLISH, id_))
    for module in (ROOT / "cmgr").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def is_literal(quote: str, known: frozenset[str]) -> bool:
    pieces = [piece.strip() for piece in quote.split("…") if piece.strip()]
    long_enough = sum(map(len, pieces)) >= 8
    return long_enough and all(any(piece in text for text in known) for piece in pieces)


def says(text: str, quote: str) -> bool:
    pattern = ".+?".join(re.escape(piece) for piece in " ".join(quote.split()).split("…"))
    return re.search(pattern, " ".join(text.split())) is not None


def wide(service: Service) -> str:
    service.config.chmod(0o666)
    return service.refused().err


def no_library(service: Service) -> str:
    service.configure({"driver": "dcmi"})
    return service.cmgr("check").out


def no_such_library(service: Service) -> str:
    service.configure({"driver": "dcmi", "dcmi.library": str(service.folder / "libdcmi.so")})
    return service.cmgr("check").out


def no_chips(service: Service) -> str:
    service.configure({"driver": "dcmi", "dcmi.library": str(service.folder / "libdcmi.so")})
    service.launch()
    service.until_said("no chip is watched")
    return service.cmgr("status").out


def foreign_database(service: Service) -> str:
    service.database.parent.mkdir(mode=0o750)
    with closing(sqlite3.connect(service.database)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    service.database.chmod(0o640)
    return service.refused().err


def newer_database(service: Service) -> str:
    service.start()
    service.terminate()
    with closing(sqlite3.connect(service.database)) as connection, connection:
        connection.execute("UPDATE meta SET level = level + 1")
    return service.refused().err


def rules(service: Service) -> str:
    path = service.folder / "rules.json"
    path.touch(mode=0o640)
    path.write_text(json.dumps({"FaultFrequency": [{"EventId": ["80E18005"], "Times": 0}]}))
    service.configure({"faults.rules": str(path)})
    return service.refused().err


def second(service: Service) -> str:
    service.start()
    return service.refused().err


def nobody(service: Service) -> str:
    return service.cmgr("release", "1").err


def port(service: Service) -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        service.configure({"metrics.listen": f"127.0.0.1:{taken.getsockname()[1]}"})
        service.start()
        service.until_said("cannot serve metrics")
        return service.cmgr("status").out


def mates(service: Service) -> str:
    service.configure({"strategy": "singleRecover"})
    service.pretend("chat")
    service.start()
    service.inject(1)
    service.until_reason("waits for")
    return service.cmgr("status").out


def turns(service: Service) -> str:
    service.configure({"sim.reset_time": "20s"})
    service.start()
    service.inject(0)
    service.until_phase("resetting")
    service.inject(4)
    return service.until_reason("at once", ring=4)


def maintenance(service: Service) -> str:
    service.start()
    assert service.cmgr("maintenance", "on", "--for", "1h").code == 0
    return service.cmgr("status").out + service.cmgr("reset", "0").err


def never(service: Service) -> str:
    service.configure({"strategy": "never", "observe": False})
    return service.cmgr("check").out


def reload(service: Service) -> str:
    service.start()
    service.configure({"strategy": "always"})
    assert service.cmgr("reload").code == 1
    service.until_said("the configuration stays as it was")
    return service.said()


def hook(service: Service) -> str:
    folder = service.folder / "hooks.d"
    folder.mkdir()
    (folder / "before_reset").write_text("#!/bin/sh\nexit 1\n")
    (folder / "before_reset").chmod(0o775)
    service.configure({"hooks.dir": str(folder)})
    service.start()
    service.inject(1, NOW)
    return service.until_reason("is not run") + service.cmgr("check").out


RUNS: dict[Callable[[Service], str], tuple[str, ...]] = {
    wide: ("cannot use …: its mode … is wider than 0640",),
    no_library: ("cannot find libdcmi.so in LD_LIBRARY_PATH, the loader's cache, or the usual places",),
    no_such_library: ("cannot load libdcmi.so: …",),
    no_chips: ("the chips are not known yet, and none is watched: …",),
    foreign_database: ("cannot use …: it is another program's database",),
    newer_database: ("cannot use …: written by cmgr …",),
    rules: ("cannot use the rules …",),
    second: ("cannot listen on …: another service listens there",),
    nobody: ("cannot reach the service: nobody listens on …",),
    port: ("cannot serve metrics on …: Address already in use",),
    mates: ("the reset of … waits for … (not on a faulty chip; strategy ringRecover would stop it)",),
    turns: ("ring … is being reset; … at once",),
    maintenance: ("cmgr is in maintenance", "maintenance until …: nothing is done"),
    never: ("strategy = never: no container is stopped or started",),
    reload: ("cannot use the configuration: …", "the configuration stays as it was"),
    hook: ("nothing was reset: …", "is not run: …"),
}


@pytest.fixture
def service() -> Iterator[Service]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-trouble-"))
    made = Service(folder, {})
    yield made
    made.close()
    shutil.rmtree(folder)


@pytest.mark.alone
@pytest.mark.parametrize("scene", RUNS, ids=lambda scene: str(scene.__name__))
def test_what_the_page_quotes_is_said(service: Service, scene: Callable[[Service], str]) -> None:
    said = scene(service)
    for quote in RUNS[scene]:
        assert quote in QUOTES
        assert says(said, quote), said


def test_each_quote_is_a_text_of_the_source_or_said_in_a_run() -> None:
    known, run = frozenset(literals()), {quote for quotes in RUNS.values() for quote in quotes}
    assert [quote for quote in QUOTES if quote not in run and not is_literal(quote, known)] == []


def test_no_symptom_stands_twice_and_there_are_enough() -> None:
    assert len(set(QUOTES)) == len(QUOTES) >= LEAST


def test_a_quote_that_cmgr_does_not_say_is_found_out() -> None:
    known = frozenset(["cannot read ", ": it is empty"])
    assert is_literal("cannot read …: it is empty", known)
    assert not is_literal("cannot read …: it is full", known)
    assert not is_literal("…", known)
    assert says("cannot read\n  a.toml: it is empty", "cannot read …: it is empty")
    assert not says("cannot read a.toml", "cannot read …: it is empty")
