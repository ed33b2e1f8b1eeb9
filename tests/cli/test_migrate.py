"""`cmgr migrate`: what it prints, what it writes, and that cmgr takes what it wrote."""

import io
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Home, Outcome
from tests.sentences.test_chinese_lines import COMMAND, ENGLISH

GUIDE = """\
[Unit]
Description=Ascend container manager
[Service]
ExecStart=/bin/bash -c "container-manager run -ctrStrategy ringRecover -logPath=/var/log/cm.log >/dev/null  2>&1 &"
Restart=always
Environment="GOGC=50"
Type=forking
"""
DEPLOYED = """\
[Service]
ExecStart=/usr/local/bin/container-manager run -ctrStrategy=singleRecover -logPath=/var/log/cm.log \\
    -runtimeType=containerd -sockPath=/run/containerd/containerd.sock -logLevel=1 -maxAge=30 -maxBackups=10 \\
    -leaderIp=192.0.2.1 -nodeID=${NODE}
EnvironmentFile=-/nowhere/node.env
"""
BARE = "[Service]\nExecStart=/usr/local/bin/container-manager run\n"
FAULTS = '{"RestartNPUCodes": ["80E24E00"], "SeparateNPUCodes": ["80818C00"]}'


@pytest.fixture(autouse=True)
def simulated(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """For `cmgr check`: chips, runtimes and places that are here."""
    places = {"STATE_DIR": home.folder / "state", "SOCKET": home.socket}
    for name, value in {"DRIVER": "sim", "RUNTIMES": "sim", **places}.items():
        monkeypatch.setenv(f"CMGR_{name}", str(value))


def put(path: Path, text: str, mode: int = 0o640) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def unit(home: Home, text: str) -> str:
    return str(put(home.folder / "container-manager.service", text, 0o644))


def checked(home: Home, config: Path) -> Outcome:
    return home.cmgr("check", "--config", str(config))


@pytest.mark.parametrize("with_table", [False, True])
@pytest.mark.parametrize("text", [GUIDE, DEPLOYED, BARE])
def test_cmgr_takes_what_migrate_wrote(home: Home, text: str, with_table: bool) -> None:
    output = home.folder / "etc" / "cmgr.toml"
    output.parent.mkdir()
    more = ("--fault-config", str(put(home.folder / "old" / "cm faults", FAULTS))) if with_table else ()
    told = home.cmgr("migrate", "--unit", unit(home, text), "--output", str(output), *more)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(f"{output} is written\n")
    assert told.out.endswith(f"\nnext: cmgr check --config {output}\n")
    assert max(len(line) for line in told.out.splitlines() if str(home.folder) not in line) <= 80
    good = checked(home, output)
    assert good.code == 0, good.out
    assert {p.name for p in output.parent.iterdir()} == {"cmgr.toml", *(["faultCode.json"] if with_table else [])}
    assert {stat.S_IMODE(p.stat().st_mode) for p in output.parent.iterdir()} == {0o640}
    if with_table:
        assert (output.parent / "faultCode.json").read_text() == FAULTS
        assert "2 codes" in good.out


def test_without_an_output_the_file_goes_to_the_terminal_with_the_command_for_the_table(home: Home) -> None:
    table = put(home.folder / "old table.json", FAULTS)
    told = home.cmgr("migrate", "--unit", unit(home, GUIDE), "--fault-config", str(table))
    assert (told.code, told.err) == (0, "")
    (command,) = [line[1:].strip() for line in told.out.splitlines() if "install " in line]
    assert command.endswith(f" '{table}' /etc/cmgr/faultCode.json")
    # The printed commands do what they say, in a folder that is ours.
    target = home.folder / "faultCode.json"
    mine = command.replace("-o root -g root", f"-o {os.geteuid()} -g {os.getegid()}")
    subprocess.run(["sh", "-c", mine.replace("/etc/cmgr/faultCode.json", str(target))], check=True)
    config = put(home.folder / "made.toml", told.out.replace("/etc/cmgr/faultCode.json", str(target)))
    assert checked(home, config).code == 0


def test_the_table_that_the_unit_names_is_taken(home: Home) -> None:
    table = put(home.folder / "faultCode.json", FAULTS)
    text = BARE.replace(" run", f" run -faultConfigPath {table}")
    output = home.folder / "cmgr-new.toml"
    # It lies where it shall lie: nothing to copy, nothing that is in the way.
    told = home.cmgr("migrate", "--unit", unit(home, text), "--output", str(output))
    assert (told.code, told.err) == (0, "")
    assert f"{table} is written" not in told.out
    assert checked(home, output).code == 0


def test_drop_ins_and_standard_input_are_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    drop_in = put(
        home.folder / "10.conf", "[Service]\nExecStart=\nExecStart=/x/container-manager run -ctrStrategy ringRecover"
    )
    told = home.cmgr("migrate", "--unit", unit(home, BARE), "--unit", str(drop_in))
    assert 'strategy = "ringRecover"' in told.out
    both = io.TextIOWrapper(io.BytesIO((f"# /etc/x\n{BARE}\n# /etc/y\n" + drop_in.read_text()).encode()))
    monkeypatch.setattr("sys.stdin", both)
    assert 'strategy = "ringRecover"' in home.cmgr("migrate", "--unit", "-").out


def test_drop_ins_that_were_not_named_are_told(home: Home) -> None:
    name = unit(home, BARE)
    put(Path(f"{name}.d") / "10-strategy.conf", "[Service]\n")
    assert "drop-ins in" in home.cmgr("migrate", "--unit", name).out
    assert "10-strategy.conf" in home.cmgr("migrate", "--unit", name).out
    told = home.cmgr("migrate", "--unit", name, "--unit", f"{name}.d/10-strategy.conf")
    assert "drop-ins in" not in told.out


def test_the_first_day_may_be_a_day_of_watching(home: Home) -> None:
    output = home.folder / "new.toml"
    assert home.cmgr("migrate", "--unit", unit(home, GUIDE), "--observe", "--output", str(output)).code == 0
    assert "observe = true: nothing is done" in checked(home, output).out


def test_nothing_that_is_there_is_replaced_unless_that_is_wanted(home: Home) -> None:
    table = put(home.folder / "old.json", FAULTS)
    output = put(home.folder / "etc" / "cmgr.toml", "mine")
    other = put(output.with_name("faultCode.json"), "mine too", 0o600)
    words = ("migrate", "--unit", unit(home, GUIDE), "--fault-config", str(table), "--output", str(output))
    told = home.cmgr(*words)
    assert told.code == 1
    assert told.err == f"cmgr: cannot write {output} and {other}: there already\nhint: --force replaces what is there\n"
    assert (output.read_text(), other.read_text()) == ("mine", "mine too")
    assert home.cmgr(*words, "--force").code == 0
    assert checked(home, output).code == 0
    assert stat.S_IMODE(other.stat().st_mode) == 0o640
    assert len(list(output.parent.iterdir())) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to any group")
def test_who_could_read_the_replaced_configuration_can_read_the_new_one(home: Home) -> None:
    output = put(home.folder / "cmgr.toml", "")
    os.chown(output, -1, 4242)
    assert home.cmgr("migrate", "--unit", unit(home, GUIDE), "--output", str(output), "--force").code == 0
    found = output.stat()
    assert (found.st_gid, stat.S_IMODE(found.st_mode)) == (4242, 0o640)


def test_a_link_is_replaced_and_not_followed(home: Home) -> None:
    precious = put(home.folder / "precious", "mine")
    output = home.folder / "new.toml"
    output.symlink_to(precious)
    words = ("migrate", "--unit", unit(home, GUIDE), "--output", str(output))
    assert home.cmgr(*words).code == 1
    assert home.cmgr(*words, "--force").code == 0
    assert precious.read_text() == "mine"
    assert not output.is_symlink()


def test_every_mistake_is_told_at_once_and_nothing_is_written(home: Home) -> None:
    table = put(home.folder / "bad.json", '{"RestartNPUCodes": ["xyz", 7], "Nonsense": []}')
    text = BARE.replace(" run", " run -ctrStrategy always -maxAge 1")
    output = home.folder / "new.toml"
    missing = home.folder / "10.conf"
    told = home.cmgr(
        "migrate",
        "--unit",
        unit(home, text),
        "--unit",
        str(missing),
        "--fault-config",
        str(table),
        "--output",
        str(output),
    )
    assert told.code == 1
    first, *mistakes = told.err.splitlines()
    assert first.startswith("cmgr: cannot migrate ")
    assert first.endswith(": 6 mistakes")
    assert len(mistakes) == 6
    for word in (f"cannot read {missing}", "-ctrStrategy always", "-maxAge 1", "Nonsense", '"xyz"', "= 7"):
        assert any(word in line for line in mistakes), word
    assert told.out == ""
    assert not output.exists()


@pytest.mark.parametrize(
    ("mode", "words"),
    [(0o666, "chmod 0640"), (None, "no such file"), (0o100, "--fault-config names where it lies now")],
)
def test_a_table_that_cmgr_would_refuse_is_refused(home: Home, mode: int | None, words: str) -> None:
    table = home.folder / "old.json"
    named = ["--fault-config", str(table)]
    text = BARE
    if mode == 0o100:
        text, named = BARE.replace(" run", f" run -faultConfigPath={table}"), []
    elif mode:
        put(table, FAULTS, mode)
    told = home.cmgr("migrate", "--unit", unit(home, text), *named)
    assert told.code == 1
    assert words in told.err
    assert told.out == ""


@pytest.mark.parametrize("made", [b"\xff\xfe", b"x" * (1 << 20) + b"x", b"\x00" * 99, b""])
def test_what_is_no_unit_file_is_refused_without_a_traceback(home: Home, made: bytes) -> None:
    path = home.folder / "x.service"
    path.write_bytes(made)
    told = home.cmgr("migrate", "--unit", str(path))
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot migrate ")
    assert len(told.err) < 1000
    assert home.cmgr("migrate", "--unit", str(home.folder)).code == 1
    unread = "cmgr: cannot migrate /nowhere: cannot read /nowhere: No such file or directory\n"
    assert home.cmgr("migrate", "--unit", "/nowhere").err == unread


def test_an_environment_file_that_is_not_there_is_a_mistake_only_where_systemd_needs_it(home: Home) -> None:
    told = home.cmgr("migrate", "--unit", unit(home, DEPLOYED))
    assert (told.code, "$NODE is set nowhere" in told.out) == (0, True)
    told = home.cmgr("migrate", "--unit", unit(home, DEPLOYED.replace("=-/", "=/")))
    assert (told.code, "cannot read /nowhere/node.env" in told.err) == (1, True)


def test_a_folder_that_is_not_there_is_an_error(home: Home) -> None:
    told = home.cmgr("migrate", "--unit", unit(home, GUIDE), "--output", str(home.folder / "none" / "cmgr.toml"))
    assert (told.code, told.err.startswith("cmgr: cannot write ")) == (1, True)


def test_the_command_line_needs_a_unit(home: Home) -> None:
    told = home.cmgr("migrate")
    assert (told.code, "--unit" in told.err) == (2, True)


@pytest.mark.parametrize("text", [GUIDE, DEPLOYED, BARE, "[Service]\nExecStart=sh\nExecStart=\\q %i\nnonsense", ""])
def test_whoever_reads_chinese_reads_no_english_sentence(
    home: Home, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    output = home.folder / "cmgr.toml"
    faults = str(put(home.folder / "faultCode.json", FAULTS))
    told = home.cmgr("migrate", "--unit", unit(home, text), "--fault-config", faults, "--output", str(output))
    shown = told.out + told.err + (output.read_text() if output.exists() else "")
    assert [line for line in COMMAND.sub("", shown).splitlines() if ENGLISH.search(line)] == []
