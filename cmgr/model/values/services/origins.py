"""Where what a runtime says comes from: its engine, which has the books of its containers."""

from datetime import datetime

from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say


@dataclass(frozen=True, slots=True)
class Origin:
    """The engine that answers for a runtime.

    `word`: another one where the books are others; empty where nobody can tell. `root`: where they are, and `kind` what
    that is called, both for people. `doubted`: since when it lists nobody of those that ran, which is not believed.
    `boots`: it starts those whose restart policy says so when the machine has booted.
    """

    runtime: str
    word: str = ""
    kind: str = ""
    root: str = ""
    doubted: datetime | None = None
    boots: bool = True

    @property
    def words(self) -> str:
        return say("container.origin", kind=self.kind, root=self.root) if self.root else ""
