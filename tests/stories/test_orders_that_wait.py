"""An order that waits can be taken back, and says how.

Tried in 2026 on cmgr as it was: a reset that a person had ordered waited for what had just been started, kept others
down for up to ten minutes, and no command took it back.
"""

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec, deaf

pytestmark = pytest.mark.docker


def test_an_ordered_reset_that_waits_is_taken_back_and_what_it_stopped_runs_again(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    service.start()
    containers.run(deaf("llm", "0", grace=5))
    eventually(lambda: service.runs("llm"))
    assert service.cmgr("cancel", "0").code == 1, "nothing waits yet"
    assert service.cmgr("reset", "0", "--stop", "--yes").code == 0
    # While llm ends, somebody starts what cmgr must not stop: the reset waits for it.
    containers.run(Spec("mine", "1", labels={"cmgr.enable": "false"}))
    eventually(lambda: "to take the ordered reset back: cmgr cancel 0" in " ".join(service.cmgr("status").out.split()))
    told = service.cmgr("cancel", "0")
    assert (told.code, "started again where its chips are well: llm" in told.out) == (0, True)
    service.until_over()
    assert service.runs("llm")
    assert service.resets() == ()
    assert any("took back the reset of chip 0" in note.text for note in service.notes())
