"""The surroundings of a service's recoveries: alarms, hooks and bundles, put together from the configuration.

Nothing of it decides anything, and a recovery goes on whatever becomes of it.
"""

import socket
from collections.abc import Callable, Iterable, Sequence

from cmgr.config import around as settings
from cmgr.config.settings import Config
from cmgr.errors import RuntimeDown
from cmgr.host.host import host_of
from cmgr.model.invariants import unsafe
from cmgr.model.values.chips import RingId
from cmgr.model.values.messages.commands import ResetRing, StartContainer
from cmgr.model.values.messages.facts import Remarked
from cmgr.model.values.node import rings_with
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import parts, say
from cmgr.service.extras.after_episode import Afterwards
from cmgr.service.extras.bundle_parts import Sources
from cmgr.service.extras.bundles import Bundles
from cmgr.service.extras.hooks import Hooks
from cmgr.service.extras.maker_reports import MakerReports, Making
from cmgr.service.log.setup import Log
from cmgr.service.notices.alarms import Alarm, Alarms
from cmgr.service.notices.channel import Channel
from cmgr.service.notices.sending import Receiver
from cmgr.service.part import Part, Step, degraded
from cmgr.service.work.around import Around
from cmgr.vendor import support

CLOSE_SECONDS = 2.0
"""How long the end of the service waits for alarms that have not been sent."""


class Surroundings(Part):
    """One life of them. All but what `around` has is called on the deciding thread."""

    def __init__(self, config: Config, sources: Sources, put: Callable[[Remarked], None], log: Log) -> None:
        self._config = config
        self._node, self._now = sources.node, sources.now
        self._log = log
        self._receivers: tuple[Receiver, ...] = ()
        self._alarms = Alarms(config.alarms, self._tell)
        self._bug = ""
        self._hooks = Hooks(config, sources.node, put)
        self._afterwards = Afterwards(self._hooks, sources.database, sources.node, log)
        self._bundles = Bundles(sources, lambda: self._config.bundles, put, log)
        making = Making(host_of(config.systemd.bus), lambda chips: support(sources.driver.name, chips).lost)
        self._reports = MakerReports(sources, making, lambda: self._config.bundles, put, log)

    @property
    def around(self) -> Around:
        """The functions that workers call around their orders."""
        hooks = self._hooks
        return Around(hooks.before_stop, self._before_reset, hooks.after_reset, self._before_start, test=hooks.test)

    def observe(self, step: Step) -> None:
        """Hear of what was decided."""
        self._reports.observe(step)
        for action in step.actions:
            if isinstance(action, ResetRing):
                self._bundles.save(action)
        for note in step.notes:
            if self._receivers and not self._bug:
                self._alarms.note(note)
            self._afterwards.note(note)

    def begin(self, own: Callable[[], Sequence[Trouble]]) -> None:
        """Begin to tell and to run things: when the state of the last life is loaded, and before anything happens.

        `own` returns what is wrong with the service.
        """
        self._own = own
        self._receivers = self._opened(self._config.alarms)
        self._afterwards.settle(self._now())
        self._reports.begin()

    def configure(self, config: Config) -> None:
        """Go on with another configuration. Alarms that wait for a receiver that stays as it is are kept."""
        if config.alarms != self._config.alarms:
            self._close_receivers(0)
            self._alarms = Alarms(config.alarms, self._tell)
            self._bug = ""
            self._receivers = self._opened(config.alarms)
        self._config = config
        self._hooks.configure(config)
        self._afterwards.settle(self._now())

    def look(self) -> None:
        """Tell what is new."""
        if not self._receivers or self._bug:
            return
        try:
            self._alarms.look(self._node(), self._own(), self._now())
        except Exception as error:
            # The deciding thread must outlive it: whoever recovers silently still recovers.
            self._bug = f"alarms met a bug, and are off: {type(error).__name__} {error}"
            self._log.bug("cannot look for alarms, which are off from now on: please report it", error)

    def troubles(self) -> Iterable[Trouble]:
        sending = (receiver.trouble() for receiver in self._receivers)
        if why := parts((self._bug, *sending)):
            yield degraded("alarms", say("trouble.alarms"), why)

    def close_hooks(self) -> None:
        """Cut short what runs, so that nobody waits for it any more."""
        self._hooks.close()
        self._reports.close()
        self._afterwards.close()

    def close(self) -> None:
        """Send what can still be sent. Blocks up to 2 s for each receiver, all at once."""
        self._close_receivers(CLOSE_SECONDS)

    def _before_reset(self, action: ResetRing) -> None:
        self._hooks.before_reset(action)
        self._reports.end(action)

    def _before_start(self, action: StartContainer) -> None:
        for ring in self._rings_of(action):
            self._bundles.wait(ring)
        self._hooks.before_start(action)
        # It takes its time, in which its chips may have become faulty.
        why = unsafe(self._node(), action)
        if why:
            raise RuntimeDown(f"cannot start container {action.name}: {why}")

    def _rings_of(self, action: StartContainer) -> list[RingId]:
        node = self._node()
        hold = node.holds.get(action.key)
        return [] if hold is None else [ring.id for ring in rings_with(node, hold.chips)]

    def _opened(self, alarms: settings.Alarms) -> tuple[Receiver, ...]:
        name, host, seconds = socket.gethostname(), host_of(self._config.systemd.bus), alarms.timeout.total_seconds()
        channels = (Channel(each, name, seconds, host) for each in alarms.receivers)
        return tuple(Receiver(channel, self._log) for channel in channels)

    def _close_receivers(self, seconds: float) -> None:
        for receiver in self._receivers:
            receiver.end()
        for receiver in self._receivers:
            receiver.close(seconds)

    def _tell(self, alarm: Alarm) -> None:
        for receiver in self._receivers:
            receiver.put(alarm)
