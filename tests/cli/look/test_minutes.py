"""cmgr downtime: who is asked, and until when it is known."""

import json
from contextlib import closing
from datetime import UTC, datetime

import pytest

from cmgr.service.door.routes import Request
from cmgr.service.timing.period import quarter_of
from cmgr.store.reader import open_reader
from cmgr.view import slot_shapes
from tests.cli.conftest import Home
from tests.support.door import door

pytestmark = pytest.mark.usefixtures("database")


def test_without_the_service_it_is_known_until_that_was_there_last(home: Home) -> None:
    told = home.here("downtime", "--json")
    found = json.loads(told.out)
    assert (told.code, set(found)) == (0, set(slot_shapes.Downtime.__required_keys__))
    assert found == json.loads(home.here("downtime", "--quarter", "-o", "json").out) | {"ends": found["ends"]}
    with open_reader(home.database) as reader:
        alive = reader.lives().alive
    assert alive is not None
    assert datetime.fromisoformat(found["known_until"]) == alive.replace(microsecond=alive.microsecond // 1000 * 1000)
    shown = home.here("downtime")
    assert "from the database: the service is not running" in shown.err
    assert "when cmgr was there last" in shown.out


def test_a_service_that_runs_is_asked(home: Home) -> None:
    known, asked = json.loads(home.here("downtime", "--json").out), list[Request]()

    def answer(request: Request) -> dict[str, object]:
        asked.append(request)
        return {**known, "minutes": 77.0}

    server = door(home.socket, answer)
    server.start()
    with closing(server):
        shown, printed = home.here("downtime"), home.here("downtime", "2020-Q3", "-o", "html")
    assert ": 77.0 min, each service for itself" in shown.out
    assert printed.out.startswith("<!doctype html>")
    assert (shown.err, printed.err) == ("", "")
    quarter = quarter_of(datetime.now(UTC)).name
    assert [(each.do, each.args) for each in asked] == [
        ("downtime", {"when": quarter}),
        ("downtime", {"when": "2020-Q3"}),
    ]


@pytest.mark.parametrize("words", [("2020-Q5",), ("--quarter", "2020")])
def test_what_is_no_period_or_two_is_refused(home: Home, words: tuple[str, ...]) -> None:
    assert home.here("downtime", *words).code == 2
