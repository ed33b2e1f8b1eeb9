"""The last words of a container that does not serve are shown to those who may give orders."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from cmgr.config.roles import Role
from cmgr.errors import ContainerError
from cmgr.model.values.services.containers import ContainerKey
from cmgr.ports import Runtime
from cmgr.service.door.answers import LAST_WORDS
from cmgr.service.door.routes import Request, find
from cmgr.store import open_store
from tests.cli.scenes import recovering
from tests.support.door import Books, table


class Writing:
    """A runtime of which nothing else is asked than what a container wrote."""

    def __init__(self, written: str | None) -> None:
        self.written = written

    def document(self, key: ContainerKey) -> Mapping[str, object]:
        raise AssertionError(key)

    def output(self, key: ContainerKey, lines: int) -> str:
        assert (key.id, lines) == ("a", LAST_WORDS)
        if self.written is None:
            raise ContainerError("cannot read the log of container a: its output is kept nowhere")
        return self.written


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with closing(open_store(tmp_path / "cmgr.db")) as store:
        store.save(recovering(), (), ())
    return tmp_path / "cmgr.db"


def about(database: Path, name: str, written: str | None, role: Role = Role.OPERATE) -> Any:
    runtimes = {"docker": cast("Runtime", Writing(written))}
    routes = table(books=Books(recovering, database, runtimes=runtimes))
    found = find(routes, "GET", f"/v1/containers/{name}", b"", role)
    return found.route.answer(Request("container", found.args, role=role))


def test_the_end_of_the_log_is_shown_without_passwords_and_escapes(database: Path) -> None:
    told = about(database, "a", "loading\n\x1b[31mno memory\nlogin with password=hunter2\n")
    first, second, third = told["last_words"]
    assert first == "loading"
    assert "\x1b" not in second
    assert "hunter2" not in third
    assert told["log"] == "docker logs --tail 100 a"


def test_of_one_that_serves_nobody_asks(database: Path) -> None:
    assert about(database, "b", "well")["last_words"] == []


def test_who_may_only_look_sees_no_log(database: Path) -> None:
    assert about(database, "a", "a secret", Role.LOOK)["last_words"] == []


def test_where_it_is_kept_nowhere_the_rest_is_shown(database: Path) -> None:
    told = about(database, "a", None)
    assert (told["last_words"], told["container"]["name"]) == ([], "a")
