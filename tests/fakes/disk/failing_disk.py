"""A disk whose writes and syncs fail, for processes that are started with it."""

from pathlib import Path

from tests.fakes.preloaded import Preloaded

SOURCE = Path(__file__).with_name("failing.c")

LAST = 0xFFFF


class FailingDisk(Preloaded):
    """Compiled in `folder`. To processes with this `environment` what is `under` fails when it is told so."""

    def __init__(self, folder: Path, under: Path) -> None:
        super().__init__(folder, SOURCE, "FAILING_DISK")
        self._note = folder / "failed"
        self.environment = {**self.environment, "FAILING_UNDER": str(under), "FAILING_NOTE": str(self._note)}

    def fail(self, error: int, first: int = 1, last: int = LAST) -> None:
        """Let writes and syncs end with this errno, from the `first` to the `last`, counted from now."""
        self._note.unlink(missing_ok=True)
        self.put(error << 32 | last << 16 | first)

    def well(self) -> None:
        """Let all succeed again."""
        self.put(0)

    @property
    def failed(self) -> bool:
        """Whether one has failed since it was told so."""
        return self._note.exists()
