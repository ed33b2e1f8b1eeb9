"""The directory of the database is changed while something is held.

Tried in 2026 on cmgr as it was: the service began with empty books, all was well, and the container that it had stopped
stayed down for good, its restart policy off.
"""

from pathlib import Path

from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.conftest import Install


def test_a_container_that_is_held_when_state_dir_is_changed_is_started_all_the_same(
    install: Install, tmp_path: Path
) -> None:
    service = install({"levels.RestartRequest.reset_after": "600s"})
    own = {"STATE_DIRECTORY": str(service.database.parent)}
    service.pretend("llm")
    service.start(own)
    eventually(lambda: service.container("llm"), "it is known")
    service.inject(0, LATER)
    eventually(lambda: (service.container("llm") or {}).get("status") == "paused", "it is held")
    service.terminate()
    service.configure({"state_dir": str(tmp_path / "elsewhere"), "levels.RestartRequest.reset_after": "0s"})
    service.database = tmp_path / "elsewhere" / service.database.name
    service.start(own)
    assert "state_dir was changed: the database came along from" in service.said()
    service.until_over()
    eventually(lambda: service.runs("llm"), "what was held runs")
    assert [reset.outcome for reset in service.resets()] == ["taken"]
