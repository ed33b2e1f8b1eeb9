"""A switch is restarted, and its links come back: nobody is sent to a cable that is well.

Tried in 2026 on cmgr as it was: for the minute for which a rule does not believe a link yet, it was told as down, with
"look at the cable and the optics" beside it. The person who had just plugged it in plugged it out again.
"""

from pathlib import Path

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.episodes.test_levels import rules

LINK = "81078603"
LASTS = {"EventId": [LINK], "FaultTimeout": 1, "RecoverTimeout": 3600, "FaultHandling": "PreSeparateNPU"}


def test_a_link_that_is_up_again_is_told_as_that(install: Install, folder: Path) -> None:
    service = install({"faults.rules": rules(folder, FaultDuration=[LASTS]), "resync": "1s"})
    service.start()

    def told(text: str) -> str:
        """Return what to do, where this is the one trouble."""
        troubles = service.status()["troubles"]
        return str(troubles[0]["hint"]) if [t["text"] for t in troubles] == [text] else ""

    for chip in (0, 1):
        service.inject(chip, LINK)
    assert "switch" in eventually(lambda: told(f"network fault {LINK} on chips 0-1"))
    service.inject(0, LINK, "cleared")
    assert "cable and the optics of chip 1" in eventually(lambda: told(f"network fault {LINK} on chip 1"))
    service.inject(1, LINK, "cleared")
    hint = eventually(lambda: told("link of chips 0-1 is up again"))
    assert hint == "wait: new work goes there by itself again"
    assert "believed from" in service.status()["troubles"][0]["why"]
