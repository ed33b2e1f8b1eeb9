"""docs/hooks.md: its examples are loaded and run, its tables are what the code does."""

import json
import os
import re
import threading
import tomllib
from pathlib import Path

import pytest

from cmgr.cli.app import app_of
from cmgr.config.load import load
from cmgr.config.receivers import EVENTS
from cmgr.host.act import Act
from cmgr.host.host import Host
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.extras.hook_files import HOOKS
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.objects import event
from tests.cli.test_bundle import FILES
from tests.config.support import written
from tests.model.builders import T0
from tests.support.hooks import HookFolder
from tests.system.conftest import Install, folder, install

__all__ = ["folder", "install"]

PAGE = (Path(__file__).parents[3] / "docs" / "hooks.md").read_text()
SCRIPTS = re.findall(r"<!-- hook (\w+) (\d) -->\n```sh\n(.*?)```", PAGE, re.DOTALL)


def table(mark: str) -> str:
    return PAGE.partition(f"<!-- {mark} -->")[2].partition("<!-- end -->")[0]


def test_the_configuration_is_a_good_one(tmp_path: Path) -> None:
    text, tested = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert load(written(tmp_path / "tested.toml", tested), environ={}).reset.test.startswith("/usr/share/cmgr/tests/")
    assert tomllib.loads(text)
    receivers = load(written(tmp_path / "cmgr.toml", text), environ={}).alarms.receivers
    assert [receiver.format for receiver in receivers] == ["json", "alertmanager"]


def test_every_event_and_every_hook_is_in_its_table() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) >= {*EVENTS, *HOOKS}


def test_the_object_has_the_keys_that_are_sent() -> None:
    shown = json.loads(PAGE.partition("<!-- event -->\n```json\n")[2].partition("```")[0])
    sent = event(Alarm("recovered", TroubleKind.EPISODE, "episode-17", T0, T0, "x"), "appliance-7")
    assert list(shown) == list(sent)
    assert {key: type(value) for key, value in shown.items() if key not in ("episode", "ring")} == {
        key: type(value) for key, value in sent.items() if key not in ("episode", "ring")
    }


def test_every_hook_has_an_example() -> None:
    assert {name for name, _, _ in SCRIPTS} == set(HOOKS)


@pytest.mark.parametrize(("name", "code", "text"), SCRIPTS, ids=[name for name, _, _ in SCRIPTS])
def test_the_hooks_run(tmp_path: Path, name: str, code: str, text: str) -> None:
    place = tmp_path / "run"
    place.mkdir()
    (place / "updating").touch()
    (place / "in-service").touch()
    script = tmp_path / name
    script.write_text(text.replace("/run/appliance", str(place)))
    script.chmod(0o755)
    told = {"CHIPS": "0 1", "CALLED": "0/0 0/1", "CONTAINERS": "a b"}
    told |= {"OUTCOME": "recovered", "EPISODE": "17", "SECONDS": "3.6"}
    environment = {"PATH": os.environ["PATH"], **{f"CMGR_HOOK_{key}": value for key, value in told.items()}}
    ended = Host("").run(Act(name, (str(script),), environment, 30.0), threading.Event())
    assert ended.code == int(code), ended.output
    assert (place / "in-service").exists() is (name != "before_stop")


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ("Health Status : OK\nError Code : NA", 0),
        ("Health : OK\nChip Name : MCU\nHealth : OK", 0),
        ("Health : Alarm\nChip Name : MCU\nHealth : OK", 1),
        ("Health Status : Warning", 1),
        ("", 1),
    ],
)
@pytest.mark.parametrize(("npus", "asked"), [("3/1", "-i 3 -c 1"), ("2", "-i 2")])
def test_the_hook_that_asks_npu_smi_passes_well_chips_alone(
    tmp_path: Path, says: str, code: int, npus: str, asked: str
) -> None:
    """The tool's words: the maker's pages on `npu-smi info -t health`."""
    (text,) = (text for name, _, text in SCRIPTS if name == "after_reset")
    tool = f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\necho "{says}"\n'
    for name, content in (("after_reset", text), ("npu-smi", tool)):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CMGR_HOOK_CALLED": npus}
    ended = Host("").run(Act("after_reset", (str(tmp_path / "after_reset"),), environment, 30.0), threading.Event())
    assert ended.code == code, ended.output
    assert (tmp_path / "asked").read_text() == f"info -t health {asked}\n"


def test_the_variables_are_those_that_hooks_get(install: Install, folder: Path) -> None:
    hooks = HookFolder(folder)
    for name in HOOKS:
        hooks.put(name)
    service = install({"hooks.dir": str(hooks.dir)})
    service.pretend("one")
    service.start()
    service.inject(0)
    hooks.until_run("after_episode")
    got = {name for run in hooks.runs() for name in run if name.startswith("CMGR_HOOK")}
    assert got == set(re.findall(r"`(CMGR_HOOK\w*)`", table("variables")))
    # The variables that the shell of the tests' hooks sets by itself are not ours.
    others = {name for run in hooks.runs() for name in run} - got - {"PWD", "OLDPWD", "SHLVL", "_"}
    assert others == {"PATH", "LANG", "HOME", "CMGR_SOCKET", "CMGR_STATE_DIR"}


def test_the_files_of_a_support_bundle_are_those_in_the_table() -> None:
    assert set(re.findall(r"`([\w-]+\.json)`", table("files"))) == FILES
    assert "bundle" in {command.name for command in app_of().registered_commands}
