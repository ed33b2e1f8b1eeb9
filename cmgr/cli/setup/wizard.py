"""The command that asks what cmgr cannot find out, writes the configuration, and has the service go by it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.cli import source
from cmgr.cli.act import DrillOptions, drill
from cmgr.cli.migrate import put
from cmgr.cli.orders import ReloadOptions, reload
from cmgr.cli.setup import dozen, whom, wishes
from cmgr.cli.setup.wishes import Answers, SetupOptions
from cmgr.cli.text import out
from cmgr.config.load import CONFIG_VARIABLE, in_file, read_back
from cmgr.config.settings import Config
from cmgr.errors import CmgrError, ServiceDown, ServiceHangs
from cmgr.frozen import replace
from cmgr.model.values.chips import ChipId
from cmgr.runtimes import missing
from cmgr.sentences.sentence import language_of, say
from cmgr.service.door.client import status
from cmgr.shortcut import DEFAULT_CONFIG, locale

if TYPE_CHECKING:
    from cmgr.model.values.node import Node
    from cmgr.view import shapes

__all__ = ["SetupOptions", "setup"]

_BOOTED = Path("/run/systemd/system")
"""Is there where systemd runs (sd_booted(3))."""

_START = ("systemctl", "start", "cmgr")
_START_SECONDS = 60.0


def setup(options: SetupOptions) -> int:
    """Ask what cmgr cannot find out, and configure it.

    Shows what it sees, and whom a fault would stop under each strategy. Then it writes a dozen lines of configuration,
    keeps the former file beside it, has the service go by the new one, and offers a drill on chips that nobody uses. An
    option answers its question beforehand. All else stays as it is set.
    """
    path = Path(options.config or os.environ.get(CONFIG_VARIABLE) or DEFAULT_CONFIG).absolute()
    given = wishes.said(options)
    asks = not options.yes and sys.stdin.isatty()
    _possible(options, path, asks)
    before = in_file(str(path))
    config = source.configuration(options) if path.exists() else Config()
    node = _books(config)
    _show_what_is_seen(config)
    if asks:
        given |= wishes.typed(config, node, given)
    answers = _whole(before, {dozen.STRATEGY: str(wishes.proposed(config, node)), **given})
    text = dozen.text(answers, language_of(locale()))
    policy = read_back(text).policy()
    out.told(["", say("setup.with-containers", strategy=policy.strategy)])
    future = None if node is None else whom.under(node, policy)
    out.items(whom.stopped(future, policy.strategy))
    _show_what_is_written(path, answers)
    if options.dry_run:
        out.told([say("order.dry-run", option="--dry-run")])
        return 0
    if asks and not out.agreed(say("setup.write-that"), True):
        raise CmgrError(say("error.nothing-was-done"))
    _write(path, text)
    return _in_force(options, path, asks)


def _show_what_is_written(path: Path, answers: Answers) -> None:
    out.told(["", say("setup.is-to-say", path=str(path)), ""])
    asked = {key: answer for key, answer in answers.items() if key in dozen.ASKED}
    out.lines([*dozen.body(asked, language_of(locale())), ""])
    if rest := sorted(answers.keys() - dozen.ASKED.keys()):
        out.told([say("setup.as-now", names=rest), ""])


def _possible(options: SetupOptions, path: Path, asks: bool) -> None:
    """Raise `CmgrError` where nobody can be asked, or the file cannot be written: before the first question."""
    if not (asks or options.yes or options.dry_run):
        raise CmgrError(say("setup.nobody-to-ask"), hint=say("setup.take-proposed"))
    directory = str(path.parent)
    if not path.parent.is_dir():
        raise CmgrError(say("setup.no-directory", path=directory), hint=f"mkdir -p {directory}")
    if not os.access(path.parent, os.W_OK) and not options.dry_run:
        raise CmgrError(say("setup.not-writable", path=directory), hint="sudo cmgr setup")


def _books(config: Config) -> "Node | None":
    """Return what the service last knew of chips and containers; None where it has not run yet."""
    from cmgr.store.reader import open_reader

    try:
        with open_reader(source.database_of(config)) as database:
            return replace(database.node(), policy=config.policy())
    except (CmgrError, OSError):
        return None


def _show_what_is_seen(config: Config) -> None:
    from cmgr.cli.check.checks import findings
    from cmgr.cli.check.finding import OK, lines

    found = [f for f in findings(config) if f.what != "strategy"]
    shown = [f for f in found if f.state != OK or f.what == "driver" or f.what.startswith("runtime")]
    out.lines(lines(shown, out.width(), language_of(locale())))


def _whole(before: Answers, given: Answers) -> Answers:
    """Return all that the file is to set: lists of others grow, and are not replaced."""
    merged = {**before, **given}
    for key in (dozen.IGNORE, dozen.RECEIVERS):
        both = [each for of in (before, given) for each in _list(of.get(key))]
        merged[key] = [each for at, each in enumerate(both) if each not in both[:at]]
    return merged


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _write(path: Path, text: str) -> None:
    try:
        former = path.read_text("utf-8") if path.exists() else text
        if former != text:
            today = path.with_name(f"{path.name}.{source.now():%Y%m%d}")
            names = (today if n == 1 else today.with_name(f"{today.name}-{n}") for n in count(1))
            kept = next(name for name in names if not os.path.lexists(name))
            put(kept, former, force=False)
            out.told([say("setup.former-kept", path=str(path), kept=str(kept))])
        put(path, text, force=True)
    except OSError as error:
        raise CmgrError(say("setup.cannot-write", path=str(path), why=str(error.strerror))) from None
    out.told([say("setup.is-written", path=str(path))])


def _in_force(options: SetupOptions, path: Path, asks: bool) -> int:
    """Have the service go by the file, and return what the command ends with."""
    try:
        reload(ReloadOptions(config=options.config, state_dir=options.state_dir, socket=options.socket))
    except ServiceHangs:
        raise
    except ServiceDown:
        if str(path) != DEFAULT_CONFIG or not _BOOTED.exists():
            out.told([say("setup.does-not-run", path=str(path))])
            return 0
        if why := missing(source.configuration(options)):
            _start("--no-block")
            out.told([say("setup.waits-for-runtime", why=why), say("setup.next-runtime")])
            return 0
        _start()
    told, config = status(source.socket_of(options)), source.configuration(options)
    service = told["service"]
    if (service["strategy"], service["observe"]) != (config.strategy, config.observe):
        raise CmgrError(say("setup.other-strategy", path=str(path)), hint="systemctl cat cmgr")
    strategy = config.strategy
    out.told([say("setup.observes", strategy=strategy) if config.observe else say("setup.goes-by", strategy=strategy)])
    if config.alarms.receivers:
        out.told([say("setup.try-alarms")])
    if config.observe:
        out.told([say("setup.next-to-act")])
        return 0
    idle = _idle(told["chips"])
    if idle and asks and out.agreed(say("setup.drill-there", chips=idle), False):
        return drill(DrillOptions(config=options.config, socket=options.socket, chip=idle[0]))
    where = say("setup.drill-idle", chip=idle[0], chips=idle) if idle else say("setup.drill-a-ring")
    out.told([say("setup.next"), where])
    return 0


def _start(*more: str) -> None:
    out.told([say("setup.started")])
    out.flush()
    try:
        done = subprocess.run((*_START, *more), check=False, timeout=_START_SECONDS)  # noqa: S603 - by PATH
    except subprocess.TimeoutExpired:
        why: str = say("setup.not-up", length=timedelta(seconds=_START_SECONDS))
    except OSError as error:
        why = str(error.strerror)
    else:
        why = "" if done.returncode == 0 else say("setup.start-failed")
    if why:
        hint = "systemctl status cmgr; journalctl -u cmgr -e"
        raise CmgrError(say("setup.cannot-start", why=why), hint=hint)


def _idle(chips: "Sequence[shapes.Chip]") -> list[ChipId]:
    """Return the chips of the first ring of which nobody uses any, and all are well."""
    used = {chip["ring"] for chip in chips if not chip["available"]}
    first = next((chip["ring"] for chip in chips if chip["ring"] not in used), None)
    return [ChipId(chip["id"]) for chip in chips if chip["ring"] == first]
