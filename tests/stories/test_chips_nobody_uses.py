"""A chip that nobody uses is not taken out of use for what it reports often.

Seen on an appliance in 2026: the rule "software or hardware" counted the codes of chips that lay idle towards their
isolation, and the maker's newest Device Plugin does not.
"""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.support.service import NOW, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

SEPARATE = "80818C00"
"""A fault whose own level isolates the chip (SeparateNPU)."""


def has_reset(service: Service, times: int) -> bool:
    return [reset.outcome for reset in service.resets()] == ["taken"] * times


def test_what_an_idle_chip_reports_often_is_not_counted_and_what_isolates_by_itself_isolates_it(
    on_docker: Install, containers: Containers, folder: Path
) -> None:
    often = {"EventId": [NOW], "TimeWindow": 86400, "Times": 2, "FaultHandling": "ManuallySeparateNPU"}
    rules = folder / "rules.json"
    rules.write_text(json.dumps({"FaultFrequency": [often]}))
    rules.chmod(0o640)
    service = on_docker({"faults.rules": str(rules)})
    containers.run(Spec("llm", "0"))
    service.start()
    eventually(lambda: service.runs("llm"))
    for number in range(1, 4):
        service.inject(4)
        eventually(partial(has_reset, service, number))
        service.until_over()
    assert not service.status()["chips"][4]["isolated"]
    service.inject(5, SEPARATE)
    eventually(lambda: service.status()["chips"][5]["isolated"])
    assert service.runs("llm")
