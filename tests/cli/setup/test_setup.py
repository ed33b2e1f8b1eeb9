"""`cmgr setup`: what it asks, what it writes, and that nothing is lost by it."""

import io
import os
import stat
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.cli.setup import dozen, whom, wizard
from cmgr.config.load import in_file, load
from cmgr.config.settings import Config
from cmgr.model.values.chips import UNCLEAR, ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say
from cmgr.store import open_store
from tests.cli.conftest import Home
from tests.cli.scenes import NOTES
from tests.config.support import written
from tests.config.template import template
from tests.config.test_template import uncommented
from tests.sentences.test_catalogs import HAN
from tests.support.picture import key, machine, running


@pytest.fixture
def seen(home: Home) -> Home:
    """The books of a service that runs no more: a on chips 0 and 1, b on chip 2, and a monitor that can reach all."""
    home.configure('strategy = "never"', "[sim]", "chips = 4", "ring = 2")
    store = open_store(home.database)
    store.save(with_monitor(), (), NOTES)
    store.close()
    return home


def with_monitor() -> Node:
    monitor = replace(running("monitor"), claims=frozenset({UNCLEAR}))
    return also(machine(), monitor)


def also(node: Node, *more: Container) -> Node:
    return replace(node, containers={**node.containers, **{c.key: c for c in more}})


class Typed(io.StringIO):
    """A terminal at which this is typed."""

    def isatty(self) -> bool:
        return True


def kept(home: Home) -> list[str]:
    """Return what the former files said."""
    return [path.read_text() for path in sorted(home.folder.glob("cmgr.toml.*"))]


def now(home: Home) -> Config:
    return load(str(home.config), environ={})


def test_it_takes_what_is_proposed_and_keeps_the_former_file(seen: Home) -> None:
    before, was = seen.config.read_text(), now(seen)
    told = seen.here("setup", "--yes")
    assert (told.code, told.err) == (0, "")
    assert "singleRecover, with the containers of now:\n- a fault on any of chips 0-1 stops a\n" in told.out
    assert "monitor: nobody knows which chips it uses" in told.out
    assert "the service does not run: cmgr run" in told.out
    assert now(seen) == replace(was, strategy=Strategy.SINGLE)
    assert kept(seen) == [before]
    assert {stat.S_IMODE(path.stat().st_mode) for path in seen.folder.glob("cmgr.toml*")} == {0o640}


def test_a_second_time_changes_nothing_and_keeps_no_second_file(seen: Home) -> None:
    words = ("setup", "--yes", "--ignore", "mon*", "--alarm", "http://a:1/x", "--alertmanager", "http://b:9093")
    assert seen.here(*words).code == 0
    first = seen.config.read_text()
    assert seen.here(*words).code == 0
    assert (seen.config.read_text(), len(kept(seen))) == (first, 1)
    assert [(each.url, each.format) for each in now(seen).alarms.receivers] == [
        ("http://a:1/x", "json"),
        ("http://b:9093", "alertmanager"),
    ]
    assert seen.here("setup", "--yes", "--ignore", "shell").code == 0
    assert now(seen).containers.ignore == ("mon*", "shell"), "one more, and none is lost"
    assert len(now(seen).alarms.receivers) == 2
    assert len(kept(seen)) == 2, "of one day, under two names"


def test_every_option_answers_its_question(seen: Home) -> None:
    more = ("--window", "Sat 02:00-04:00", "--window", "Sun", "--spares", "1", "--observe")
    assert seen.here("setup", "--yes", "--strategy", "ringRecover", *more).code == 0
    found = now(seen)
    assert (found.strategy, found.observe, found.spares.reserve) == (Strategy.RING, True, 1)
    assert [each.text for each in found.levels.FreeRestartNPU.window] == ["Sat 02:00-04:00", "Sun"]


