from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.errors import ConfigError, Misused
from tests.config.support import from_text, mistakes, written


def test_all_mistakes_of_all_sources_are_told_at_once_each_with_key_value_source_and_what_is_allowed(
    file: Path,
) -> None:
    path = written(
        file,
        'strategy = "sometimes"\nobserv = true\nresync = 60\ndocker = 5\n'
        '[reset]\nattempts = true\nwindow = "6 hours"\n[dockr]\nsocket = ""\n[levels.SeparateNPU]\nstop = true\n'
        '[spares]\ndriver = "sim"\ndcmi.library = "/a"\n',
    )
    found = mistakes(path, {"CMGR_OBSERVE": "maybe", "CMGR_STRATEGI": "never"}, {"driver": "cuda", "sim.chip": 4})
    assert found == (
        f'strategy = "sometimes" ({path}): must be never, singleRecover or ringRecover',
        f"observ ({path}): there is no such setting; did you mean observe?",
        f'resync = 60 ({path}): must be a duration such as "500ms", "60s" or "2h30m", from 1s to 1h; '
        'write "60s" for seconds',
        f"docker ({path}): must be a table, written [docker]",
        f"reset.attempts = true ({path}): must be a whole number from 1 to 100",
        f'reset.window = "6 hours" ({path}): must be a duration such as "500ms", "60s" or "2h30m", from 60s to 30d',
        f"dockr ({path}): there is no such setting; did you mean docker?",
        f"levels.SeparateNPU.stop ({path}): there is no such setting; chips with such faults are isolated, "
        "see isolation.on_isolate",
        f"spares.driver ({path}): there is no such setting; driver belongs above the first line in brackets",
        f"spares.dcmi ({path}): there is no such setting; dcmi belongs above the first line in brackets",
        'observe = "maybe" (environment variable CMGR_OBSERVE): must be true or false',
        "CMGR_STRATEGI (environment): there is no such setting; did you mean CMGR_STRATEGY?",
        'driver = "cuda" (flag): must be auto, dcmi, nvml, tool or sim',
        "sim.chip (flag): there is no such setting; did you mean sim.chips?",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("runtimes = []", "must be a list, each one auto, docker, containerd or sim"),
        ('runtimes = ["docker", "docker"]', "none twice"),
        ('runtimes = "docker"', "must be a list"),
        ('runtimes = ["auto", "sim"]', "auto stands alone"),
        ('state_dir = "var"', "must be a path that begins with /"),
        ('state_dir = ""', "must be a path that begins with /"),
        ('state_dir = "/a\\u0000b"', "must be a path that begins with /"),
        (f'socket = "/{"x" * 107}"', "at most 107 bytes"),
        ('resync = "500ms"', "from 1s to 1h"),
        ('resync = ""', "must be a duration"),
        ("resync = 1.5", "must be a duration"),
        ("resync = 2026-01-01", "must be a duration"),
        ("observe = 1", "must be true or false"),
        ("[reset]\nattempts = 101", "from 1 to 100"),
        ("[reset]\nattempts = 2.0", "a whole number"),
        ('[reset]\nbackoff = "10m"', "reset.backoff: must not be longer than reset.backoff_max"),
        ('[retry]\nbackoff_max = "100ms"', "retry.backoff: must not be longer than retry.backoff_max"),
        ('[metrics]\nlisten = "9477"', 'an address such as "127.0.0.1:9477"'),
        ('[metrics]\nlisten = "[::1]:70000"', 'an address such as "127.0.0.1:9477"'),
        ('[faults]\nfile = "/etc/cmgr/faults.yaml"', "must end in .json or .toml"),
        ('[faults]\nmode = "replace"', "replace needs the table in faults.file"),
        ('[faults]\nrules = "/etc/cmgr/rules.yaml"', "faults.rules = "),
        ('[faults]\nrules_mode = "replace"', "replace needs the file in faults.rules"),
        ('[faults]\nunknown = "Separate"', "severity, NotHandleFault"),
        ("[sim]\nchips = 65", "from 1 to 64"),
        ("[sim]\nrings = [2, 2]", "must add up to sim.chips, which is 8, and add up to 4"),
        ("[sim]\nsilent = [8, 9]", "there is no chip 8, 9; with sim.chips = 8 the last is 7"),
        ('[sim]\nincurable = ["oops"]', "a fault code"),
        ('[[ready.services]]\nname = "web"', "ready.services[1].ask"),
        ('[[ready.services]]\nname = "web"\nask = "http://example.com/"', "a question such as"),
        ("[sim]\nscript = 5", "must be a list of tables, each under a heading [[sim.script]]"),
        ("[[sim.script]]\nchip = 3", "sim.script[1].code"),
        ('[[sim.script]]\nchip = 3\ncode = "zz"', 'sim.script[1].code = "zz"'),
        ('[[sim.script]]\nchip = 9\ncode = "A1"', "sim.script: there is no chip 9"),
        ('[[sim.script]]\nchip = 1\ncode = "raid-failed"', "sim.script: raid-failed is no fault of a chip"),
        ('[[sim.machine]]\ncode = "80E24E00"', "sim.machine: 80E24E00 is no fault of the machine"),
        ("[[sim.divided]]\nchip = 9", "sim.divided: there is no chip 9"),
        ("[[sim.divided]]\nchip = 1\n[[sim.divided]]\nchip = 1", "sim.divided: chip 1 is the name of more than one"),
        ('[[sim.script]]\nchip = 3\ncode = "A1"\nafer = "1s"', "did you mean sim.script[1].after?"),
        ('[[sim.script]]\nchip = 3\ncode = "A1"\nmodule = "x"', 'numbers with dots such as "1.0.0.0"'),
        ('[[sim.containers]]\nname = "a"\n[[sim.containers]]\nname = "a"', "a is the name of more than one"),
        (
            'nvml.stop_units = ["a.service"]\n[[systemd.units]]\nname = "a.service"',
            "nvml.stop_units: a.service is under systemd.units too, by which it is stopped and started already",
        ),
        ('nvml.stop_units = ["a.service", "a.service"]', "nvml.stop_units: a.service is the name of more than one"),
        ('nvml.stop_units = ["a"]', "a list, each one the name of a service unit"),
        ('"docker.socket" = "/x"', '"docker.socket" ('),
        ('"\\u001b[31m" = 1', '"\\u001b[31m" ('),
    ],
)
def test_a_wrong_value_is_a_mistake(file: Path, text: str, said: str) -> None:
    assert any(said in mistake for mistake in mistakes(written(file, text)))


