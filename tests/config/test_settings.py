import tomllib
from datetime import timedelta

from cmgr.config.kinds import Rows
from cmgr.config.schema import sections, settings, values
from cmgr.config.settings import Config
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.policy import (
    IsolationPolicy,
    LevelPolicy,
    Levels,
    OnIsolate,
    Policy,
    ResetPolicy,
    RetryPolicy,
    Strategy,
)

FIXED = {
    "strategy": '"never"',
    "observe": "false",
    "driver": '"auto"',
    "runtimes": '["auto"]',
    "state_dir": '"/var/lib/cmgr"',
    "socket": '"/run/cmgr/cmgr.sock"',
    "docker.socket": '"/run/docker.sock"',
    "containerd.address": '"/run/containerd/containerd.sock"',
    "dcmi.library": '""',
    "sim.chips": "8",
    "faults.file": '""',
    "faults.mode": '"merge"',
    "faults.unknown": '"severity"',
    "levels.RestartRequest.stop_after": '"0s"',
    "levels.RestartRequest.reset_after": '"60s"',
    "reset.attempts": "3",
    "reset.window": '"6h"',
    "reset.boot_timeout": '""',
    "isolation.on_isolate": '"leave"',
    "isolation.release_after": '"300s"',
    "metrics.listen": '"127.0.0.1:9477"',
    "log.level": '"info"',
    "log.file": '""',
}


def test_the_names_and_defaults_that_others_script_against_are_there() -> None:
    known = settings()
    assert {key: known[key].kind.show(known[key].default) for key in FIXED} == FIXED


def test_the_default_policy_is_that_of_the_model() -> None:
    assert Config().policy() == Policy()


def test_every_setting_of_the_policy_is_carried_over() -> None:
    second, minute = timedelta(seconds=1), timedelta(minutes=1)
    config = Config(
        strategy=Strategy.RING,
        observe=True,
        levels=Levels(RestartNPU=LevelPolicy(False, second, False, minute)),
        reset=ResetPolicy(7, minute, second, minute, second, 2, minute),
        isolation=IsolationPolicy(OnIsolate.STOP, minute),
        retry=RetryPolicy(9, second, minute),
    )
    policy = config.policy()
    assert policy.strategy is Strategy.RING
    assert policy.observe
    assert policy.levels[Level.RestartNPU] == LevelPolicy(False, second, False, minute)
    assert policy.levels[Level.RestartRequest] == Policy().levels[Level.RestartRequest]
    assert policy.levels[Level.SeparateNPU] == Policy().levels[Level.SeparateNPU]
    assert policy.reset == ResetPolicy(7, minute, second, minute, second, 2, minute)
    assert policy.isolation == IsolationPolicy(OnIsolate.STOP, minute)
    assert policy.retry == RetryPolicy(9, second, minute)


def test_every_setting_has_a_sentence_and_a_variable_of_its_own() -> None:
    known = settings()
    assert all(setting.meta.sentence.endswith(".") for setting in known.values())
    assert len({setting.variable for setting in known.values()}) == len(known)


def test_every_default_is_one_that_a_file_could_give() -> None:
    for setting in settings().values():
        if not isinstance(setting.kind, Rows):
            shown = tomllib.loads(f"value = {setting.kind.show(setting.default)}")
            assert setting.kind.take(shown["value"]) == setting.default, setting.key


def test_every_table_has_a_sentence() -> None:
    assert all(section.sentence.endswith(".") for section in sections() if section.key)


def test_the_value_of_every_setting_is_found_by_its_key() -> None:
    assert values(Config()) == {key: setting.default for key, setting in settings().items()}


def test_chips_may_take_10_min_to_boot_where_nobody_has_set_it_and_their_mates_wait_150_s() -> None:
    for said, boot, late in ((None, 600, 150), (timedelta(seconds=20), 20, 20), (timedelta(seconds=900), 900, 150)):
        policy = Config(reset=ResetPolicy(boot_timeout=said)).policy().reset
        assert (policy.boot, policy.late) == (timedelta(seconds=boot), timedelta(seconds=late))