def test_who_is_asked_can_answer_wrongly_and_is_asked_again(seen: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["ring", "ringRecover", "n", "y", "alert", "alertmanager", "http://a:9093", "Sat", "65", "1", "y"]
    monkeypatch.setattr("sys.stdin", Typed("\n".join([*answers, ""])))
    told = seen.here("setup")
    assert told.code == 0, told.err
    for strategy in Strategy:
        assert f"\n{strategy}:\n- a fault on " in told.out
    assert told.err.count("Error: must be ") == 3
    found = now(seen)
    assert (found.strategy, found.observe, found.spares.reserve) == (Strategy.RING, False, 1)
    assert found.containers.ignore == ("monitor",)
    assert "monitor" not in told.out.partition("with the containers of now:")[2].partition(" is to say:")[0]
    assert [(each.url, each.format) for each in found.alarms.receivers] == [("http://a:9093", "alertmanager")]
    assert [each.text for each in found.levels.FreeRestartNPU.window] == ["Sat"]


MAIL = "format=mail,url=smtps://mail.example,sender=cmgr@mail.example,to=a@mail.example,b@mail.example,every=10m"


def test_chats_and_mail_are_told_by_an_option(seen: Home) -> None:
    said = (
        MAIL,
        "format=wecom,url_file=/etc/cmgr/wecom.url",
        "http://a:1/x?a=b,c",
        "format=json,url=http://b/,events=up,events=down",
    )
    told = seen.here("setup", "--yes", *(word for each in said for word in ("--alarm", each)))
    assert told.code == 0, told.err
    mail, chat, plain, few = now(seen).alarms.receivers
    assert (mail.format, mail.url, mail.sender) == ("mail", "smtps://mail.example", "cmgr@mail.example")
    assert (mail.to, mail.every) == (("a@mail.example", "b@mail.example"), timedelta(minutes=10))
    assert (chat.format, chat.url_file) == ("wecom", "/etc/cmgr/wecom.url")
    assert (plain.format, plain.url, few.events) == ("json", "http://a:1/x?a=b,c", ("up", "down"))


def test_every_mistake_in_who_is_told_is_told(seen: Home) -> None:
    before = seen.config.read_text()
    wrong = ("format=mail,url=smtp://m,to=x", "format=pager,url=http://a/", "format=json,url=http://a/,colour=red")
    told = seen.here("setup", "--yes", *(word for each in wrong for word in ("--alarm", each)))
    assert told.code == 2
    for each in (
        'receivers[1].to = ["x"]',
        'receivers[2].format = "pager"',
        "receivers[3].colour (--alarm): there is no",
    ):
        assert each in told.err, told.err
    assert seen.config.read_text() == before
    told = seen.here("setup", "--yes", "--alarm", "format=mail,url=smtp://m,to=a@b")
    assert "alarms.receivers[1].sender: is missing; format mail needs it" in told.err


def test_chats_and_mail_are_asked_for_what_they_need(seen: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    mail = ["mail", "http://m", "cmgr", "cmgr@mail.example", "a@b,c@d", "n"]
    again = ["smtps://mail.example", "cmgr@mail.example", "a@b,c@d", "y", "cmgr", "/etc/cmgr/mail.password"]
    answers = ["never", "n", *mail, *again, "", "", "y"]
    monkeypatch.setattr("sys.stdin", Typed("\n".join([*answers, ""])))
    told = seen.here("setup")
    assert told.code == 0, told.err
    assert "alarms.receivers[1].url: format mail needs an address that begins with smtp://" in told.err
    (found,) = now(seen).alarms.receivers
    assert (found.url, found.to, found.secret_file) == (
        "smtps://mail.example",
        ("a@b", "c@d"),
        "/etc/cmgr/mail.password",
    )


def test_a_machine_without_a_runtime_is_set_up_and_told_that_the_service_waits(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.configure('strategy = "never"', f'docker.socket = "{tmp_path}/d"', f'containerd.address = "{tmp_path}/c"')
    home.config.write_text(home.config.read_text().replace('runtimes = ["sim"]', ""))
    monkeypatch.setattr(wizard, "DEFAULT_CONFIG", str(home.config))
    monkeypatch.setattr(wizard, "_BOOTED", tmp_path)
    monkeypatch.setattr(wizard, "_START", ("sh", "-c", f'echo "$@" >{tmp_path}/asked', "systemctl", "start", "cmgr"))
    told = home.here("setup", "--yes", "--strategy", "ringRecover")
    assert (told.code, told.err) == (0, "")
    assert f"it waits for a container runtime: there is no socket at {tmp_path}/d or" in " ".join(told.out.split())
    assert (tmp_path / "asked").read_text() == "start cmgr --no-block\n", "systemd goes on with it, nobody waits"
    assert now(home).strategy is Strategy.RING


def test_who_says_no_in_the_end_has_changed_nothing(seen: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen.config.read_text()
    monkeypatch.setattr("sys.stdin", Typed("\n\n\n\n\n\nn\n"))
    told = seen.here("setup")
    assert told.code == 1
    assert told.err.endswith("cmgr: nothing was done\n")
    assert (seen.config.read_text(), kept(seen)) == (before, [])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 1, "cannot set up: nobody can be asked\nhint: --yes takes what is proposed"),
        (("--yes", "--dry-run"), 0, ""),
        (("--dry-run",), 0, ""),
        (("--yes", "--strategy", "all"), 2, 'cannot set up: --strategy "all": must be never, singleRecover'),
        (("--yes", "--spares", "x", "--window", "y", "--alarm", "z"), 2, "cannot set up: 3 mistakes"),
    ],
)
def test_nothing_is_written_where_that_is_not_wanted(seen: Home, words: tuple[str, ...], code: int, said: str) -> None:
    before = seen.config.read_text()
    told = seen.here("setup", *words)
    assert told.code == code
    assert said in told.err
    assert "Traceback" not in told.err
    assert (seen.config.read_text(), kept(seen)) == (before, [])


def test_a_configuration_with_mistakes_is_told_and_left(seen: Home) -> None:
    seen.configure('strategy = "all"', "nonsense = 1")
    before = seen.config.read_text()
    told = seen.here("setup", "--yes")
    assert told.code == 1
    assert "nonsense" in told.err
    assert "strategy" in told.err
    assert (seen.config.read_text(), kept(seen)) == (before, [])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_who_may_not_write_hears_it_before_the_first_question(seen: Home) -> None:
    seen.folder.chmod(0o500)
    try:
        told = seen.here("setup", "--yes")
    finally:
        seen.folder.chmod(0o700)
    assert (told.code, told.out) == (1, "")
    assert "hint: sudo cmgr setup" in told.err


def test_without_a_file_a_dozen_lines_are_written(home: Home) -> None:
    home.config.unlink()
    told = home.here("setup", "--yes", "--strategy", "ringRecover", "--socket", str(home.socket))
    assert told.code == 0, told.err
    lines = [line for line in home.config.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 12
    assert now(home) == replace(Config(), strategy=Strategy.RING)
    assert kept(home) == []


def test_where_the_locale_is_chinese_so_are_the_comments_and_all_is_set_as_in_english(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("setup", "--yes", "--strategy", "ringRecover", "--socket", str(home.socket))
    home.config.unlink()
    assert home.here(*words).code == 0
    english, was = comments(home.config), now(home)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert home.here(*words).code == 0
    chinese = comments(home.config)
    assert now(home) == was
    assert [each for each in chinese if each in english] == [
        "#[[alarms.receivers]]",
        '#url = "https://alarms.example/cmgr"',
    ]
    assert all(HAN.search(each) for each in chinese if each not in english)
    assert len(chinese) == len(english) == 11
    assert home.here(*words).code == 0
    assert len(kept(home)) == 1, "of English"


def comments(file: Path) -> list[str]:
    return sorted(line[line.index("#") :] for line in file.read_text("utf-8").splitlines() if "#" in line)


def test_a_service_that_goes_by_another_file_is_told(service: Home) -> None:
    told = service.here("setup", "--yes", "--strategy", "ringRecover", "--observe")
    assert told.code == 1
    assert f"cannot say that the service goes by {service.config}" in told.err


def test_what_is_not_asked_for_stays_as_it_is_set(tmp_path: Path) -> None:
    """Every setting that there is, set."""
    whole = written(tmp_path / "whole.toml", uncommented(template()))
    again = written(tmp_path / "again.toml", dozen.text(in_file(str(whole))))
    assert load(again, environ={}) == load(whole, environ={})
    assert in_file(str(again)) == in_file(str(whole))


@pytest.mark.parametrize(
    "text",
    [
        "",
        'time_zone = "UTC"\n[[roles]]\nrole = "look"\ngroup = "a \\"b\\" #c"\n[containers]\nignore = ["a,b", "é"]',
        'alarms.receivers = [{ url = "http://a/b", events = ["up"] }]\nroles = []\nlog.max_size = 3',
        '[levels.FreeRestartNPU]\nwindow = ["Sat,Sun"]\nidle_at_most = ""\n[reset]\nboot_timeout = "2m"',
    ],
)
def test_so_it_stays_however_it_is_written(tmp_path: Path, text: str) -> None:
    first = written(tmp_path / "first.toml", text)
    again = written(tmp_path / "again.toml", dozen.text(in_file(str(first))))
    assert load(again, environ={}) == load(first, environ={})


def test_the_preview_says_whom_a_fault_would_stop() -> None:
    node = also(machine(), replace(running("c", 2, 3), auto_remove=True), replace(running("d", 3), enabled=False))
    assert whom.stopped(node, Strategy.NEVER) == [
        "a fault on any of chips 0-3 stops nobody",
        "a reset waits for a, b, c, d, without stopping them",
    ]
    assert whom.stopped(node, Strategy.RING) == [
        "a fault on any of chips 0-1 stops a",
        "a fault on any of chips 2-3 stops b",
        "a reset waits for c, d, without stopping them",
    ]
    assert whom.stopped(node, Strategy.SINGLE) == [
        "a fault on any of chips 0-1 stops a",
        "a fault on chip 2 stops b",
        "a fault on chip 3 stops nobody",
        "others on the ring of a faulty chip run on, and the reset waits for them; after 10 min they are stopped too",
        "a reset waits for c, d, without stopping them",
    ]
    assert whom.stopped(Node(), Strategy.RING) == whom.stopped(None, Strategy.RING) == [say("setup.none-known")]


def test_a_strategy_of_its_own_counts_for_a_container() -> None:
    node = also(machine(), replace(running("a", 0, 1), strategy=Strategy.NEVER))
    assert whom.stopped(node, Strategy.RING)[0] == "a fault on any of chips 0-1 stops nobody"
    assert "stops a" not in " ".join(whom.stopped(node, Strategy.RING))
    named = also(machine(), replace(running("a", 0, 1), strategy=Strategy.RING))
    assert "a fault on any of chips 0-1 stops a" in whom.stopped(named, Strategy.NEVER)


def test_the_whole_ring_is_proposed_where_one_service_has_it() -> None:
    assert whom.proposed(machine()) is Strategy.SINGLE, "b has half of its ring"
    whole = also(machine(), running("b", 2, 3))
    assert whom.proposed(whole) is Strategy.RING
    assert whom.proposed(also(whole, running("c", 3))) is Strategy.SINGLE
    assert whom.proposed(replace(machine(), containers={})) is Strategy.SINGLE


def test_who_can_reach_every_chip_beside_others_is_doubtful() -> None:
    every = running("exporter", 0, 1, 2, 3)
    assert [c.name for c in whom.doubtful(also(with_monitor(), every))] == ["monitor", "exporter"]
    only = replace(machine(), containers={key("exporter"): every})
    assert whom.doubtful(only) == [], "it is the machine's one service"
    assert {ChipId(n) for n in range(4)} == set(every.kept.chips)