def test_one_mistake_alone_is_the_message(file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        from_text(file, "observe = 1")
    (mistake,) = caught.value.mistakes
    assert caught.value.message == f"cannot use the configuration: {mistake}"


def test_a_list_of_tables_cannot_come_from_the_environment() -> None:
    (mistake,) = mistakes(environ={"CMGR_SIM_CONTAINERS": "[]"})
    assert "in the file" in mistake


def test_a_file_that_is_no_toml_is_told_with_its_line_beside_the_other_mistakes(file: Path) -> None:
    path = written(file, 'observe = true\nstrategy = "never\n')
    assert "(at line 2," in mistakes(path)[0]
    found = mistakes(path, {"CMGR_OBSERVE": "x"})
    assert len(found) == 2
    assert found[0].startswith(f"cannot read {path}: it is not valid TOML")


def test_a_table_that_stands_twice_is_told_with_what_to_do(file: Path) -> None:
    (mistake,) = mistakes(written(file, "[sim]\n#chips = 8\n[sim]\nring = 4\n"))
    assert mistake.endswith("twice (at line 3, column 5); put the setting below the head that is there already")


@pytest.mark.parametrize("text", ["a = " + "[" * 100000, "a = " + "9" * 5000, "a = 1\na = 2", "\0"])
def test_a_file_that_the_parser_chokes_on_is_refused(file: Path, text: str) -> None:
    assert mistakes(written(file, text))


def test_settings_that_a_former_version_had_keep_no_service_from_starting(file: Path) -> None:
    path = written(file, '[log]\nmax_size = "1G"\nmax_age = "30d"\nmax_files = 180\n[dcmi]\nsubscribe = "1s"\n')
    assert load(path, environ={"CMGR_LOG_MAX_SIZE": "1G", "CMGR_DCMI_SUBSCRIBE": "1s"}) == load(None, environ={})


def test_where_the_flags_alone_are_wrong_it_is_the_command_line_that_is(file: Path) -> None:
    path = written(file, "")
    with pytest.raises(Misused, match=r'strategy = "nope" \(flag\)'):
        load(path, environ={}, overrides={"strategy": "nope"})
    path = written(file, "observe = 1\n")
    with pytest.raises(ConfigError) as both:
        load(path, environ={}, overrides={"strategy": "nope"})
    assert (both.value.exit_code, len(both.value.mistakes)) == (1, 2)
