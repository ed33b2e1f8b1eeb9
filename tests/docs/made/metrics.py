"""The tables of docs/metrics.md, made from code and alert rules. `python -m tests.docs.made.metrics` rewrites them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cmgr.model.values.rings import Phase
from cmgr.service.metrics import table
from cmgr.service.metrics.table import METRICS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/metrics.md"
RULES = ROOT / "etc/prometheus/cmgr.rules.yml"


@dataclass(frozen=True, slots=True)
class Rule:
    """One alert of the rules, as far as its lines tell without a reader of YAML."""

    alert: str
    expr: str
    lasting: str
    severity: str
    summary: str
    description: str
    runbook: str


def rules() -> list[Rule]:
    return [_rule(text) for text in re.split(r"\n *- alert: ", RULES.read_text())[1:]]


def _rule(text: str) -> Rule:
    def of(key: str) -> str:
        found = re.search(rf"^ *{key}: (.*)$", text, re.MULTILINE)
        return found[1].strip('"') if found else ""

    description = text.partition("description: >-\n")[2].partition("\n\n")[0]
    name = text.partition("\n")[0]
    return Rule(
        name, of("expr"), of("for"), of("severity"), of("summary"), " ".join(description.split()), of("runbook_url")
    )


def metrics_table() -> str:
    rows = ((f"`{m.name}`", m.kind, ", ".join(f"`{label}`" for label in m.labels), m.text) for m in METRICS)
    return _table(("metric", "type", "labels", "what it says"), rows)


def labels_table() -> str:
    """Return the words of the labels whose values are known beforehand."""
    words = {
        "state": table.STATES,
        "phase": tuple(map(str, Phase)),
        "status": table.STATUSES,
        "cause": table.CAUSES,
        "outcome": table.OUTCOMES,
        "result": (*table.RESULTS, *table.HEALS),
        "source": ("driver", "each runtime"),
    }
    return _table(("label", "values"), ((f"`{label}`", ", ".join(values)) for label, values in words.items()))


def alerts_table() -> str:
    rows = ((f"`{r.alert}`", f"`{r.expr}`", r.lasting or "at once", r.severity) for r in rules())
    return _table(("alert", "fires when", "lasting", "severity"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page() -> str:
    """Return the page with its generated parts as they should be."""
    text = PAGE.read_text()
    for name, made in (("metrics", metrics_table()), ("labels", labels_table()), ("alerts", alerts_table())):
        head, begin, rest = text.partition(f"<!-- generated: {name} -->\n")
        _, end, tail = rest.partition("<!-- end -->")
        assert begin, f"{PAGE.name} has no place for the {name}"
        assert end
        text = f"{head}{begin}{made}\n{end}{tail}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
