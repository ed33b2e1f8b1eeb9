"""`cmgr status`, `chips` and `faults` as the service writes them: the same words as the command line's own, or none."""

import io
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr import shortcut
from cmgr.cli import main, source
from cmgr.config.roles import Role
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import message, say
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.routes import LANG
from cmgr.view.status import Own
from tests.cli import scenes
from tests.cli.conftest import Home
from tests.support.door import NO_GROUP, Books, table

SCENES = (scenes.recovering, scenes.in_need, scenes.in_maintenance, scenes.waiting_for_a_window, scenes.slow, Node)

COMMANDS = (("status",), ("status", "--check"), ("chips",), ("faults",))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the time zone of this process."""

    def be(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield be
    monkeypatch.undo()
    time.tzset()


@contextmanager
def serving(home: Home, node: Node, own: Own = scenes.SERVICE) -> Iterator[Home]:
    server = ControlServer(home.socket, table(own, Books(lambda: node)), group=NO_GROUP)
    server.start()
    with closing(server):
        yield home


def both_ways(words: list[str], out: Callable[[], io.StringIO]) -> tuple[tuple[int | None, str], tuple[int, str]]:
    """Return exit code and text of the short way, and those of the long one."""
    with redirect_stdout(out()) as short:
        code = shortcut.shown(words)
    with redirect_stdout(out()) as long:
        usual = main(words)
    return (code, short.getvalue()), (usual, long.getvalue())


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize(
    ("columns", "named"), [(None, "UTC"), (80, "Asia/Shanghai"), (143, "America/St_Johns"), (40, "Etc/GMT+5")]
)
def test_both_ways_say_the_same(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    zone: Callable[[str], None],
    scene: Callable[[], Node],
    columns: int | None,
    named: str,
) -> None:
    zone(named)
    monkeypatch.setattr(source, "now", lambda: scenes.NOW)
    monkeypatch.setenv("COLUMNS", str(columns or ""))
    out = io.StringIO if columns is None else Terminal
    with serving(home, scene()):
        for words in COMMANDS:
            short, long = both_ways([*words, "--config", str(home.config)], out)
            assert short == long
            assert short[1]


@pytest.mark.parametrize(
    "wished", [{"LANG": "zh_CN.UTF-8"}, {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh"}, {"LANG": "C", "LC_ALL": "zh_TW"}]
)
def test_whoever_reads_chinese_is_told_in_chinese_why_a_ring_waits(
    home: Home, monkeypatch: pytest.MonkeyPatch, wished: dict[str, str]
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, locale in wished.items():
        monkeypatch.setenv(name, locale)
    monkeypatch.setattr(source, "now", lambda: scenes.NOW)
    node, stops = scenes.recovering(), say("ring.is-being-stopped", name="web")
    node = replace(node, rings={key: replace(ring, reason=stops) for key, ring in node.rings.items()})
    with serving(home, node):
        short, long = both_ways(["status", "--config", str(home.config)], io.StringIO)
        checked, _ = both_ways(["status", "--check", "--config", str(home.config)], io.StringIO)
        program = io.StringIO()
        with redirect_stdout(program):
            main(["status", "--json", "--config", str(home.config)])
    assert short == long
    assert short[1].startswith("异常：容器 a 停着")
    assert "正在停止 web" in short[1]
    assert checked[1].isascii()
    (ring, *_) = json.loads(program.getvalue())["rings"]
    assert (ring["reason"], ring["messages"]["reason"]) == (stops, message(stops))


@pytest.mark.parametrize("scene", SCENES)
def test_both_ways_say_the_same_in_chinese(
    home: Home, monkeypatch: pytest.MonkeyPatch, scene: Callable[[], Node]
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setattr(source, "now", lambda: scenes.NOW)
    with serving(home, scene()):
        for words in COMMANDS:
            short, long = both_ways([*words, "--config", str(home.config)], io.StringIO)
            assert short == long


def test_a_service_that_knows_no_languages_answers_in_english(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    older = [
        replace(route, args=tuple(arg for arg in route.args if arg != LANG)) if route.args else route
        for route in table(scenes.SERVICE, Books(scenes.recovering))
    ]
    server = ControlServer(home.socket, older, group=NO_GROUP)
    server.start()
    with closing(server):
        for words in COMMANDS:
            (short, _), (code, text) = both_ways([*words, "--config", str(home.config)], io.StringIO)
            checks = "--check" in words  # That is asked in English.
            assert (short, code) == ((4, 4) if checks else (None, 0))
            assert text
            assert "lang" not in text


def test_a_service_that_decides_nothing_has_its_exit_code(home: Home) -> None:
    with serving(home, scenes.recovering(), replace(scenes.SERVICE, state="hangs")):
        short, long = both_ways(["status", "--config", str(home.config)], io.StringIO)
    assert (short[0], long[0]) == (5, 5)


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_only_the_headline_has_a_colour(home: Home, monkeypatch: pytest.MonkeyPatch, colour: dict[str, str]) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in colour.items():
        monkeypatch.setenv(name, value)
    with serving(home, scenes.recovering()):
        (_, text), (_, long) = both_ways(["status", "--config", str(home.config)], Terminal)
    first, _, rest = text.partition("\n")
    assert first == long.partition("\n")[0]
    assert first.startswith("\x1b[1;31mnot well") != bool(colour)
    assert "\x1b" not in rest


class All(Roles):
    """Everybody has this role, root as well."""

    def __init__(self, role: Role) -> None:
        super().__init__()
        self._role = role

    def of(self, _uid: int, _groups: Collection[int]) -> Role:
        return self._role


@pytest.mark.parametrize(("role", "code"), [(Role.NONE, None), (Role.LOOK, 0)])
@pytest.mark.parametrize("command", ["status", "chips", "faults"])
def test_it_takes_the_role_to_look(home: Home, role: Role, code: int | None, command: str) -> None:
    server = ControlServer(home.socket, table(scenes.SERVICE, Books(scenes.recovering)), group=NO_GROUP)
    server.admit(All(role))
    server.start()
    with closing(server), redirect_stdout(io.StringIO()) as out:
        assert shortcut.shown([command, "--socket", str(home.socket)]) == code
    assert bool(out.getvalue()) == (code == 0)


@pytest.mark.parametrize(
    "words",
    [
        [], ["version"], ["status", "--watch"], ["status", "more"], ["status", "-o", "table"],
        ["status", "--json"], ["status", "-o", "json"], ["chips", "--json"], ["status", "--socket"],
        ["chips", "--available"], ["chips", "--check"], ["faults", "--all"], ["history"],
        ["status", "--socket", "relative.sock"], ["status", "--socket", "/nowhere/there.sock"],
        ["status", "--config", "/nowhere/there.toml"],
    ],
)  # fmt: skip
def test_whatever_is_not_as_usual_is_left_alone(home: Home, words: list[str]) -> None:
    with redirect_stdout(io.StringIO()) as out:
        assert shortcut.shown(words) is None
    assert not out.getvalue()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", shortcut.DEFAULT_SOCKET),
        ('#socket = "/a"\n  # the socket\n[docker]\n#socket = "/b"\n', shortcut.DEFAULT_SOCKET),
        ('driver = "sim"\r\nsocket="/a/b.sock"\r\n[docker]\r\ntimeout = "1s"\r\n', "/a/b.sock"),
        ('  socket  =  "/a"  \n', "/a"),
        ('socket = "/a" # why\n', None),
        ("socket = '/a'\n", None),
        ('socket = "a"\n', None),
        ('socket = "/\\u0061"\n', None),
        ('"\\u0073ocket" = "/a"\n', None),
        ('"socket" = "/a"\n', None),
        ('docker.socket = "/a"\n', shortcut.DEFAULT_SOCKET),
        ('[docker]\nsocket = "/a"\n', shortcut.DEFAULT_SOCKET),
        ('docker = {socket = "/a"}\nsocket = "/b"\nstate_dir = "/socket"\n', "/b"),
        ('socket = "/a"\n[docker]\nsocket = "/b"\n[podman]\nsocket = "/c"\n', "/a"),
        ('[[sim.containers]]\nname = "socket"\n', shortcut.DEFAULT_SOCKET),
        ('x = [\n[-inf]\n]\nsocket = "/a"\n', None),
        ('[docker] # ours\nsocket = "/a"\n', None),
        ('runtimes = [\n"docker"\n]\nsocket = "/a"\n', "/a"),
        ('x = [\n[true]\n, ["socket"]]\nsocket = "/a"\n', None),
        ('"docker".socket = "/a"\n', None),
        ('socket = "/a"\nsocket = "/b"\n', None),
        ('socket = "/a"\nx = """\nsocket\n"""\n', None),
        ("x = '''\nsocket = \"/a\"\n'''\n", None),
        ('\ufeffsocket = "/a"\n', None),
    ],
)
def test_the_socket_is_known_without_toml_where_it_stands_plainly(
    home: Home, monkeypatch: pytest.MonkeyPatch, text: str, found: str | None
) -> None:
    home.config.write_text(text, encoding="utf-8")
    tried: list[str] = []
    monkeypatch.setattr(shortcut, "_asked", lambda path, _: tried.append(path))
    shortcut.shown(["status", "--config", str(home.config)])
    assert tried == ([] if found is None else [found])
    if found is not None:
        # TOML says the same.
        assert source.socket_of(source.Asked(config=str(home.config))) == found


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o4640])
def test_a_configuration_that_others_can_reach_is_refused_by_the_command_line(home: Home, mode: int) -> None:
    home.config.chmod(mode)
    assert shortcut.shown(["status", "--config", str(home.config)]) is None
    link = home.folder / "link.toml"
    link.symlink_to(home.config)
    home.config.chmod(0o640)
    assert shortcut.shown(["status", "--config", str(link)]) is None


ANSWERS = (
    b"",
    b"garbage",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nall",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nall is well",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nall \x1b[2Jwe",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n\xff\n",
)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_is_none_is_not_shown(home: Home, answer: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listening, redirect_stdout(io.StringIO()) as out:
        listening.bind(str(home.socket))
        listening.listen()

        def once() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(4096)
                peer.sendall(answer)

        threading.Thread(target=once, daemon=True).start()
        assert shortcut.shown(["status", "--socket", str(home.socket)]) is None
    assert not out.getvalue()


def test_a_zone_that_only_the_c_library_knows_is_left_to_it(home: Home, zone: Callable[[str], None]) -> None:
    with serving(home, scenes.recovering()):
        for name in ("CET-1CEST,M3.5.0,M10.5.0/3", "CET-1CEST", "Nowhere/There", "../../etc/passwd", "Europe"):
            zone(name)
            assert shortcut.shown(["status", "--config", str(home.config)]) is None


LOADED = """
import sys
before = set(sys.modules)
from cmgr.shortcut import shown
code = shown(sys.argv[1:])
print(code, *sorted(set(sys.modules) - before), file=sys.stderr)
"""


def test_it_loads_nothing_but_itself_and_the_module_of_sockets(home: Home) -> None:
    folder = str(Path(shortcut.__file__).parents[1])
    with serving(home, scenes.recovering()):
        ended = subprocess.run(
            [sys.executable, "-ISc", f"import sys; sys.path.append({folder!r})\n{LOADED}", "status", "--config",
             str(home.config)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert ended.stdout.startswith("not well")
    assert set(ended.stderr.split()) <= {
        "0",
        "cmgr",
        "cmgr.shortcut",
        "_socket",
        "os",
        "stat",
        "posixpath",
        "genericpath",
        "_stat",
        "os.path",
        "_collections_abc",
        "abc",
        "_abc",
        "errno",  # Built in; from Python 3.13 on os brings it along.
        "io",  # Up to Python 3.13 it is there from the beginning.
    }


@pytest.mark.parametrize(
    ("text", "words", "environment", "told"),
    [
        ('driver = "dcmi"\nruntimes = ["sim"]\n', [], {}, True),
        ("# as it comes\n", [], {}, True),
        ('driver = "sim"\n', [], {}, False),
        ("# as it comes\n", ["--driver", "sim"], {}, False),
        ("# as it comes\n", [], {"CMGR_DRIVER": "sim"}, False),
        ("# as it comes\n", [], {"INVOCATION_ID": "7"}, False),
    ],
)
def test_it_shows_early_whether_a_child_of_the_service_drives_chips(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    words: list[str],
    environment: dict[str, str],
    *,
    told: bool,
) -> None:
    for name in ("CMGR_DRIVER", "INVOCATION_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "cmgr.toml"
    file.touch(mode=0o600)
    file.write_text(text)
    assert shortcut.drives(["--config", str(file), *words]) is told


def test_without_a_configuration_no_child_is_begun_early(tmp_path: Path) -> None:
    assert not shortcut.drives(["--config", str(tmp_path / "none.toml")])
