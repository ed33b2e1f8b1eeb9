"""Whatever is wrong with a configuration, a fault table or rules is said in Chinese where the locale is that."""

import json
from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.config.settings import Config, Faults
from cmgr.config.tables.catalog import load_catalog
from cmgr.errors import ConfigError
from cmgr.sentences.sentence import CHINESE, in_language
from tests.config.support import written
from tests.sentences.test_chinese_lines import ENGLISH

VALUES = """
strategy = "sometimes"
observ = true
resync = 60
docker = 5
state_dir = "var"
socket = "s"
runtimes = "docker"
[reset]
attempts = true
window = "6 hours"
[levels.NotHandleFault]
stop = 1
[levels.FreeRestartNPU]
window = ["Someday"]
[metrics]
listen = "9477"
[spares]
driver = "sim"
[drain]
x = 1
[faults]
unknown = "Separate"
[sim]
incurable = ["oops"]
script = 5
[[sim.containers]]
[fleet]
name = "A B"
endpoints = ["ftp://a"]
[[ready.services]]
name = "web"
ask = "http://example.com/"
[[alarms.receivers]]
url = "x"
to = ["nobody"]
every = 5
[[systemd.units]]
name = "x"
"""

TOGETHER = """
runtimes = ["auto", "sim"]
[reset]
backoff = "10m"
[faults]
file = "/etc/cmgr/faults.yaml"
mode = "replace"
rules_mode = "replace"
[machine]
reboot = "window"
[metrics]
cert = "/c"
[fleet]
engine = "etcd"
cert = "/c"
user = "u"
prefix = "/ü"
[[roles]]
role = "look"
[[alarms.receivers]]
format = "mail"
url = "smtp+plain://a"
user = "u"
[[alarms.receivers]]
url = "http://a"
proxy = "https://b"
every = "9s"
[[alarms.receivers]]
format = "snmp"
url = "tcp://a"
[[drills]]
name = "d"
when = "03:00"
what = "fault"
[[systemd.units]]
name = "a.service"
[[systemd.units]]
name = "a.service"
[sim]
rings = [2, 2]
silent = [9]
pieces = [1, 1]
[[sim.script]]
chip = 1
code = "raid-failed"
[[sim.machine]]
code = "80E24E00"
[[sim.divided]]
chip = 1
[[sim.divided]]
chip = 1
"""

FLEETS = """
[fleet]
engine = "etcd"
endpoints = ["http://a:1", "http://a:1/x", "http://a:1"]
"""

TABLE = {"Separate": [], "SeparateNPUCodes": ["zz", 5], "RestartNPUCodes": 5}

RULES = {
    "FaultDuration": 5,
    "FaultFrequency": [
        5,
        {"EventId": "A1", "Times": 0, "TimeWindow": 5, "FaultHandling": "Separate", "Extra": 1},
        {"EventId": ["zz", "raid-failed", "A1"], "Times": 1, "TimeWindow": 60, "FaultHandling": "SeparateNPU"},
        {"EventId": ["A1"], "Times": 1, "TimeWindow": 60, "FaultHandling": "SeparateNPU", "ReleaseTimeWindow": 1},
    ],
}


def spoken(error: ConfigError, least: int) -> list[str]:
    said = [error.message, error.hint, *error.mistakes]
    assert len(error.mistakes) >= least, error.mistakes
    return [told for told in (in_language(text, CHINESE) for text in said) if ENGLISH.search(told)]


@pytest.mark.parametrize(("text", "least"), [(VALUES, 25), (TOGETHER, 20), (FLEETS, 3), ("a = = b", 1)])
def test_no_mistake_of_a_configuration_is_english(tmp_path: Path, text: str, least: int) -> None:
    path = written(tmp_path / "cmgr.toml", text)
    environ = {"CMGR_OBSERVE": "maybe", "CMGR_STRATEGI": "never"} if text is VALUES else {}
    with pytest.raises(ConfigError) as caught:
        load(path, environ=environ, overrides={"sim.chip": 4} if text is VALUES else {})
    # Whose words about a file of TOML these are, the library's own.
    assert [each for each in spoken(caught.value, least) if "TOML" not in each] == []


def test_no_mistake_of_a_fault_table_or_of_rules_is_english(tmp_path: Path) -> None:
    table = written(tmp_path / "faults.json", json.dumps(TABLE))
    rules = written(tmp_path / "rules.json", json.dumps(RULES))
    with pytest.raises(ConfigError) as caught:
        load_catalog(Config(faults=Faults(file=table, rules=rules)))
    assert spoken(caught.value, 12) == []


def test_nothing_that_is_odd_in_a_fault_table_or_in_rules_is_english(tmp_path: Path) -> None:
    odd = {"SeparateNPUCodes": ["A1", "A1"], "RestartNPUCodes": ["A1"], "SeparateNPUNetworkCodes": ["A3"]}
    same = {"EventId": ["A1", "A1"], "FaultTimeout": 1, "RecoverTimeout": 1, "FaultHandling": "SeparateNPU"}
    table = written(tmp_path / "faults.json", json.dumps(odd))
    rules = written(
        tmp_path / "rules.json", json.dumps({"GraceTolerance": 1, "FaultDuration": [{**same, "EventId": []}, same]})
    )
    told: list[str] = []
    load_catalog(Config(faults=Faults(file=table, rules=rules, mode="replace")), told.append)
    assert len(told) > 8, told
    assert [said for said in (in_language(each, CHINESE) for each in told) if ENGLISH.search(said)] == []
