"""The page about metrics says what the code has."""

import re
from datetime import UTC, datetime

from cmgr.config.settings import Config
from cmgr.model.values.chips import ChipId
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.door.scrapes import PATH, RETRY_SECONDS
from cmgr.service.metrics.chips import FRESH_SECONDS
from cmgr.service.metrics.table import METRICS
from cmgr.service.notices import objects
from cmgr.service.notices.alarms import Alarm
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


def test_every_alert_and_alarm_has_its_runbook() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    told = [Alarm(k.event, k, "id", at, at, "it is so", ring=0, chips=(ChipId(0),)) for k in TroubleKind if k.event]
    alarms = objects.alerts(told, "appliance-7", at)
    notes = [alert["annotations"] for alert in alarms]
    urls = {str(each["runbook_url"]) for each in notes if isinstance(each, dict)} | {r.runbook for r in metrics.rules()}
    page = metrics.ROOT / "docs/runbooks.md"
    headings = re.findall(r"^### (.+)$", page.read_text(), re.MULTILINE)
    assert urls == {f"/usr/share/doc/cmgr/runbooks.md#{heading.lower()}" for heading in headings}
    assert all(rule.runbook.endswith(f"#{rule.alert.lower()}") for rule in metrics.rules())


def test_the_runbook_of_troubles_has_a_row_for_each_kind() -> None:
    (rule,) = (rule for rule in metrics.rules() if rule.alert == "CmgrTrouble")
    kinds = re.search(r'kind=~"([^"]+)"', rule.expr)
    assert kinds
    rows = re.findall(r"^\| `([\w-]+)` \|", (metrics.ROOT / "docs/runbooks.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(kinds[1].split("|"))
