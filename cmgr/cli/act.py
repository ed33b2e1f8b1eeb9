"""The commands that let something happen: run, inject, drill, give-back."""

import json
import socket
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from cmgr import __version__, again
from cmgr.cli import source
from cmgr.cli.options import Common, argument, option
from cmgr.cli.source import misused
from cmgr.cli.text import out, progress
from cmgr.errors import CmgrError, sentence
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.service.door.client import get, order, restored, status
from cmgr.service.systemd import Notifier
from cmgr.words import one_line

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.view import shapes

MACHINE = "machine"
"""The word for the machine around the chips in the place of a chip's number."""

CHECK_SECONDS = 25.0
"""Shorter than whoever asks for it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(Common):
    driver: str | None = option("--driver NAME", "Overrides the setting driver.")
    runtime: list[str] | None = option(
        "--runtime NAME", "Overrides runtimes: auto, docker, containerd or sim; repeatable."
    )
    strategy: str | None = option("--strategy NAME", "Overrides strategy: never, singleRecover or ringRecover.")
    observe: bool | None = option("--observe/--no-observe", "Decide and record everything, and do nothing.")
    log_level: str | None = option("--log-level LEVEL", "Overrides log.level: trace to error.")

    def overrides(self) -> dict[str, object]:
        return {
            "driver": self.driver,
            "runtimes": tuple(self.runtime) if self.runtime else None,
            "strategy": self.strategy,
            "observe": self.observe,
            "log.level": self.log_level,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectOptions(Common):
    chip: str = argument("CHIP|machine", "The chip's physical id, or the machine.", complete="chips")
    code: str = argument("CODE", "The fault's code, such as 80E24E00.")
    part: str | None = option("--part NAME", "The part of the machine that has it: DIMM3.")
    clear: bool = option("--clear", "End the fault.", False)
    once: bool = option("--once", "A fault that passes at once.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillOptions(Common):
    chip: int = argument("CHIP", "The chip's physical id.", min=0, complete="chips")
    real: bool = option("--real", "Have the chip's own driver raise the fault; else its ring is reset by order.", False)
    length: str = option("--for TIME", "With --real: the fault ends by itself after that: 90s, 10m at most.", "60s")
    yes: bool = option("--yes -y", "Do not ask before it begins.", False)
    dry_run: bool = option("--dry-run", "Say what would happen, and do nothing.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveBackOptions(Common):
    """Nothing but what every command has."""


def run(options: RunOptions) -> int:
    """Run the service in the foreground.

    It ends on SIGTERM or Ctrl-C, and leaves the containers as they are.
    """

    def read() -> "Config":
        return source.configuration(options, options.overrides())

    try:
        config = read()
        # Only now: a configuration with mistakes is told at once.
        import faulthandler

        from cmgr.service.start import run as serve

        # The watchdog's SIGABRT: every thread says where it is.
        faulthandler.enable()
        return serve(config, read, lambda: _looked(options))
    except CmgrError as error:
        # `systemctl status` shows it until the next try; of the journal, that one's lines alone.
        Notifier().tell(f"STATUS={one_line(sentence(error))}")
        raise


def _looked(options: RunOptions) -> "shapes.Check":
    """Return what `cmgr check` finds, in a process of its own: it loads the driver's library once more."""
    import subprocess

    paths = {"--config": options.config, "--state-dir": options.state_dir, "--socket": options.socket}
    given = [word for name, path in paths.items() if path is not None for word in (name, str(path))]
    command = [*again.program(), "check", "--json", *given]
    try:
        ended = subprocess.run(command, capture_output=True, check=False, timeout=CHECK_SECONDS)  # noqa: S603
        found: shapes.Check = json.loads(ended.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise CmgrError(say("error.cannot-check"), hint="cmgr check") from error
    for each in found["findings"]:
        each["text"], each["hint"] = restored(each, "text"), restored(each, "hint")
    return found


def inject(options: InjectOptions) -> None:
    """Simulate a fault of a chip, or of the machine, for drills.

    The service takes it for real and acts on it. On real chips only with allow_injection = true.
    """
    from cmgr.model.values.faults import Assertion
    from cmgr.model.values.handling.catalog import FORMS, normal_code

    of_machine = options.chip == MACHINE
    if not of_machine and not (options.chip.isascii() and options.chip.isdigit()):
        raise misused(say("usage.no-chip-or-machine", text=repr(options.chip[:40]), machine=MACHINE))
    if options.part is not None and not of_machine:
        raise misused(say("usage.of-machine", option="--part", command=f"cmgr inject {MACHINE} CODE --part NAME"))
    if options.clear and options.once:
        raise misused(say("usage.exclude", names=["--clear", "--once"]))
    code = normal_code(options.code)
    if code is None:
        raise misused(say("usage.no-code", text=repr(options.code[:40]), forms=FORMS))
    assertion = Assertion.CLEARED if options.clear else Assertion.ONCE if options.once else Assertion.OCCURRED
    if of_machine:
        where: dict[str, object] = {"part": options.part} if options.part else {}
    else:
        where = {"chip": int(options.chip)}
    out.done(order(source.socket_of(options), "inject", **where, code=code, assertion=str(assertion)))


def drill(options: DrillOptions) -> int:
    """Practise a recovery of a chip's ring.

    Its containers are stopped, it is reset, and they are started. You are told before who is stopped and for how long,
    then see it happen, and get a verdict. With --real the chip's own driver raises a real fault, which breaks nothing,
    and ends with its reset, its time, or Ctrl-C.
    """
    path = source.socket_of(options)
    if options.real:
        _raise_fault(options, path)
        return 0
    args: dict[str, object] = {"chip": options.chip, "stop": True}
    told = cast("shapes.Preview", order(path, "reset", **args, preview=True))
    known = progress.episodes(path)
    long = _how_long(known, _ring_of(path, options.chip))
    if not _agreed(options, [*told["does"], long, say("drillcli.proves")]):
        return 0
    ordered = cast("shapes.ResetOrdered", order(path, "reset", **args))
    try:
        return _verdict(progress.episode(path, ordered["ring"], known), ordered)
    except KeyboardInterrupt:
        out.remark(say("drillcli.goes-on", chip=options.chip))
        raise


def _raise_fault(options: DrillOptions, path: str) -> None:
    seconds = source.length("--for", options.length).total_seconds()
    args: dict[str, object] = {"chip": options.chip, "seconds": seconds}
    told = cast("shapes.Preview", order(path, "drill", **args, preview=True))
    if not _agreed(options, told["does"]):
        return
    try:
        raised = order(path, "drill", **args)
        out.told([say("drillcli.is-raised", chip=options.chip, code=str(raised["code"]))])
        out.flush()
        while get(path, "drill")["chip"] == options.chip:
            time.sleep(progress.LOOK_EVERY)
    except KeyboardInterrupt:
        with suppress(CmgrError):  # It is over.
            order(path, "drill-end")
        raise
    out.told([say("drillcli.fault-over", chip=options.chip)])


def _agreed(options: DrillOptions, does: list[str]) -> bool:
    """Say what it does, and return whether it is to be done."""
    out.told([*does, *[say("order.dry-run", option="--dry-run")] * options.dry_run])
    if not options.yes and not options.dry_run:
        nobody = say("error.cannot-chip", do="drill", chip=options.chip, why=say("error.nobody-to-ask"))
        out.confirm(nobody, say("order.go-on"))
    return not options.dry_run


def _ring_of(path: str, chip: int) -> int:
    return next(each["ring"] for each in status(path)["chips"] if each["id"] == chip)


def _how_long(known: "list[shapes.Episode]", ring: int) -> str:
    took = next((e["seconds"] for e in known if e["ring"] == ring and e["outcome"] == "recovered"), None)
    if took is None:
        return say("drillcli.length-unknown")
    return say("drillcli.last-took", length=timedelta(seconds=took))


def _verdict(whole: "shapes.Timeline", ordered: "shapes.ResetOrdered") -> int:
    """Say what the drill has shown, in lines for a ticket."""
    episode, ring, chips = whole["episode"], ordered["ring"], ordered["chips"]
    passed = episode["outcome"] == "recovered"
    first = say("drillcli.passed", ring=ring, chips=chips)
    if not passed:
        first = say("drillcli.not-passed", ring=ring, chips=chips)
    out.headline(out.spoken(first), well=passed)
    about = say(
        "drillcli.episode",
        episode=episode["number"],
        machine=socket.gethostname(),
        version=__version__,
        outcome=episode["outcome"],
    )
    out.told(
        [
            about,
            *(_away(lane) for lane in whole["lanes"] if lane["kind"] == "container"),
            *[say("drillcli.what-to-type")] * (not passed),
        ]
    )
    return 0 if passed else 1


def _away(lane: "shapes.Lane") -> str:
    name, down = lane["name"], [each for each in lane["spans"] if each["state"] != "running"]
    if not down:
        return say("drillcli.no-moment", name=name)
    if (end := down[-1]["end"]) is None:
        return say("drillcli.all-the-time", name=name)
    return say("drillcli.was-away", name=name, length=timedelta(seconds=round(end - down[0]["start"], 1)))


def give_back(options: GiveBackOptions) -> int:
    """Give back what is held, before cmgr is removed.

    The service must be stopped. Each held container gets its restart policy back, and is started where its chips are
    well, and so are units that were stopped for a reset. The others are listed.
    """
    from cmgr.service.giving_back import give_back

    left = False
    for given in give_back(source.configuration(options)):
        left = left or bool(given.left)
        told = say("back.told", what=given.text, why=[given.left, given.advice]) if given.left else given.text
        out.lines([out.spoken(told)])
    return int(left)
