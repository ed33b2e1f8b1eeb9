"""`cmgr check` looks at receivers of alarms and at hooks."""

from pathlib import Path

from tests.cli.check.test_check import found
from tests.cli.conftest import Home


def hook(home: Home, name: str, mode: int = 0o755) -> Path:
    path = home.folder / "hooks.d" / name
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_hooks_are_shown_and_what_keeps_them_from_running(home: Home) -> None:
    home.configure('strategy = "ringRecover"', f'hooks.dir = "{home.folder}/hooks.d"')
    good = hook(home, "before_stop")
    wide = hook(home, "before_reset", 0o775)
    off = hook(home, "after_reset", 0o644)
    hook(home, "after-episode")
    told = found(home)
    assert (told["hook before_stop"]["state"], told["hook before_stop"]["text"]) == ("ok", str(good))
    refused = told["hook before_reset"]
    assert (refused["state"], refused["hint"]) == ("error", f"chmod go-w {wide}")
    assert refused["text"] == f"{wide} is not run: others can write the file {wide} (mode 0775)"
    assert told["hook after_reset"]["text"] == f"{off} is not executable, and so not run"
    assert "after-episode is no hook's name" in told["hooks"]["text"]
    assert home.here("check").code == 1


def test_receivers_are_shown_without_what_may_be_secret(home: Home) -> None:
    token = home.folder / "token"
    token.write_text("very-secret")
    token.chmod(0o644)
    receiver = f'[[alarms.receivers]]\nurl = "http://alarms.example/hidden"\ntoken_file = "{token}"'
    home.configure('strategy = "ringRecover"', receiver)
    told = found(home)["alarms json"]
    assert told["state"] == "error"
    assert told["hint"] == f"chmod 0640 {token}"
    token.chmod(0o600)
    told = found(home)["alarms json"]
    assert (told["state"], told["text"]) == ("warning", "the token goes to http://alarms.example unencrypted")
    token.write_text("\n")
    assert found(home)["alarms json"]["text"] == f"{token} is empty"
    home.configure('[[alarms.receivers]]\nurl = "https://alarms.example/hidden"\nevents = ["deaf", "isolated"]')
    assert found(home)["alarms json"]["text"] == "https://alarms.example is told of deaf, isolated"
    assert "hidden" not in home.here("check").out
