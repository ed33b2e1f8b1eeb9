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
    assert found(home)["alarms json"]["text"] == f"cannot use {token}: it is empty"
    home.configure('[[alarms.receivers]]\nurl = "https://alarms.example/hidden"\nevents = ["deaf", "isolated"]')
    assert found(home)["alarms json"]["text"] == "https://alarms.example is sent deaf, isolated"
    assert "hidden" not in home.here("check").out


def test_secrets_programs_and_addresses_of_receivers_are_looked_at(home: Home) -> None:
    secret = home.folder / "secret"
    secret.touch(mode=0o644)
    home.configure(f'[[alarms.receivers]]\nformat = "snmp"\nurl = "udp://traps.example"\nsecret_file = "{secret}"')
    assert found(home)["alarms snmp"]["hint"] == f"chmod 0640 {secret}"
    secret.chmod(0o600)
    secret.write_text("https://prod.webhook.office.com/hidden")
    home.configure(f'[[alarms.receivers]]\nformat = "teams"\nurl_file = "{secret}"')
    told = found(home)["alarms teams"]
    assert (told["state"], told["text"]) == ("warning", "Microsoft has ended the connectors of webhook.office.com")
    secret.write_text("http://chat.example/hidden")
    told = found(home)["alarms teams"]
    assert (told["state"], told["text"]) == (
        "warning",
        "the key in its address goes to http://chat.example unencrypted",
    )
    secret.write_text("chat.example/hidden")
    told = found(home)["alarms teams"]
    assert (told["state"], told["text"]) == ("error", f"cannot use {secret}: its text is no address for format teams")
    secret.write_text("https://chat.example/hidden")
    assert found(home)["alarms teams"]["state"] == "ok"
    assert "hidden" not in home.here("check").out


def test_a_program_that_would_not_be_run_is_an_error(home: Home) -> None:
    program = home.folder / "tell"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o777)
    home.configure(f'[[alarms.receivers]]\nformat = "program"\nprogram = "{program}"')
    told = found(home)["alarms program"]
    assert (told["state"], told["hint"]) == ("error", f"chmod go-w {program}")
    assert told["text"].startswith(f"{program} is not run: others can write")
    program.chmod(0o755)
    assert found(home)["alarms program"]["text"].startswith(f"{program} is sent detected, ")
