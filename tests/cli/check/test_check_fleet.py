"""`cmgr check` says everything that can be wrong with a fleet's engine, and writes nothing there."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cmgr.fleet.access import machine
from cmgr.fleet.appliance_text import Claim, presence_text
from cmgr.fleet.document_text import encoded
from cmgr.model.values.presence import Ail, Presence
from tests.cli.conftest import Home
from tests.support.certificates import Certificates
from tests.support.daemons.etcd import Cluster, Options, free_ports
from tests.support.programs import at_another_time
from tests.support.waiting import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.alone]


def fleet(home: Home, *lines: str) -> None:
    home.configure('strategy = "ringRecover"', "[fleet]", 'engine = "etcd"', *lines)


def at(cluster: Cluster, prefix: str = "/check") -> tuple[str, ...]:
    listed = ", ".join(f'"{endpoint}"' for endpoint in cluster.endpoints)
    return f"endpoints = [{listed}]", f'prefix = "{prefix}"', 'name = "a"'


def told(home: Home, what: str) -> list[tuple[str, str, str]]:
    """Return the findings about it: state, text, hint."""
    findings = json.loads(home.here("check", "--json").out)["findings"]
    return [(f["state"], f["text"], f["hint"]) for f in findings if f["what"] == what]


@pytest.fixture
def guarded() -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.start()
    cluster.guard("hall", "secret", "/check")
    yield cluster
    cluster.close()


@pytest.fixture
def password(home: Home) -> Path:
    path = home.folder / "password"
    path.write_text("secret\n")
    path.chmod(0o600)
    return path


def test_without_a_fleet_nothing_is_said_of_one(home: Home) -> None:
    home.configure('strategy = "ringRecover"')
    whats = {f["what"] for f in json.loads(home.here("check", "--json").out)["findings"]}
    assert not {"fleet", "fleet prefix", "fleet name", "etcd"} & whats


def test_an_engine_without_users_works_and_is_a_warning(home: Home, etcd: Cluster) -> None:
    fleet(home, *at(etcd))
    ((state, text, hint),) = told(home, "fleet")
    assert (state, "asks nobody for a password" in text, "docs/fleet.md" in hint) == ("warning", True, True)
    assert told(home, "fleet prefix") == [
        ("ok", "may read and write below /check: 0 appliances and 0 groups are there", "")
    ]
    assert told(home, "fleet name") == [("ok", "the name a is free; the service takes it", "")]
    ((state, text, _),) = told(home, "etcd")
    assert (state, text.startswith(f"{etcd.endpoints[0]} answers: etcd 3."), text.endswith(", which leads")) == (
        "ok",
        True,
        True,
    )
    assert etcd.ctl("get", "--prefix", "/check").stdout == "", "nothing was written"


def test_an_engine_that_is_not_there_is_an_error(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = f"http://127.0.0.1:{free_ports(1)[0]}"
    fleet(home, f'endpoints = ["{endpoint}"]', 'name = "a"')
    ((state, text, hint),) = told(home, "etcd")
    assert (state, text) == ("error", f"cannot ask {endpoint}: Connection refused")
    assert "journalctl -u etcd" in hint
    assert told(home, "fleet prefix")[0][0] == "error"
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("COLUMNS", "200")
    assert f"无法询问 {endpoint}：Connection refused" in home.here("check").out


def test_one_node_of_several_that_is_away_is_a_warning(home: Home, etcd: Cluster) -> None:
    gone = f"http://127.0.0.1:{free_ports(1)[0]}"
    fleet(home, f'endpoints = ["{etcd.endpoints[0]}", "{gone}"]', 'prefix = "/check"', 'name = "a"')
    assert [state for state, _, _ in told(home, "etcd")] == ["ok", "warning"]
    assert told(home, "fleet prefix")[0][0] == "ok"


def test_a_user_with_its_rights_is_well(home: Home, guarded: Cluster, password: Path) -> None:
    fleet(home, *at(guarded), 'user = "hall"', f'password_file = "{password}"')
    assert told(home, "fleet") == []
    assert [state for state, _, _ in told(home, "fleet prefix")] == ["ok"]
    ((state, text, _),) = told(home, "etcd")
    assert (state, ": etcd 3." in text, text.endswith("which leads")) == ("ok", True, True)


def test_a_wrong_password_is_an_error_that_names_the_file(home: Home, guarded: Cluster, password: Path) -> None:
    password.write_text("wrong")
    fleet(home, *at(guarded), 'user = "hall"', f'password_file = "{password}"')
    ((state, text, hint),) = told(home, "fleet prefix")
    assert (state, "cannot log in as hall" in text, "fleet.password_file" in hint) == ("error", True, True)


def test_a_password_file_that_others_can_read_or_that_is_empty_is_an_error(
    home: Home, guarded: Cluster, password: Path
) -> None:
    fleet(home, *at(guarded), 'user = "hall"', f'password_file = "{password}"')
    password.chmod(0o644)
    assert told(home, "fleet") == [
        ("error", f"cannot use {password}: its mode 0644 is wider than 0640", f"chmod 0640 {password}")
    ]
    password.chmod(0o600)
    password.write_text("\n")
    ((state, text, _),) = told(home, "fleet")
    assert (state, text) == ("error", f"cannot use {password}: it is empty")


def test_an_engine_that_wants_a_password_and_gets_none_is_an_error(home: Home, guarded: Cluster) -> None:
    fleet(home, *at(guarded))
    ((state, text, _),) = told(home, "fleet")
    assert (state, text) == ("error", "etcd asks for a password, and no fleet.user is set")


def test_rights_that_are_not_there_are_an_error(home: Home, guarded: Cluster, password: Path) -> None:
    who = ('user = "hall"', f'password_file = "{password}"')
    fleet(home, *at(guarded, "/other"), *who)
    ((state, text, hint),) = told(home, "fleet prefix")
    assert (state, text) == ("error", "etcd says: permission denied")
    assert "lacks a right below fleet.prefix" in hint
    # To read alone is not enough.
    guarded.ctl("role", "grant-permission", "hall", "read", "--prefix=true", "/other/")
    fleet(home, *at(guarded, "/other"), *who)
    assert told(home, "fleet prefix")[0][:2] == ("error", "etcd says: permission denied")


def test_another_machine_of_our_name_is_an_error_and_this_one_is_not(home: Home, etcd: Cluster) -> None:
    fleet(home, *at(etcd, "/named"))
    etcd.ctl("put", "/named/appliances/a", encoded(Claim("f" * 32, 3, "0" * 16, "1.0")).decode())
    ((state, text, hint),) = told(home, "fleet name")
    assert (state, text) == ("error", "another machine is a in this fleet")
    assert "etcdctl del /named/appliances/a" in hint
    etcd.ctl("put", "/named/appliances/a", encoded(Claim(machine(), 3, "0" * 16, "1.0")).decode())
    assert told(home, "fleet name") == [("ok", "this machine is a, registered 3 times", "")]


def test_the_other_appliances_are_told_with_what_to_type_there(home: Home, etcd: Cluster) -> None:
    fleet(home, *at(etcd, "/others"))
    for name in "abcd":
        etcd.ctl("put", f"/others/appliances/{name}", encoded(Claim(machine(), 1, "0" * 16, "1.0")).decode())
    well, now = Presence("ready", datetime(2026, 1, 1, tzinfo=UTC)), datetime.now(UTC)
    ill = replace(well, ails=(Ail("ring 0 is kept back", "cmgr resume --all"), Ail("odd", "reboot")))
    etcd.ctl("put", "/others/alive/b", presence_text(well, now).decode())
    etcd.ctl("put", "/others/alive/c", presence_text(ill, now).decode())
    assert told(home, "fleet appliances") == [
        ("ok", "b is seen: cmgr 1.0, ready", ""),
        ("warning", "c: ring 0 is kept back", "on c: cmgr resume --all"),
        ("warning", "c: odd", "on c: cmgr status"),
        (
            "warning",
            "d is not seen",
            "does cmgr run there? when it is gone for good: etcdctl del /others/appliances/d",
        ),
    ]


def test_keys_of_others_below_the_prefix_are_a_warning(home: Home, etcd: Cluster) -> None:
    fleet(home, *at(etcd, "/shared"))
    etcd.ctl("put", "/shared/groups/tp4", "{")
    etcd.ctl("put", "/shared/config/of/others", "x")
    state, text, _ = told(home, "fleet prefix")[1]
    assert (state, text) == (
        "warning",
        "2 keys below /shared cannot be read: /shared/config/of/others, /shared/groups/tp4",
    )


def test_certificates_that_are_wrong_are_errors(home: Home, tmp_path: Path) -> None:
    certificates = Certificates(home.folder)
    good, old = certificates.server, certificates.signed("old", days_ago=9)
    certificates.server = old
    cluster = Cluster(1, Options(tls=certificates))
    try:
        cluster.launch()
        fleet(home, *at(cluster), f'ca = "{certificates.ca}"')
        eventually(lambda: "refused" not in told(home, "etcd")[0][1], "it listens")
        ((state, text, _),) = told(home, "etcd")
        assert (state, text.partition(": ")[2]) == ("error", "its certificate is not good: certificate has expired")
        cluster.nodes[0].kill()
        certificates.server = good
        cluster.start()
        assert told(home, "etcd")[0][0] == "ok"
        fleet(home, *at(cluster))
        assert "its certificate is not good" in told(home, "etcd")[0][1]
        fleet(home, *at(cluster), f'ca = "{home.folder}/none.pem"')
        assert told(home, "fleet")[0][0] == "error"
        fleet(home, *at(cluster), f'ca = "{certificates.ca}"', f'cert = "{good.cert}"', f'key = "{old.key}"')
        ((state, text, _),) = told(home, "fleet")
        assert (state, "they are no certificate and its key" in text) == ("error", True)
        certificates.ca.chmod(0o666)
        fleet(home, *at(cluster), f'ca = "{certificates.ca}"')
        assert "others can write the file" in told(home, "fleet")[0][1]
    finally:
        cluster.close()


def test_an_engine_that_is_full_is_an_error(home: Home) -> None:
    cluster = Cluster(1, Options(quota=2 * 2**20))
    try:
        cluster.start()
        while cluster.ctl("put", "/stranger", "x" * 90_000, check=False).returncode == 0:
            pass
        fleet(home, *at(cluster))
        assert [state for state, _, _ in told(home, "etcd")] == ["ok", "error"]
        _, text, hint = told(home, "etcd")[1]
        assert text == f"{cluster.endpoints[0]} is full: no group can go on"
        assert "alarm disarm" in hint
    finally:
        cluster.close()


def test_a_clock_that_is_an_hour_ahead_is_a_warning(home: Home, etcd: Cluster) -> None:
    fleet(home, *at(etcd))
    command = [*at_another_time("+1h"), sys.executable, "-m", "cmgr"]
    words = [*command, "check", "--json", f"--config={home.config}"]
    findings = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)["findings"]
    ((state, text),) = [(f["state"], f["text"]) for f in findings if f["what"] == "etcd" and "clock" in f["text"]]
    assert (state, f"the clock of {etcd.endpoints[0]} is " in text, "behind ours" in text) == ("warning", True, True)
