"""The page beside real containers: a whole recovery on a real Docker daemon, watched in a browser."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import Told
from tests.support.page import settings, site
from tests.support.waiting import PATIENCE
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.docker


def test_a_recovery_of_real_containers_is_watched_until_all_is_well(
    on_docker: Install, containers: Containers, folder: Path, browser: "Browser"
) -> None:
    service = on_docker({**settings(folder), "sim.boot_time": "1s", "sim.measured": True})
    containers.run(Spec("chat", "0,1"), Spec("search", "4"))
    service.start()
    with site(service, folder) as made:
        page = browser.new_page()
        told = Told(page)
        page.goto(made.link())
        first = page.get_by_role("heading", level=1)
        expect(first).to_have_text("All is well", timeout=PATIENCE * 1000)
        expect(page.get_by_role("region", name="Services").locator("tbody tr")).to_have_count(2)
        expect(page.locator(".tile").first).to_contain_text("°C", timeout=PATIENCE * 1000)
        service.inject(1)
        expect(page.locator(".hero.busy")).to_contain_text("A recovery is under way", timeout=PATIENCE * 1000)
        page.get_by_role("link", name=re.compile("Watch episode")).click()
        expect(page.locator("svg.lanes")).to_contain_text("chat")
        expect(page.locator(".title .badge")).to_have_text("recovered", timeout=PATIENCE * 1000)
        expect(page.get_by_role("region", name="As a list")).to_contain_text("chat runs again")
        page.get_by_role("link", name="Now", exact=True).click()
        expect(first).to_have_text("All is well", timeout=PATIENCE * 1000)
        assert told.complaints == []
        page.close()
    assert containers.all_running()
