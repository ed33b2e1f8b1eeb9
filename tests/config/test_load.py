from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.config.settings import Config, Docker
from cmgr.config.sim import SimContainer, SimEvent, SimProcess
from cmgr.errors import ConfigError
from cmgr.model.values.faults import Assertion, Level
from cmgr.model.values.handling.policy import ResetPolicy, Strategy
from tests.config.support import from_text, mistakes, written


def test_without_a_file_everything_has_its_default() -> None:
    assert load(None, environ={}) == Config()


def test_a_missing_file_that_was_named_is_a_mistake(file: Path) -> None:
    assert mistakes(str(file)) == (f"cannot read {file}: there is no such file",)
    assert mistakes(environ={"CMGR_CONFIG": str(file)}) == (f"cannot read {file}: there is no such file",)


def test_the_environment_can_name_the_file_and_a_flag_names_another(file: Path, tmp_path: Path) -> None:
    environ = {"CMGR_CONFIG": written(file, "observe = true")}
    assert load(None, environ=environ).observe
    assert not load(written(tmp_path / "other.toml", ""), environ=environ).observe


def test_every_type_of_value_is_read_from_the_file(file: Path) -> None:
    config = from_text(
        file,
        """
        strategy = "ringRecover"
        observe = true
        runtimes = ["docker", "sim"]
        resync = "2m"
        [docker]
        socket = "/var/run/docker.sock"
        [levels.RestartRequest]
        stop_after = "1m30s"
        [reset]
        attempts = 5
        widen_after = "10m"
        [metrics]
        listen = ""
        [sim]
        chips = 4
        rings = [2, 2]
        """,
    )
    assert config.strategy is Strategy.RING
    assert config.observe is True
    assert config.runtimes == ("docker", "sim")
    assert config.resync == timedelta(minutes=2)
    assert config.docker == Docker("/var/run/docker.sock")
    assert config.policy().levels[Level.RestartRequest].stop_after == timedelta(seconds=90)
    assert config.policy().levels[Level.RestartRequest].reset_after == timedelta(seconds=60)
    assert config.reset == replace(ResetPolicy(), attempts=5, widen_after=timedelta(minutes=10))
    assert config.metrics.listen == ""
    assert config.sim.rings == (2, 2)


def test_the_environment_overrides_the_file_and_a_flag_overrides_both(file: Path) -> None:
    path = written(file, 'strategy = "never"\nresync = "10s"\n[reset]\nattempts = 1\n')
    environ = {"CMGR_STRATEGY": "singleRecover", "CMGR_RESET_ATTEMPTS": "2", "PATH": "/bin", "cmgr_x": "1"}
    config = load(path, environ=environ, overrides={"strategy": "ringRecover", "observe": None})
    assert (config.strategy, config.reset.attempts, config.resync) == (Strategy.RING, 2, timedelta(seconds=10))


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("CMGR_STRATEGY", "ringRecover", "strategy", Strategy.RING),
        ("CMGR_OBSERVE", "1", "observe", True),
        ("CMGR_OBSERVE", "No", "observe", False),
        ("CMGR_DOCKER_SOCKET", "/x", "docker.socket", "/x"),
        ("CMGR_RUNTIMES", "docker, sim", "runtimes", ("docker", "sim")),
        ("CMGR_LEVELS_RESTARTREQUEST_STOP_AFTER", "5s", "levels.RestartRequest.stop_after", timedelta(seconds=5)),
        ("CMGR_RESET_WIDEN_AFTER", "", "reset.widen_after", None),
        ("CMGR_METRICS_LISTEN", "", "metrics.listen", ""),
        ("CMGR_SIM_RINGS", "3,5", "sim.rings", (3, 5)),
        ("CMGR_SIM_SILENT", "", "sim.silent", ()),
        ("CMGR_SIM_FAIL_RESETS", "-1", "sim.fail_resets", -1),
    ],
)
def test_a_variable_sets_its_setting(name: str, text: str, key: str, value: object) -> None:
    found: object = load(None, environ={name: text})
    for part in key.split("."):
        found = getattr(found, part)
    assert found == value
    by_flag: object = load(None, environ={}, overrides={key: text})
    for part in key.split("."):
        by_flag = getattr(by_flag, part)
    assert by_flag == value


def test_a_flag_can_have_a_value_of_its_type() -> None:
    overrides = {"observe": True, "runtimes": ("docker", "sim"), "reset.attempts": 4, "strategy": Strategy.RING}
    config = load(None, environ={}, overrides=overrides)
    assert (config.observe, config.runtimes, config.reset.attempts) == (True, ("docker", "sim"), 4)
    assert config.strategy is Strategy.RING


def test_the_file_keeps_the_rule_for_files(file: Path) -> None:
    path = written(file, "")
    file.chmod(0o666)
    with pytest.raises(ConfigError) as caught:
        load(path, environ={})
    assert caught.value.hint == f"chmod 0640 {path}"


def test_the_default_file_keeps_the_rule_too(tmp_path: Path) -> None:
    default = tmp_path / "etc/cmgr/cmgr.toml"
    default.parent.mkdir(parents=True)
    written(default, "observe = true")
    assert load(None, environ={}).observe
    default.chmod(0o644)
    with pytest.raises(ConfigError, match="0644"):
        load(None, environ={})


SCRIPT = """
[[sim.script]]
chip = 3
code = "0x80e24e00"
[[sim.script]]
after = "2s"
chip = 4
code = "80E24E00"
assertion = "once"
module = "-1.0.0.11"
severity = 3
[[sim.processes]]
chip = 1
pid = 42
name = "python"
[[sim.containers]]
name = "llm-0"
chips = [0, 1]
strategy = "ringRecover"
order = -2
grace = "3s"
[[sim.containers]]
name = "llm-1"
"""


def test_lists_of_tables_become_values(file: Path) -> None:
    sim = from_text(file, SCRIPT).sim
    assert sim.script == (
        SimEvent(3, "0x80e24e00"),
        SimEvent(4, "80E24E00", timedelta(seconds=2), Assertion.ONCE, "-1.0.0.11", 3),
    )
    assert sim.processes == (SimProcess(1, 42, "python"),)
    ring, grace = Strategy.RING, timedelta(seconds=3)
    assert sim.containers == (SimContainer("llm-0", (0, 1), ring, -2, grace=grace), SimContainer("llm-1"))


def test_a_script_file_adds_to_the_script(file: Path, tmp_path: Path) -> None:
    more = written(
        tmp_path / "script.toml", '[[script]]\nchip = 7\ncode = "A1"\nafter = "1h"\n[[machine]]\ncode = "raid-failed"\n'
    )
    text = f'driver = "sim"\n[sim]\nscript_file = "{more}"\n[[sim.script]]\nchip = 1\ncode = "A2"\n'
    sim = from_text(file, text).sim
    assert [event.chip for event in sim.script] == [1, 7]
    assert [event.code for event in sim.machine] == ["raid-failed"]


@pytest.mark.parametrize("text", ["[[script]]\nchip = 7\n", "[[scrip]]\n", '[[script]]\nchip = 9\ncode = "A1"', "="])
def test_a_wrong_script_file_is_refused(file: Path, tmp_path: Path, text: str) -> None:
    more = written(tmp_path / "script.toml", text)
    assert mistakes(written(file, f'driver = "sim"\n[sim]\nscript_file = "{more}"\n'))
