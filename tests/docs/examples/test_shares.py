"""The example of docs/shares.md says what the page says (CMGR_REWRITE_GOLDEN=1: it is written anew)."""

import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.made.session import Example, Session, plain, run
from tests.support.service import Service
from tests.support.waiting import eventually

pytestmark = pytest.mark.alone

PAGE = Path(__file__).parents[3] / "docs" / "shares.md"


@pytest.fixture
def service() -> Iterator[Service]:
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    folder = Path(tempfile.mkdtemp(prefix="cmgr-shares-"))
    made = Service(folder, {})
    given = {*tomllib.loads(toml), *(f"sim.{name}" for name in tomllib.loads(toml)["sim"])}
    made.settings = {name: value for name, value in made.settings.items() if name not in given}
    made.more = toml
    made.configure({})
    made.start()
    eventually(lambda: len(made.status()["containers"]) == 3)
    yield made
    made.close()
    shutil.rmtree(folder)


def test_the_example_says_what_the_page_says(service: Service) -> None:
    different: list[tuple[str, str, str]] = []

    def differ(example: Example, said: str) -> None:
        different.append((example.command, plain(example.output), plain(said)))

    made = run(PAGE.read_text(), Session(service), differ)
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        PAGE.write_text(made)
        return
    assert different == []
