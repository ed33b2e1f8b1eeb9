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
from cmgr.errors import CmgrError, ContainerGone
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
from cmgr.sentences.sentence import chained, parts, say
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
            driver = say("back.cannot-ask", why=chained(error))
        for hold in sorted(node.holds.values(), key=lambda h: (h.order, h.name, h.key)):
            given = _one(node, hold, runtimes, driver)
            holds = {key: each for key, each in node.holds.items() if key != hold.key}
            if given.left:
                # A cmgr that is installed again goes on where this one has left off.
                holds[hold.key] = hold if hold.is_theirs else replace(hold, disarmed=False, attempt=Attempt())
            node = replace(node, holds=holds)
            text = say("back.going", told=[given.text, *filter(None, [given.left])])
            at, kind = datetime.now(UTC), NoteKind.HOLD
            note = Note(at, kind, text, episode=hold.episode, container=hold.key, name=hold.name)
            store.save(node, [], [note])
            yield given


def _one(node: Node, hold: Hold, runtimes: Mapping[str, Runtime], driver: ChipDriver | str) -> Given:
    runtime, name = runtimes.get(hold.key.runtime), hold.name
    if runtime is None:
        why: str = say("back.not-managed", runtime=hold.key.runtime)
        return Given(say("back.left-as-is", name=name), why)
    try:
        if hold.is_theirs:
            runtime.set_restart_policy(hold.key, hold.restart_policy)
            return Given(say("back.has-policy", name=name))
        why = _unwell(node, hold, driver)
        if not why:
            try:
                runtime.start(hold.key, hold.restart_policy, frozen=hold.frozen)
                return Given(say("back.runs", name=name))
            except ContainerGone:
                raise
            except CmgrError as error:
                why = chained(error)
        if hold.restart_policy == NO_RESTART:
            return Given(say("back.not-started", name=name), why)
        runtime.set_restart_policy(hold.key, hold.restart_policy)
        return Given(say("back.not-started-policy", name=name, policy=_shown(hold)), why)
    except ContainerGone:
        return Given(say("back.not-there", name=name))
    except CmgrError as error:
        policy = say("back.policy-was", policy=_shown(hold)) if hold.restart_policy != NO_RESTART else ""
        return Given(say("back.left-as-is", name=name), parts([chained(error), policy]))


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
        return say("back.isolated", chip=chip, reason=node.isolations[chip].reason)
    if report.error:
        return say("back.no-answer", chip=chip, why=report.error)
    if not report.booted:
        return say("back.not-booted", chip=chip)
    for fault in report.faults:
        level = node.catalog.judge(FaultCode(fault.code), severity_of(fault.severity)).level
        if level >= Level.RestartRequest and not node.policy.levels[level].observe:
            return say("back.reports", chip=chip, code=fault.code, level=level.name)
    return ""


def _shown(hold: Hold) -> str:
    """Return its restart policy as a person types it: `always`, `on-failure:7`."""
    return hold.restart_policy.removesuffix(":0")
