"""Hooks for tests: scripts that write down that they ran, and with what in their environment."""

from pathlib import Path

from tests.support.waiting import eventually

_RECORD = """#!/bin/sh
{before}
env | sort > "{folder}/.$$" && mv "{folder}/.$$" "{folder}/$(date +%s%N).{name}"
{after}
"""


class HookFolder:
    """A directory of hooks, and the record of their runs. The test makes the marks that the scripts wait for: `let`."""

    def __init__(self, folder: Path) -> None:
        self.dir = folder / "hooks.d"
        self.dir.mkdir(mode=0o755)
        self._record = folder / "ran"
        self._record.mkdir()
        self._marks = folder / "marks"
        self._marks.mkdir()

    def put(self, name: str, after: str = "", before: str = "") -> Path:
        """Put a hook there that writes its run down between these two pieces of shell."""
        path = self.dir / name
        path.parent.mkdir(mode=0o755, exist_ok=True)
        text = _RECORD.format(folder=self._record, name=path.name, before=before, after=after)
        # Put into place as a whole: a file that is open for writing cannot be run.
        fresh = path.with_name(f".{path.name}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.rename(path)
        return path

    def unless(self, mark: str, then: str) -> str:
        """Return shell that does this as long as the test has not made the mark."""
        return f'test -e "{self._marks / mark}" || {{ {then}; }}'

    def until(self, mark: str) -> str:
        """Return shell that waits for the test to make the mark."""
        return f'until test -e "{self._marks / mark}"; do sleep 0.02; done'

    def let(self, mark: str) -> None:
        (self._marks / mark).touch()

    def runs(self, name: str = "") -> list[dict[str, str]]:
        """Return the variables of each run, the oldest first; of one hook only."""
        found = sorted(p for p in self._record.iterdir() if not p.name.startswith(".") and p.name.endswith(name))
        return [dict(line.split("=", 1) for line in p.read_text().splitlines() if "=" in line) for p in found]

    def until_run(self, name: str, times: int = 1) -> list[dict[str, str]]:
        eventually(lambda: len(self.runs(name)) >= times, why=f"hook {name} ran {times} times")
        return self.runs(name)


def told(run: dict[str, str]) -> dict[str, str]:
    """Return what cmgr told in a run, without the prefix."""
    return {name.removeprefix("CMGR_HOOK_"): value for name, value in run.items() if name.startswith("CMGR_HOOK_")}
