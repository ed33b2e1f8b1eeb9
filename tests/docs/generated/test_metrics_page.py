"""The page about metrics says what the code has."""

import re

from cmgr.config.settings import Config
from cmgr.service.door.scrapes import PATH, RETRY_SECONDS
from cmgr.service.metrics.chips import FRESH_SECONDS
from cmgr.service.metrics.table import METRICS
from tests.docs.made import metrics


def test_the_page_has_the_metrics_and_the_alerts_that_there_are() -> None:
    assert metrics.PAGE.read_text() == metrics.page(), "run: make generated"


def test_the_numbers_and_names_of_the_page_are_those_of_the_code() -> None:
    text = metrics.PAGE.read_text()
    listen = Config().metrics.listen
    assert f"http://{listen}{PATH}" in text
    assert f'listen = "{listen}"' in text
    assert f'targets: ["{listen}"]' in text
    assert f"every {RETRY_SECONDS:g} s" in text
    assert f"at most {FRESH_SECONDS:g} s old" in text
    known = {m.name for m in METRICS}
    assert set(re.findall(r"`(cmgr_\w+)`", text)) == known
