"""`cmgr check` on roles: who may do what, who has more than was meant, and who can read the database."""

import json
import os
from contextlib import closing

import pytest

from cmgr.store import open_store
from cmgr.store.files import NAME
from tests.cli.conftest import Home

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees all of it")

ROLES = """
[[roles]]
role = "look"
uid = 4242
[[roles]]
role = "operate"
group = "daemon"
[[roles]]
role = "look"
uid = 1
group = "sys"
[[roles]]
role = "look"
group = "no-such-group-of-cmgr"
[[reports.sources]]
name = "storage"
uid = 985
"""


def told(home: Home) -> list[tuple[str, str]]:
    found = json.loads(home.here("check", "--json").out)["findings"]
    return [(f["state"], f["text"]) for f in found if f["what"] == "roles"]


def test_everybody_who_has_a_role_is_told_with_what_he_may_do(home: Home) -> None:
    home.folder.chmod(0o755)
    with closing(open_store(home.folder / "state" / NAME)):
        pass
    home.configure(ROLES)
    assert told(home) == [
        ("ok", "roles[1]: uid 4242 may look"),
        ("ok", "roles[2]: group daemon (daemon) may do everything"),
        ("ok", "roles[3]: uid 1 (daemon) in group sys (sys) may look"),
        ("warning", "roles[4]: there is no group no-such-group-of-cmgr: nobody has a role by that"),
        ("ok", "source storage: uid 985 may report and look"),
        ("ok", "the database, which has the history, can be read by root and group root (root), and nobody else"),
    ]


def test_who_cannot_reach_the_socket_is_told(home: Home) -> None:
    home.folder.chmod(0o700)
    home.configure(ROLES)
    state, text = told(home)[0]
    assert state == "warning"
    assert text == f"roles[1]: uid 4242 cannot reach the socket: {home.folder} is closed to it"


def test_a_role_for_nobody_in_particular_is_a_mistake(home: Home) -> None:
    home.configure('[[roles]]\nrole = "look"\n[[reports.sources]]\nname = "storage"')
    outcome = home.here("check")
    assert "roles[1]: needs a uid, a group, or both" in outcome.out
    assert "reports.sources[1]: needs a uid, a group, or both" in outcome.out
