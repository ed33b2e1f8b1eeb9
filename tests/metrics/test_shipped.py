"""The alert rules and the dashboard that are shipped: Prometheus takes them, and they name what cmgr exports."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from cmgr.model.values.troubles import TroubleKind
from cmgr.service.metrics.look import Kind
from cmgr.service.metrics.table import METRICS
from tests.docs.made.metrics import ROOT, RULES, Rule, rules
from tests.support.promtool import promtool

CASES = Path(__file__).parent / "cases.yml"
DASHBOARD = ROOT / "etc/grafana/cmgr.json"

EXPORTED = {
    f"{m.name}{end}" for m in METRICS for end in (("_bucket", "_sum", "_count") if m.kind is Kind.HISTOGRAM else ("",))
}
OF_THE_PROCESS = {"process_start_time_seconds", "process_cpu_seconds_total", "process_resident_memory_bytes"}
LABELS = {metric.name: {*metric.labels} for metric in METRICS}


def labels(expression: str) -> set[str]:
    """Return the labels that a sample of the expression may have."""
    found = (LABELS.get(re.sub("_(bucket|sum|count)$", "", name), set()) for name in names(expression))
    return {"instance"}.union(*found)


def names(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:cmgr|process)_\w+", expression))


def expressions() -> list[str]:
    """Return every expression of the dashboard."""
    return [found for found in _values(json.loads(DASHBOARD.read_text()), "expr") if found]


def _values(tree: Any, key: str) -> Iterator[str]:
    if isinstance(tree, dict):
        if key in tree:
            yield tree[key]
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _values(branch, key)


def rows() -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return each row of the dashboard with its panels: a folded one holds them, an open one stands before them."""
    found = list[tuple[dict[str, Any], list[dict[str, Any]]]]()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        if panel["type"] == "row":
            found.append((panel, [*panel["panels"]]))
        else:
            found[-1][1].append(panel)
    return found


def panels() -> list[dict[str, Any]]:
    return [panel for _, those in rows() for panel in those]


def test_prometheus_takes_the_rules() -> None:
    assert f"SUCCESS: {len(rules())} rules found" in promtool("check", "rules", str(RULES))


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    assert "SUCCESS" in promtool("test", "rules", str(CASES))
    cases = CASES.read_text()
    for rule in rules():
        # promtool says nothing of a rule that no case makes fire.
        assert f'alertname="{rule.alert}"' in cases or f"alertname: {rule.alert}" in cases, rule.alert


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.alert)
def test_each_alert_names_what_is_exported_and_says_what_to_do(rule: Rule) -> None:
    assert names(rule.expr) <= EXPORTED | OF_THE_PROCESS
    assert rule.severity in ("warning", "critical")
    assert re.search(r"`(cmgr|systemctl|journalctl|df|prometheus|npu-smi) ?[^`]*`|prometheus\.yml", rule.description)
    assert rule.description.endswith(".")
    if rule.alert != "CmgrAbsent":
        assert "{{ $labels.instance }}" in rule.summary, "of many appliances it says which"
    assert {*re.findall(r"\$labels\.(\w+)", rule.summary + rule.description)} <= labels(rule.expr)


def test_a_trouble_is_as_severe_in_the_rules_as_in_alarms() -> None:
    shipped = {rule.alert: rule for rule in rules()}
    for kind in TroubleKind:
        for name in kind.rules:
            rule = shipped[name]
            assert rule.severity == kind.severity, f"{name} tells of {kind}"
            told = re.findall(r'cmgr_troubles\{kind=~?"([^"]+)"', rule.expr)
            assert not told or any(re.fullmatch(kinds, kind) for kinds in told), f"{name} looks at no {kind}"
        assert kind.rules or not kind.event, f"{kind} has alarms and no rule"


def test_the_dashboard_shows_only_what_is_exported() -> None:
    assert len(expressions()) > 20
    for expression in expressions():
        assert names(expression) <= EXPORTED | OF_THE_PROCESS, expression


def test_prometheus_takes_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    lines = ["groups:", "- name: all", "  rules:"]
    for number, expression in enumerate(expressions()):
        plain = expression.replace("$__rate_interval", "5m").replace("$__range", "1d")
        plain = plain.replace("$instance", ".*").replace("$chip", ".*")
        assert "$" not in plain
        lines.append(f"  - {{record: 'e{number}', expr: {json.dumps(plain)}}}")
    file.write_text("\n".join(lines))
    assert f"SUCCESS: {len(expressions())} rules found" in promtool("check", "rules", str(file))


def test_every_legend_and_every_choice_names_labels_that_its_metrics_have() -> None:
    for panel in panels():
        for target in panel["targets"]:
            used = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert used <= labels(target["expr"]), panel["title"]
            for name in names(target["expr"]) if "$chip" in target["expr"] else ():
                assert "chip" in labels(name), panel["title"]


def test_the_dashboard_can_be_provisioned_and_its_panels_do_not_overlap() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    assert dashboard["uid"] == "cmgr"
    assert "id" not in dashboard, "Grafana gives the number"
    variables = [v["name"] for v in dashboard["templating"]["list"]]
    assert variables == ["datasource", "instance", "chip", "page", "runbooks"]
    all_ids = [panel["id"] for row, those in rows() for panel in (row, *those)]
    assert len(set(all_ids)) == len(all_ids)
    for panel in panels():
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["title"]
        assert panel["description"], panel["title"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for those in ([panel["gridPos"] for panel in (row, *those)] for row, those in rows()):
        for one, other in combinations(those, 2):
            beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
            above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
            assert beside or above
    tops = [(row["gridPos"]["y"], *(panel["gridPos"]["y"] for panel in those)) for row, those in rows()]
    assert all(min(top) == top[0] for top in tops), "each panel is below its row"


def test_the_dashboard_begins_with_the_fleet_on_one_screen_and_folds_the_rest() -> None:
    (fleet, first), *others = rows()
    assert fleet["title"] == "Fleet"
    assert max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in first) <= 28, "of 38 pixels: one screen"
    assert {row["title"].partition(":")[0] for row, _ in others} == {"Machine", "Chip"}
    assert all(row["collapsed"] for row, _ in others)


def test_the_dashboard_leads_to_the_page_and_to_the_runbook_of_each_alert_that_it_is_about() -> None:
    urls = [*_values(json.loads(DASHBOARD.read_text()), "url")]
    led = {url for url in urls if url.startswith("${runbooks}#")}
    headings = re.findall(r"^### (\w+)$", (ROOT / "docs/runbooks.md").read_text(), re.MULTILINE)
    assert led <= {f"${{runbooks}}#{heading.lower()}" for heading in headings}
    assert len(led) > 10
    views = {found[1] for url in urls if (found := re.fullmatch(r"\$\{page\}(?:#/(\w*).*)?", url))}
    shown = re.findall(r"(?:\b|\")(\w*)\"?: \[\"\w+\", \w+View\]", (ROOT / "cmgr/web/static/main.js").read_text())
    assert views - {None} <= {*shown, ""}
    assert {"chips", "services", "faults", "fleet"} <= views


def test_the_dashboard_shows_what_is_exported() -> None:
    seen = {name for text in expressions() for name in names(text)}
    unseen = {m.name for m in METRICS if not any(name.startswith(m.name) for name in seen)}
    for_joins_and_rules = {"cmgr_troubles", "cmgr_chip_info", "cmgr_chip_healthy", "cmgr_ring_resets_limit"}
    assert unseen == for_joins_and_rules
