"""Every metric of cmgr: name, labels, what it says, and where its values come from, each said once.

Names and units are Prometheus' own way: base units, `_total` for what only grows, Unix times and not ages.
"""

from cmgr.service import metrics_samples as samples
from cmgr.service.metrics.chips import MEASURED
from cmgr.service.metrics.look import counter, gauge, histogram, one

SERVICE = (
    gauge("cmgr_build_info", "Always 1. Which cmgr it is.", samples.build, "version"),
    gauge("cmgr_service_state", "1 for the state that the service is in, else 0.", samples.state, "state"),
    gauge("cmgr_service_troubles", "What is wrong with the service, as cmgr status lists it.", samples.troubles),
    gauge("cmgr_strategy_info", "Always 1. The strategy in force.", samples.strategy, "strategy"),
    gauge("cmgr_observe", "Whether cmgr only observes: 1 or 0.", lambda look: one(look.node.policy.observe)),
    gauge("cmgr_maintenance", "Whether maintenance is on.", lambda look: one(bool(look.service["maintenance"]))),
    gauge(
        "cmgr_rings_kept_back",
        "Rings that wait for a person because of limits.",
        lambda look: one(len(look.node.restraint.kept)),
    ),
    gauge("cmgr_database_writable", "Whether the last save was written.", lambda look: one(look.writable)),
    counter("cmgr_bugs_total", "Decisions that met a bug of cmgr.", lambda look: one(look.bugs)),
)

SOURCES = (
    counter("cmgr_events_total", "What a source told on its own.", samples.events, "source"),
    gauge(
        "cmgr_last_event_timestamp_seconds",
        "When a source told something last; 0: not yet.",
        samples.last_event,
        "source",
    ),
    gauge(
        "cmgr_last_read_timestamp_seconds",
        "When the last whole read-out of a source was asked for that came; 0: none yet.",
        samples.last_read,
        "source",
    ),
    gauge("cmgr_runtime_up", "Whether the runtime answers.", samples.runtimes_up, "runtime"),
    gauge("cmgr_driver_troubles", "What is wrong with the driver as a whole.", lambda look: one(look.driver_troubles)),
    gauge("cmgr_queued_events", "Events that wait to be decided on.", lambda look: one(look.queued)),
    counter("cmgr_events_merged_total", "Fault events that said again what was queued.", lambda look: one(look.merged)),
    counter(
        "cmgr_events_dropped_total",
        "Fault events beyond what the queue takes of one chip; it is read instead.",
        lambda look: one(look.dropped),
    ),
)

CHIPS = (
    gauge("cmgr_chip_info", "Always 1. A chip, its ring and its model.", samples.chips, "chip", "ring", "model"),
    gauge("cmgr_chip_healthy", "Whether nothing known speaks against the chip.", samples.healthy, "chip"),
    gauge("cmgr_chip_isolated", "1 for the cause that isolates the chip, else 0.", samples.isolated, "chip", "cause"),
    gauge(
        "cmgr_faults_active",
        f"Active faults. Beyond {samples.MOST_CODES} of one chip the code is {samples.OTHER}.",
        samples.faults,
        *("chip", "code", "level"),
    ),
)

RINGS = (
    gauge("cmgr_ring_phase", "1 for the phase that the ring is in, else 0.", samples.phases, "ring", "phase"),
    gauge("cmgr_ring_episode_start_timestamp_seconds", "When its episode began; 0: none.", samples.began, "ring"),
    gauge(
        "cmgr_ring_resets_left", "Resets that are left before chips are isolated instead.", samples.resets_left, "ring"
    ),
    gauge("cmgr_ring_resets_limit", "Resets that a ring may have in reset.window.", samples.resets_limit, "ring"),
    gauge("cmgr_containers", "Containers that run on chips or are held.", samples.containers, "runtime", "status"),
    gauge(
        "cmgr_containers_given_up",
        "Containers that run on, unhealthy, after too many restarts; one that is down is failed in cmgr_containers.",
        samples.given_up,
        "runtime",
    ),
)

RECOVERIES = (
    counter("cmgr_episodes_total", "Episodes that are over, in all lives of the service.", samples.episodes, "outcome"),
    histogram(
        "cmgr_episode_duration_seconds",
        "From the first handled fault until nothing was left to do.",
        samples.recoveries,
        "outcome",
    ),
    histogram(
        "cmgr_reset_duration_seconds",
        "From the order until it was known what the reset did: chips booted and well, or not.",
        samples.resets,
        "result",
    ),
    histogram(
        "cmgr_stop_duration_seconds",
        "From the event that a container was stopped for until its runtime said that it was down.",
        samples.stops,
        "runtime",
    ),
    histogram(
        "cmgr_start_duration_seconds",
        "From the event that let a container be started until its runtime said that it ran.",
        samples.starts,
        "runtime",
    ),
    counter("cmgr_stops_failed_total", "Stops that did not work.", samples.stops_failed, "runtime"),
    counter("cmgr_starts_failed_total", "Starts that did not work.", samples.starts_failed, "runtime"),
    counter(
        "cmgr_heals_total",
        "Ailing containers that were restarted, that a chip's episode recovered, or that were given up.",
        samples.heals,
        "result",
    ),
)

METRICS = (*SERVICE, *SOURCES, *RINGS, *RECOVERIES, *CHIPS, *MEASURED)
