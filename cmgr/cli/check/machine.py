"""Checks of the sources of the machine's own faults: which are asked, and why the others are not."""

import threading
from collections.abc import Iterator
from shutil import which
from typing import TYPE_CHECKING

from cmgr.cli.check.finding import OK, WARNING, Finding
from cmgr.config.settings import Config
from cmgr.config.sources import AUTO, wanted
from cmgr.host.act import PLAIN
from cmgr.host.host import unstarted
from cmgr.model.values.handling.policy import RebootWhen
from cmgr.sentences.sentence import say

if TYPE_CHECKING:
    from cmgr.view import shapes

DEAF_HINT = say("check.sources")


def sources(config: Config, told: "list[shapes.Source] | None") -> Iterator[Finding]:
    """Yield each source. `told`: how they do, as the service says; None where it does not run, and they are asked."""
    for source in _asked(config) if told is None else told:
        what, why = say("check.source", name=source["name"]), source["why"]
        if not source["on"]:
            missed = AUTO not in config.machine.sources
            yield Finding(what, WARNING if missed else OK, say("check.off", why=why), DEAF_HINT if missed else "")
        elif why:
            yield Finding(what, WARNING, why, DEAF_HINT)
        else:
            yield Finding(what, OK, say("check.on"))


def reboot(config: Config, pid: int, path: str = PLAIN["PATH"]) -> Iterator[Finding]:
    """Yield whether the service with this process can reboot the machine, where it is to."""
    if config.machine.reboot is RebootWhen.NEVER:
        return
    if which("shutdown", path=path) is None:
        yield Finding("reboot", WARNING, say("check.no-shutdown"), say("check.install-shutdown"))
    elif why := unstarted(config.systemd.bus, pid):
        yield Finding("reboot", WARNING, why, "systemctl --no-reload enable cmgr")
    else:
        text = say("check.reboot", when=config.machine.reboot, length=config.machine.reboot_delay)
        yield Finding("reboot", OK, text)


def _asked(config: Config) -> "list[shapes.Source]":
    """Ask every source once, side by side, as the service would."""
    from cmgr.drivers.machine.watch import MachineWatch, sources

    names = wanted(config.machine, config.driver)
    watch = MachineWatch(sources(config.machine, names), config.machine)
    threads = [threading.Thread(target=ask, daemon=True) for ask in watch.once()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(watch.patience)
    return [{"name": each.name, "on": not each.off, "why": each.off or each.deaf} for each in watch.states()]
