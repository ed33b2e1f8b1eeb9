"""The command that asks what cmgr cannot find out, writes the configuration, and has the service go by it."""

import os
import subprocess
import sys
from collections.abc import Sequence
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
from cmgr.model.values.chips import ChipId, listed
from cmgr.runtimes import missing
from cmgr.service.door.client import status
from cmgr.shortcut import DEFAULT_CONFIG

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
    text = dozen.text(answers)
    policy = read_back(text).policy()
    out.told(["", f"{policy.strategy}, with the containers of now:"])
    future = None if node is None else whom.under(node, policy)
    out.told(f"- {sentence}" for sentence in whom.stopped(future, policy.strategy))
    out.lines(["", f"{path} is to say:", "", *dozen.body({k: v for k, v in answers.items() if k in dozen.ASKED}), ""])
    if rest := sorted(answers.keys() - dozen.ASKED.keys()):
        out.told([f"and as it does now: {', '.join(rest)}", ""])
    if options.dry_run:
        out.told(["nothing was done: --dry-run"])
        return 0
    if asks and not out.agreed("Write that?", True):
        raise CmgrError("nothing was done")
    _write(path, text)
    return _in_force(options, path, asks)


def _possible(options: SetupOptions, path: Path, asks: bool) -> None:
    """Raise `CmgrError` where nobody can be asked, or the file cannot be written: before the first question."""
    if not (asks or options.yes or options.dry_run):
        hint = "--yes takes what is proposed; cmgr setup --help has an option for each question"
        raise CmgrError("cannot set up: nobody can be asked", hint=hint)
    if not path.parent.is_dir():
        raise CmgrError(f"cannot set up: there is no directory {path.parent}", hint=f"mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK) and not options.dry_run:
        raise CmgrError(f"cannot set up: you may not write in {path.parent}", hint="sudo cmgr setup")


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
    out.lines(lines(shown, out.width()))


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
        former = path.read_text() if path.exists() else text
        if former != text:
            today = path.with_name(f"{path.name}.{source.now():%Y%m%d}")
            names = (today if n == 1 else today.with_name(f"{today.name}-{n}") for n in count(1))
            kept = next(name for name in names if not os.path.lexists(name))
            put(kept, former, force=False)
            out.told([f"{path} as it was is kept as {kept}"])
        put(path, text, force=True)
    except OSError as error:
        raise CmgrError(f"cannot write {path}: {error.strerror}") from None
    out.told([f"{path} is written"])


def _in_force(options: SetupOptions, path: Path, asks: bool) -> int:
    """Have the service go by the file, and return what the command ends with."""
    try:
        reload(ReloadOptions(config=options.config, state_dir=options.state_dir, socket=options.socket))
    except ServiceHangs:
        raise
    except ServiceDown:
        if str(path) != DEFAULT_CONFIG or not _BOOTED.exists():
            out.told([f"the service does not run: cmgr run --config {path} starts it in the foreground"])
            return 0
        if why := missing(source.configuration(options)):
            _start("--no-block")
            out.told([f"it waits for a container runtime: {why}", "next: install or start one; cmgr status"])
            return 0
        _start()
    told, config = status(source.socket_of(options)), source.configuration(options)
    service = told["service"]
    if (service["strategy"], service["observe"]) != (config.strategy, config.observe):
        raise CmgrError(
            f"cannot say that the service goes by {path}: it has another strategy", hint="systemctl cat cmgr"
        )
    out.told([f"the service goes by it: strategy {config.strategy}{', and only observes' if config.observe else ''}"])
    if config.alarms.receivers:
        out.told(["to try who is told: cmgr alarms --test"])
    if config.observe:
        out.told(["next: cmgr status; cmgr setup --no-observe when it is to act"])
        return 0
    idle = _idle(told["chips"])
    if idle and asks and out.agreed(f"Nobody uses {listed(idle)}. Drill there: reset them, and stop nobody?", False):
        return drill(DrillOptions(config=options.config, socket=options.socket, chip=idle[0]))
    where = (
        f"{idle[0]}: nobody uses {listed(idle)}" if idle else "CHIP, on a ring whose containers can be away for minutes"
    )
    out.told(["next: cmgr status", f"to see a recovery: cmgr drill {where}"])
    return 0


def _start(*more: str) -> None:
    out.told(["the service is started"])
    out.flush()
    try:
        done = subprocess.run((*_START, *more), check=False, timeout=_START_SECONDS)  # noqa: S603 - by PATH
    except subprocess.TimeoutExpired:
        why = f"it is not up after {_START_SECONDS:.0f} s"
    except OSError as error:
        why = str(error.strerror)
    else:
        why = "" if done.returncode == 0 else "systemctl start cmgr failed"
    if why:
        raise CmgrError(f"cannot start the service: {why}", hint="systemctl status cmgr; journalctl -u cmgr -e")


def _idle(chips: "Sequence[shapes.Chip]") -> list[ChipId]:
    """Return the chips of the first ring of which nobody uses any, and all are well."""
    used = {chip["ring"] for chip in chips if not chip["available"]}
    first = next((chip["ring"] for chip in chips if chip["ring"] not in used), None)
    return [ChipId(chip["id"]) for chip in chips if chip["ring"] == first]
