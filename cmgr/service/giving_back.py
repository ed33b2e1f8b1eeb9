"""Giving back what is held, when cmgr is to go for good: by the command `give-back`, without a service.

Rules:
1. Nobody is left worse off than without cmgr: each held container has its restart policy back, and runs where its
   chips are well. The others are told, with what to type.
2. All that resets had taken away when the service was killed, such as units, is given back, too.
3. Holds that could not be given back stay in the database: a cmgr that is installed again goes on with it.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.drivers import open_begun
from cmgr.errors import CmgrError, ContainerGone, chain
from cmgr.frozen import replace
from cmgr.model.containers.absent import parted
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.faults import FaultCode, Level, severity_of
from cmgr.model.values.holds import Attempt, Hold
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node, brought_by_image, known_runtimes, units_known
from cmgr.model.values.services.containers import NO_RESTART
from cmgr.ports import ChipDriver, Runtime, Store
from cmgr.runtimes import open_runtimes, open_units
from cmgr.store import open_store
from cmgr.store.files import NAME
from cmgr.vendor import Given, vendors

BEGINS = 60.0
"""So many seconds a maker's library may take to begin: whoever removes cmgr does not wait for a dead chip."""


def give_back(config: Config) -> Iterator[Given]:
    """Give back one hold after the other, those first that are to start first; each is written when it is done. Then
    what drivers had taken away for resets.

    Blocks up to a minute for the chips' library, and up to two for each hold.
    Raises `StoreBusy` while the service runs, `StoreError`, `ConfigError`,
    `RuntimeDown` when there is no runtime at all.
    """
    path = Path(config.state_dir) / NAME
    if not path.exists():
        return
    with closing(open_store(path)) as store:
        yield from _holds(config, store)
        for vendor in vendors():
            yield from vendor.give_back(config, partial(open_units, config))


def _holds(config: Config, store: Store) -> Iterator[Given]:
    with ExitStack() as stack:
        node = replace(store.load(), policy=config.policy(), catalog=load_catalog(config))
        node = parted(node, {key.runtime for key in (*node.holds, *node.kept_holds)})
        if not node.holds:
            return
        runtimes = {
            runtime.name: runtime
            for runtime in open_runtimes(
                config, known_runtimes(node), lambda: units_known(node), partial(brought_by_image, node)
            )
        }
        for runtime in runtimes.values():
            stack.callback(runtime.close)
        driver: ChipDriver | str
        try:
            driver = open_begun(config, BEGINS)
            stack.callback(driver.close)
        except CmgrError as error:
            driver = f"its chips cannot be asked whether they are well: {chain(error)}"
        for hold in sorted(node.holds.values(), key=lambda h: (h.order, h.name, h.key)):
            given = _one(node, hold, runtimes, driver)
            holds = {key: each for key, each in node.holds.items() if key != hold.key}
            if given.left:
                # A cmgr that is installed again goes on where this one has left off.
                holds[hold.key] = hold if hold.is_theirs else replace(hold, disarmed=False, attempt=Attempt())
            node = replace(node, holds=holds)
            text = f"cmgr is going: {given.text}{given.left and f', {given.left}'}"
            at, kind = datetime.now(UTC), NoteKind.HOLD
            note = Note(at, kind, text, episode=hold.episode, container=hold.key, name=hold.name)
            store.save(node, [], [note])
            yield given


def _one(node: Node, hold: Hold, runtimes: Mapping[str, Runtime], driver: ChipDriver | str) -> Given:
    runtime = runtimes.get(hold.key.runtime)
    if runtime is None:
        return Given(hold.name, f"{hold.name} is left as it is", f"its runtime {hold.key.runtime} is not managed")
    try:
        if hold.is_theirs:
            runtime.set_restart_policy(hold.key, hold.restart_policy)
            return Given(hold.name, f"{hold.name} has its restart policy back")
        why = _unwell(node, hold, driver)
        if not why:
            try:
                runtime.start(hold.key, hold.restart_policy, frozen=hold.frozen)
                return Given(hold.name, f"{hold.name} runs")
            except ContainerGone:
                raise
            except CmgrError as error:
                why = chain(error)
        if hold.restart_policy == NO_RESTART:
            return Given(hold.name, f"{hold.name} is not started", why)
        runtime.set_restart_policy(hold.key, hold.restart_policy)
        return Given(hold.name, f"{hold.name} is not started, its restart policy {_shown(hold)} is back", why)
    except ContainerGone:
        return Given(hold.name, f"{hold.name} is not there any more")
    except CmgrError as error:
        policy = f"; its restart policy was {_shown(hold)}" if hold.restart_policy != NO_RESTART else ""
        return Given(hold.name, f"{hold.name} is left as it is", f"{chain(error)}{policy}")


def _unwell(node: Node, hold: Hold, driver: ChipDriver | str) -> str:
    """Return why the container is not to be started on its chips, or nothing."""
    if isinstance(driver, str):
        return driver
    for report in driver.read(sorted(hold.chips)):
        if why := _ill(node, report):
            return why
    return ""


def _ill(node: Node, report: ChipReport) -> str:
    chip: ChipId = report.chip
    if chip in node.isolations:
        return f"chip {chip} is isolated: {node.isolations[chip].reason}"
    if report.error:
        return f"chip {chip} does not answer: {report.error}"
    if not report.booted:
        return f"chip {chip} has not booted"
    for fault in report.faults:
        level = node.catalog.judge(FaultCode(fault.code), severity_of(fault.severity)).level
        if level >= Level.RestartRequest and not node.policy.levels[level].observe:
            return f"chip {chip} reports {fault.code} ({level.name})"
    return ""


def _shown(hold: Hold) -> str:
    """Return its restart policy as a person types it: `always`, `on-failure:7`."""
    return hold.restart_policy.removesuffix(":0")
