"""A start that is refused, of the service, the page or a driving process, says why in Chinese where that is spoken."""

import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.cli.founding import steps
from cmgr.cli.founding.token import members_of, token_of
from cmgr.config.receivers import Receiver, address_of, secret_of
from cmgr.config.settings import Metrics
from cmgr.errors import CmgrError, ConfigError
from cmgr.network import trusting
from cmgr.sentences.sentence import CHINESE, chained, in_language
from cmgr.service.door.claim import claim, refuse_if_live
from cmgr.service.door.http.secured import Passwords, Tls
from cmgr.service.driving import drive
from cmgr.store import files
from cmgr.store.reader import open_reader
from cmgr.web import guard
from tests.sentences.test_chinese_lines import COMMAND, ENGLISH


def file_of(path: Path, text: str = "") -> Path:
    path.write_text(text)
    path.chmod(0o640)
    return path


def foreign(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE theirs (x)")
    return path


def newer(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as made, made:
        made.execute(f"PRAGMA application_id = {files.APPLICATION_ID}")
        made.execute("CREATE TABLE meta (level, version)")
        made.execute("INSERT INTO meta VALUES (99, '9.9')")
    return path


def busy(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        refuse_if_live(path)


def twice(path: Path) -> None:
    first = claim(path)
    try:
        claim(path)
    finally:
        first.release()


def wide(path: Path) -> Path:
    path.mkdir()
    path.chmod(0o777)
    return path / "s"


REFUSED: tuple[Callable[[Path], object], ...] = (
    lambda place: twice(place / "s"),
    lambda place: busy(place / "s"),
    lambda place: refuse_if_live(file_of(place / "s")),
    lambda place: claim(wide(place / "wide")),
    lambda place: claim(file_of(place / "file") / "s"),
    lambda place: files.examine(foreign(place / "db")),
    lambda place: files.examine(newer(place / "db")),
    lambda place: files.examine(file_of(place / "db", "no database" * 100)),
    lambda place: files.claim(file_of(place / "file") / "state" / "db"),
    lambda place: open_reader(place / "nothing"),
    lambda place: open_reader(file_of(place / "db")),
    lambda place: Tls(Metrics(cert=str(place / "c"), key=str(place / "k"))).begin(),
    lambda place: Passwords(str(place / "p")).begin(),
    lambda place: Passwords(str(file_of(place / "p"))).begin(),
    lambda place: Passwords(str(file_of(place / "p", "a:b:c\n"))).begin(),
    lambda place: Passwords(str(file_of(place / "p", f"a:scrypt:00:{'00' * 32}\n"))).check("", ""),
    lambda place: trusting(str(place / "ca")),
    lambda place: address_of(Receiver(url_file=str(file_of(place / "u", "nowhere")))),
    lambda place: secret_of(str(file_of(place / "secret"))),
    lambda place: drive(str(place / "nobody")),
    lambda _: members_of(["A=10.0.0.1", "b", "c=10.0.0.300", "d=10.0.0.1", "d=10.0.0.1"], addressed=True),
    lambda _: members_of(["a=10.0.0.1"], addressed=False),
    lambda _: members_of([], addressed=False),
    lambda _: token_of("{", "a.join"),
    lambda _: token_of('{"form": 99}', "a.join"),
    lambda _: steps.Run(("/nowhere/etcd",)).do(),
    lambda _: steps.Run(("false",)).do(),
    lambda place: steps.Write(str(file_of(place / "file") / "a"), "").do(),
    lambda _: guard.address("nowhere"),
    lambda _: guard.address("10.0.0.1:80"),
    lambda _: guard.sent_by_browsers(["a b"]),
)

FOREIGN = [*(os.strerror(number) for number in range(1, 134)), "file is not a database"]
"""The words of the system and of SQLite for their errors stay as they are."""


@pytest.mark.parametrize("refused", REFUSED)
def test_no_refusal_is_english_where_the_locale_is_chinese(tmp_path: Path, refused: Callable[[Path], object]) -> None:
    with pytest.raises(CmgrError) as caught:
        refused(tmp_path)
    mistakes = caught.value.mistakes if isinstance(caught.value, ConfigError) else ()
    for said in (chained(caught.value), caught.value.hint, *mistakes):
        told = COMMAND.sub("", in_language(said, CHINESE))
        for words in FOREIGN:
            told = told.replace(words, "")
        assert not ENGLISH.search(told), told
