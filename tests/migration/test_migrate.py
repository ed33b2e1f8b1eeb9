"""The reference's command line as settings of cmgr."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cmgr.config.load import load
from cmgr.config.settings import Config
from cmgr.config.tables.table import parse_table
from cmgr.migration.migrate import (
    Migration,
    environment_files,
    install_command,
    migrate,
    with_fault_table,
    without_fault_table,
)
from cmgr.migration.reference import FLAGS
from cmgr.migration.text import ALWAYS, file_text
from cmgr.migration.unit_file import Source
from tests.config.support import written

PROGRAM = "/usr/local/bin/container-manager"


def unit(start: str, *more: str) -> Source:
    return Source("container-manager.service", "\n".join(["[Service]", f"ExecStart={start}", *more, ""]))


def migrated(flags: str = "", *more: str, texts: Mapping[str, str] | None = None) -> Migration:
    return migrate([unit(f"{PROGRAM} run {flags}", *more)], texts or {})


def settings(migration: Migration, file: Path) -> Config:
    """Return what cmgr makes of the file that the migration gives."""
    assert migration.mistakes == ()
    return load(written(file, file_text(migration, ["a unit"])), environ={})


def test_no_flags_at_all_mean_the_reference_s_defaults(file: Path) -> None:
    config = settings(migrated(), file)
    assert config == Config(runtimes=("docker",))
    assert any("/var/log/mindx-dl" in told for told in migrated().differs)


def test_every_flag_becomes_a_setting(file: Path) -> None:
    migration = migrated(
        "-ctrStrategy singleRecover --runtimeType=docker -sockPath /run/other.sock -logPath=/var/log/x.log "
        "-logLevel=-1 -maxAge 30 --maxBackups 0xB4"
    )
    config = settings(migration, file)
    assert (config.strategy, config.runtimes, config.docker.socket) == ("singleRecover", ("docker",), "/run/other.sock")
    log = config.log
    assert (log.level, log.file) == ("debug", "/var/log/cmgr/cmgr.log")
    rotated = [told for told in migration.differs if "/etc/logrotate.d/cmgr" in told]
    assert [told.partition(":")[0] for told in rotated] == ["-maxAge 30", "-maxBackups 0xB4"]
    assert ["set maxage" in rotated[0], "set rotate" in rotated[1]] == [True, True]


@pytest.mark.parametrize("flag", ["-runtimeType", "-runtimeMode"])
def test_containerd_is_found_on_its_own_socket(file: Path, flag: str) -> None:
    for path in ("", "-sockPath /run/docker.sock"):
        found = migrated(f"{flag} containerd {path}")
        config = settings(found, file)
        assert (config.runtimes, config.containerd, config.docker) == (
            ("containerd",),
            Config().containerd,
            Config().docker,
        )
        assert any("the reference's default" in told for told in found.differs)
    config = settings(migrated(f"{flag} containerd -sockPath /run/k3s/containerd.sock"), file)
    assert config.containerd.address == "/run/k3s/containerd.sock"


@pytest.mark.parametrize("name", FLAGS)
def test_no_known_flag_vanishes(name: str) -> None:
    """Each is told where its setting stands, or among what is not carried over."""
    values = {"ctrStrategy": "never", "runtimeType": "docker", "runtimeMode": "docker", "maxAge": "9", "logLevel": "1"}
    found = migrated(f"-{name} {values.get(name, '7')}" if "Path" not in name else f"-{name} /x/y.json")
    assert found.mistakes == ()
    told = [
        *(choice.why for choice in found.chosen),
        *found.dropped,
        *found.differs,
        f"-faultConfigPath {found.fault_file}",
    ]
    assert any(f"-{name} " in text for text in told), told


def test_a_node_that_cannot_be_an_appliance_is_told_with_what_could(file: Path) -> None:
    found = migrated("-nodeID Node/1")
    assert settings(found, file).fleet.name == ""
    (told,) = found.dropped
    assert told.startswith("-nodeID Node/1: cannot be fleet.name, which is a name of at most 63 small letters, digits")


def test_what_cmgr_does_not_know_is_listed() -> None:
    found = migrated("-newFlag -other=3 --third four -ctrStrategy never -- -logLevel 1")
    assert found.mistakes == ()
    told = [text.partition(":")[0] for text in found.dropped]
    assert told == ["-newFlag", "-other 3", "-third four", "-logLevel 1"]


def test_flags_end_at_the_first_word_that_is_none_as_in_go() -> None:
    found = migrated("-ctrStrategy never stray -ctrStrategy ringRecover")
    assert [c.value for c in found.chosen if c.key == "strategy"] == ["never"]
    assert found.dropped[0].startswith("stray -ctrStrategy ringRecover: ")


def test_of_a_flag_that_comes_twice_the_last_one_counts(file: Path) -> None:
    found = migrated("-ctrStrategy never -ctrStrategy=ringRecover")
    assert settings(found, file).strategy == "ringRecover"
    assert found.dropped[0].startswith("-ctrStrategy never: the same flag comes again")


def test_every_mistake_is_told_at_once() -> None:
    found = migrated(
        "-ctrStrategy always -runtimeType podman -logLevel x -maxAge 3 -maxBackups 181 -sockPath run/docker.sock",
        "Environment=nonsense",
        "stray line",
    )
    told = found.mistakes
    assert len(told) == 7  # Whether a socket is one cannot be judged where its runtime is none.
    for word in ("-ctrStrategy always", "-runtimeType podman", "-logLevel x", "-maxAge 3", "-maxBackups 181"):
        assert any(text.startswith(word) for text in told), word
    assert any("Environment=" in text for text in told)
    assert any("stray line" in text for text in told)
    assert "begins with /" in " ".join(migrated("-sockPath run/docker.sock").mistakes)


SHELLS = (
    f'/bin/bash -c "{PROGRAM} run -ctrStrategy ringRecover >/dev/null  2>&1 &"',
    f"/bin/sh -c 'exec {PROGRAM} run -ctrStrategy \"ringRecover\" >> /var/log/x 2>/dev/null'",
    f'/usr/bin/bash -lc "nohup {PROGRAM} run -ctrStrategy=ringRecover &>/dev/null &"',
    f'/bin/sh -ec "{PROGRAM} run -ctrStrategy=$STRATEGY </dev/null;"',
    f'/bin/sh -c "{PROGRAM} run -ctrStrategy=${{STRATEGY}}"',
    f"{PROGRAM} run $FLAGS",
    f"-{PROGRAM} run -ctrStrategy ${{STRATEGY}}",
    "/opt/cm/container-manager-26.0 run -ctrStrategy ringRecover",
    "/opt/cm/renamed run -ctrStrategy ringRecover",
    f"{PROGRAM} \\\n    run \\\n    # the strategy\n    -ctrStrategy \\\n    ringRecover",
    f"{PROGRAM} run '-ctrStrategy' \"ringRecover\"",
)


@pytest.mark.parametrize("start", SHELLS)
def test_the_program_is_found_however_the_unit_starts_it(start: str, file: Path) -> None:
    variables = 'Environment="STRATEGY=ringRecover" "FLAGS=-ctrStrategy ringRecover"'
    found = migrate([unit(start, variables)], {})
    assert settings(found, file).strategy == "ringRecover"
    assert not [text for text in found.dropped if "flag" in text]


def test_what_stands_in_front_of_the_program_is_told() -> None:
    found = migrate([unit(f"/usr/bin/nice -n 5 {PROGRAM} run")], {})
    assert found.dropped[0].startswith("/usr/bin/nice -n 5: ")


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (f"{PROGRAM} status", "does not run the service"),
        (f"{PROGRAM}", "does not run the service"),
        ("/usr/bin/dockerd", "does not start container-manager"),
        ("/bin/sh /opt/start.sh", "does not stand in the unit"),
        (f'/bin/sh -c "sleep 60; {PROGRAM} run"', "does more than start"),
        (f'/bin/sh -c "{PROGRAM} run | tee x"', "does more than start"),
        (f'/bin/sh -c "{PROGRAM} run \'x"', "cannot be read"),
        (f"{PROGRAM} run -logLevel", "needs a value"),
        (f"{PROGRAM} run -sockPath %t/docker.sock", "known to systemd alone"),
    ],
)
def test_what_does_not_start_the_reference_is_refused(start: str, why: str) -> None:
    (mistake,) = migrate([unit(start)], {}).mistakes
    assert mistake.startswith("container-manager.service, line 2: cannot use ExecStart=: ")
    assert why in mistake


def test_a_unit_needs_exactly_one_start() -> None:
    assert "there is no ExecStart=" in migrate([Source("x", "[Unit]\nDescription=x\n")], {}).mistakes[0]
    several = migrate([unit(f"{PROGRAM} run"), Source("10.conf", f"[Service]\nExecStart={PROGRAM} run\n")], {})
    assert "there are several ExecStart= (container-manager.service, line 2, 10.conf, line 2)" in several.mistakes[0]


def test_a_drop_in_may_change_the_start(file: Path) -> None:
    drop_in = Source("10.conf", f"[Service]\nExecStart=\nExecStart={PROGRAM} run -ctrStrategy ringRecover\n")
    assert settings(migrate([unit(f"{PROGRAM} run"), drop_in], {}), file).strategy == "ringRecover"


def test_environment_files_override_environment_lines(file: Path) -> None:
    source = unit(f"{PROGRAM} run -ctrStrategy $S", "EnvironmentFile=-/etc/cm.env", "Environment=S=never")
    (wanted,) = environment_files([source])
    assert (wanted.path, wanted.needed) == ("/etc/cm.env", False)
    assert settings(migrate([source], {}), file).strategy == "never"
    assert settings(migrate([source], {"/etc/cm.env": "S=ringRecover\n"}), file).strategy == "ringRecover"


def test_a_variable_that_nobody_sets_is_told() -> None:
    assert any(text.startswith("$LEVEL is set nowhere") for text in migrated("$LEVEL").differs)
    shell = migrate([unit(f'/bin/sh -c "{PROGRAM} run $LEVEL"')], {})
    assert any(text.startswith("$LEVEL is set nowhere") for text in shell.differs)


def test_the_rest_of_the_unit_is_told() -> None:
    found = migrated(
        "",
        'Environment="GOGC=50" "PROXY=x"',
        "Restart=always",
        "User=npu",
        "CPUQuota=50%",
        "[Timer]",
        "OnBootSec=60s",
        "[Unit]",
        "Description=x",
    )
    told = [text.partition(":")[0] for text in found.dropped]
    assert told == [
        "Restart, User",
        "environment GOGC",
        "environment PROXY",
        "User=npu",
        "CPUQuota=50%",
        "OnBootSec=60s",
    ]


TABLE = '{"RestartNPUCodes": ["80E24E00"], "SeparateNPUCodes": ["80E24E00", "0x81078603"]}'


def test_a_fault_table_replaces_the_built_in_one_as_with_the_reference(file: Path) -> None:
    found = migrated("-faultConfigPath faultCode.json", "WorkingDirectory=/home/cm")
    assert found.fault_file == "/home/cm/faultCode.json"
    table = parse_table(TABLE, found.fault_file)
    target = str(file.parent / "faultCode.json")
    whole = with_fault_table(found, table, found.fault_file, target)
    faults = settings(whole, file).faults
    assert (faults.file, faults.mode, faults.unknown) == (target, "replace", "NotHandleFault")
    assert any("80E24E00 stands under RestartNPU and SeparateNPU" in told for told in whole.differs)
    assert any("RestartRequestCodes is missing" in told for told in whole.differs)
    assert any("faults.unknown" in told for told in without_fault_table(migrated()).differs)


def test_a_long_path_is_written_whole(file: Path) -> None:
    found = migrated("-faultConfigPath faultCode.json", "WorkingDirectory=/home/cm")
    target = f"/{'déjà/' * 40}faultCode 😀.json"
    whole = with_fault_table(found, parse_table(TABLE, found.fault_file), found.fault_file, target)
    assert settings(whole, file).faults.file == target


def test_a_relative_path_is_meant_from_the_root_where_the_unit_names_no_folder() -> None:
    assert migrated("-faultConfigPath ./faultCode.json").fault_file == "/faultCode.json"
    assert migrated().fault_file == ""


def test_a_path_with_blanks_stays_one_word_in_the_command() -> None:
    assert install_command("/a b", "/c") == "install -o root -g root -m 0640 '/a b' /c"


def test_nothing_that_the_unit_says_leaves_its_comment(file: Path) -> None:
    evil = r'-newFlag="\nstrategy = \"ringRecover\"\n" -logPath="/x\nobserve = true"'
    found = migrated(evil, "Nice=5 \\", "# x", "strategy = never")
    text = file_text(found, ["a\nobserve = true"], ["install a\nobserve = true"])
    config = load(written(file, text), environ={})
    assert (config.strategy, config.observe) == ("never", False)
    assert text.isascii()


def test_what_always_differs_is_said_in_every_file() -> None:
    text = " ".join(line.lstrip("# ") for line in file_text(migrated(), ["x"]).splitlines())
    for told in ALWAYS:
        assert told in text
