"""The labels of docker compose, and of nerdctl's, turned into a container's place in its project. Pure."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import Container

PROJECT = "com.docker.compose.project"
SERVICE = "com.docker.compose.service"
NUMBER = "com.docker.compose.container-number"
DEPENDS_ON = "com.docker.compose.depends_on"
ONEOFF = "com.docker.compose.oneoff"

PLACE = frozenset({PROJECT, SERVICE, NUMBER})
"""The labels that put a container into a project."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_MOST_NEEDS = 64

# Service, condition, whether a restart is carried over, whether it is required: the last says nothing to cmgr.
_NEED = re.compile(rf"({_NAME})(?::({'|'.join(Condition)})(?::(true|false)(?::(?:true|false))?)?)?")


def placed(container: Container, labels: Mapping[str, str], made: datetime | None) -> Container:
    """Return the container with its place, and a warning where its labels cannot be read: then it is in no project."""
    if PROJECT not in labels or labels.get(ONEOFF, "").casefold() == "true":
        return container  # A container of `compose run` is of no service.
    names = {label: labels.get(label, "") for label in (PROJECT, SERVICE)}
    warnings = [
        f"cannot read label {label}={value[:48]!r}: it takes a name"
        for label, value in names.items()
        if not re.fullmatch(_NAME, value)
    ]
    number = labels.get(NUMBER, "0")
    if not re.fullmatch("[0-9]{1,6}", number):
        warnings.append(f"cannot read label {NUMBER}={number[:48]!r}: it takes a whole number")
    composed = None
    if not warnings:
        needs = _needs(labels.get(DEPENDS_ON, ""), warnings)
        composed = Composed(labels[PROJECT], labels[SERVICE], int(number), needs, made)
    return replace(container, composed=composed, warnings=container.warnings + tuple(warnings))


def _needs(text: str, warnings: list[str]) -> tuple[Need, ...]:
    """Return what the container needs. Of a list that cannot be read as a whole nothing is believed."""
    needs: list[Need] = []
    for part in text.split(",") if text else ():
        read = _NEED.fullmatch(part)
        if read is None or len(needs) >= _MOST_NEEDS:
            warnings.append(
                f"cannot read label {DEPENDS_ON}={text[:48]!r}: it takes service:condition, with commas between"
            )
            return ()
        needs.append(Need(read[1], Condition(read[2]) if read[2] else Condition.STARTED, read[3] == "true"))
    return tuple(needs)
