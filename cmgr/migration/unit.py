"""Words for all else that stands in a reference's unit: settings of systemd that cmgr's own unit has or has not."""

from collections.abc import Iterator

from cmgr.config.spelling import quoted
from cmgr.migration.unit_file import Assignment, Unit, words
from cmgr.sentences.sentence import say

_READ = (("Service", "ExecStart"), ("Service", "EnvironmentFile"), ("Service", "WorkingDirectory"))
_TELLING = ("Description", "Documentation", "SourcePath")
_OURS = ("Type", "Restart", "RestartSec", "KillMode", "User", "Group", "WantedBy", "Unit", "PIDFile", "After", "Wants")
_GO = ("GOGC", "GOMAXPROCS", "GODEBUG", "GOMEMLIMIT")


def leftovers(unit: Unit) -> tuple[str, ...]:
    """Return a sentence for each setting that is not carried over."""
    rest = [a for a in unit.assignments if (a.section, a.key) not in _READ and a.key not in _TELLING]
    ours = sorted({a.key for a in rest if a.key in _OURS and a.value not in ("", "root")}, key=_OURS.index)
    told = [say("migrate.own-unit", keys=ours)] if ours else []
    variables = list(dict.fromkeys(name for a in rest if a.key == "Environment" for name in _names(a)))
    go = [name for name in variables if name in _GO]
    if go:
        told.append(say("migrate.for-go", names=go, language="Go"))
    others = (quoted(name)[1:-1] for name in variables if name not in _GO)
    told += [say("migrate.reference-alone", name=name) for name in others]
    return (*told, *(line for a in rest for line in _sentence(a)))


def _sentence(assignment: Assignment) -> Iterator[str]:
    shown = f"{assignment.key}={assignment.value}"
    if assignment.section == "Timer" and assignment.key not in _OURS:
        yield say("migrate.no-timer", setting=shown)
    elif assignment.key == "User" and assignment.value not in ("", "root"):
        yield say("migrate.runs-as-root", setting=shown)
    elif assignment.key not in (*_OURS, "Environment") and assignment.value:
        yield say("migrate.not-carried", setting=shown, command="systemctl edit cmgr")


def _names(assignment: Assignment) -> list[str]:
    try:
        return [word.partition("=")[0] for word in words(assignment.value)]
    except ValueError:
        return []  # Told as a mistake already.
