"""The check whether a reload of systemd would take their chips from containers that run.

Where systemd makes the control groups of containers, it writes their device rules anew whenever it reads its units
anew. runc names each device to it as /dev/char/MAJOR:MINOR, and not every driver's devices have such a link. Not every
version of runc depends on that (docs/nvml.md).
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.cli.check.finding import WARNING, Finding
from cmgr.sentences.sentence import say
from cmgr.vendor import notations

if TYPE_CHECKING:
    from cmgr.view import shapes

_SCOPE = re.compile(r"-([^/-]+)\.scope")
"""The id of a container in the control group that systemd made for it, as /proc/PID/cgroup names that."""


def reloads(
    rows: "Iterable[shapes.Container]", dev: Path = Path("/dev"), proc: Path = Path("/proc")
) -> Iterator[Finding]:
    """Yield, once, who would lose its chips. `rows`: the containers that the service knows."""
    link, target = next(_missing(dev), ("", ""))
    if not link:
        return
    made = {id_ for process in proc.glob("[0-9]*/cgroup") for id_ in _SCOPE.findall(_read(process))}
    names = sorted(row["called"] for row in rows if row["chips"] and row["id"] in made)
    if names:
        text = say("check.reload", names=names, link=link)
        yield Finding(
            "container",
            WARNING,
            text,
            say("check.make-link", reload="systemctl daemon-reload", command=f"ln -s {target} {link}"),
        )


def _missing(dev: Path) -> Iterator[tuple[str, str]]:
    """Yield the link that each device file of a chip should have, and does not; and what it should lead to."""
    for file in sorted(dev.iterdir()):
        if any(notation.node.fullmatch(f"/dev/{file.name}") for notation in notations()):
            number = file.stat().st_rdev
            link = f"char/{os.major(number)}:{os.minor(number)}"
            if not (dev / link).exists():
                yield f"/dev/{link}", f"../{file.name}"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
