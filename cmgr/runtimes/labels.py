"""The wishes in a container's `cmgr.` labels. Pure; a wish that cannot be read is a warning, and the default holds."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache

from cmgr.config import spelling
from cmgr.frozen import dataclass
from cmgr.model.values import names
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.services.containers import Container, Heal, Spare
from cmgr.vendor import notations

STRATEGY = "cmgr.strategy"
STOP_TIMEOUT = "cmgr.stop-timeout"
BEFORE_STOP = "cmgr.before-stop"
ORDER = "cmgr.order"
ENABLE = "cmgr.enable"
GROUP = "cmgr.group"
GROUP_SIZE = "cmgr.group-size"
SPARE = "cmgr.spare"
MIN_CHIPS = "cmgr.min-chips"
HEAL = "cmgr.heal"
HEAL_LIMIT = "cmgr.heal-limit"
HEAL_BACKOFF = "cmgr.heal-backoff"
UNIT = "cmgr.unit"
NEEDS_NETWORK = "cmgr.needs-network"
HANG = "cmgr.hang"

IGNORE = "ignore"
"""The value of `ENABLE` for a container that can reach chips and uses none."""

OWNERS: Mapping[str, str] = {
    "com.docker.swarm.task.id": "swarm",
    "io.kubernetes.pod.uid": "kubelet",
    "io.cri-containerd.kind": "kubelet",
    "com.hashicorp.nomad.alloc_id": "nomad",
    "io.balena.service-id": "balena",
    "runtime.gpustack.ai/": "gpustack",
}
"""The orchestrators that make another container in the place of one that ends, by a label, or the beginning of one."""

LONGEST_GRACE = timedelta(days=7)
"""The longest grace. Docker counts nanoseconds and overflows near 292 years."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """`grace` and `strategy` are None where the labels do not say, `heal` where they do not wish it.

    `ignored`: the container uses no chip, whatever it could reach. `before_stop`: a command with its arguments.
    `group`: the group that it is a member of, or nothing; `group_size`: how many members that has in all, 0 where
    nobody says. `unit`: the unit of systemd that runs it. `owner`: see `OWNERS`.
    """

    strategy: Strategy | None = None
    grace: timedelta | None = None
    order: int = 0
    enabled: bool = True
    ignored: bool = False
    heal: Heal | None = None
    before_stop: tuple[str, ...] = ()
    needs_network: bool = False
    group: str = ""
    group_size: int = 0
    spare: Spare | None = None
    min_chips: int = 0
    unit: str = ""
    hang: timedelta | None = None
    owner: str = ""
    warnings: tuple[str, ...] = ()

    def of(self, container: Container) -> Container:
        """Return the container with what it wishes; its grace is its runtime's to find."""
        return replace(
            container,
            strategy=self.strategy,
            order=self.order,
            enabled=self.enabled,
            ignored=self.ignored,
            heal=self.heal,
            needs_network=self.needs_network,
            before_stop=self.before_stop,
            group=self.group,
            group_size=self.group_size,
            spare=self.spare,
            min_chips=self.min_chips,
            unit=self.unit,
            hang=self.hang,
            owner=self.owner,
            warnings=container.warnings + self.warnings,
        )


def wished(labels: Mapping[str, str]) -> bool:
    """Return whether anything is wished of cmgr."""
    return any(label.startswith("cmgr.") or label in _taken() for label in labels)


def wishes(labels: Mapping[str, str], *, auto_remove: bool = False, image: Mapping[str, str] | None = None) -> Wishes:
    """Return what the labels wish for. `auto_remove`: the container is removed when it ends.

    `image`: the labels of its image, None where nobody can tell them. Commands of those are not run, and units that
    they name are not touched.
    """
    warnings: list[str] = []
    said = _said(labels, warnings)
    if owner := _owner(labels):
        for label in sorted(said.keys() & _OF_HOLDS):
            warnings.append(f"label {label} has no use: {owner} starts its own containers, and cmgr never does")
            del said[label]
    unit = _unit(said, image, warnings)
    heals = said.get(HEAL, "false").casefold() == "true"
    auto_remove = auto_remove and not unit  # Its unit makes it anew.
    if heals and auto_remove:
        warnings.append(f"label {HEAL} has no use: the container is removed when it ends")
    group, size = _group(said, warnings) if not owner else ("", 0)
    return Wishes(
        strategy=Strategy(said[STRATEGY]) if STRATEGY in said else None,
        grace=min(timedelta(seconds=int(said[STOP_TIMEOUT])), LONGEST_GRACE) if STOP_TIMEOUT in said else None,
        order=int(said.get(ORDER, "0")),
        enabled=_enabled(said, warnings),
        ignored=said.get(ENABLE, "true").casefold() == IGNORE,
        heal=_heal(said) if heals and not auto_remove else None,
        spare=Spare(said[SPARE]) if SPARE in said else None,
        min_chips=int(said.get(MIN_CHIPS, "0")),
        hang=timedelta(minutes=int(said[HANG].rstrip("mM"))) if HANG in said else None,
        before_stop=_command(said, image, warnings),
        needs_network=said.get(NEEDS_NETWORK, "false").casefold() == "true",
        group=group,
        group_size=size,
        unit=unit,
        owner=owner,
        warnings=tuple(warnings[:8]),
    )


def _owner(labels: Mapping[str, str]) -> str:
    marks = [(mark, owner) for mark, owner in OWNERS.items() if mark in labels or mark.endswith("/")]
    return next((owner for mark, owner in marks if any(label.startswith(mark) for label in labels)), "")


def _said(labels: Mapping[str, str], warnings: list[str]) -> dict[str, str]:
    """Return the labels that can be read; of the others say why not."""
    said: dict[str, str] = {}
    for label, value in sorted(labels.items()):
        if label in _taken():
            form, words = _taken()[label]
            text = value.strip()
            if re.fullmatch(form, text, re.IGNORECASE if form.startswith("true|") else re.NOFLAG):
                said[label] = text
            else:
                warnings.append(f"cannot read label {label}={_shown(value)}: it takes {words}")
        elif label.startswith("cmgr."):
            warnings.append(f"label {_shown(label)} is not known: {', '.join(_TAKEN)} are")
    return said


def _enabled(said: Mapping[str, str], warnings: list[str]) -> bool:
    enabled = said.get(ENABLE, "true").casefold() == "true"
    for job in _jobs():
        if said.get(f"{job}.enableRecover", "true").casefold() == "false":
            if enabled and ENABLE in said:
                warnings.append(f"labels {ENABLE}=true and {job}.enableRecover=false disagree: cmgr leaves it alone")
            enabled = False
    return enabled


def _group(said: Mapping[str, str], warnings: list[str]) -> tuple[str, int]:
    """Return the group and its size. Labels that disagree are refused: nobody is stopped because of a guess."""
    names = {label: said[label] for label in (GROUP, *(f"{job}.id" for job in _jobs())) if label in said}
    sizes = {label: int(said[label]) for label in (GROUP_SIZE, *(f"{j}.replica" for j in _jobs())) if label in said}
    sizes = {label: size for label, size in sizes.items() if size > 0}  # A job of 0 or less says nothing.
    if not names:
        if GROUP_SIZE in said:
            warnings.append(f"label {GROUP_SIZE} has no use without {GROUP}")
        return "", 0
    if len(set(names.values())) > 1:
        warnings.append(f"labels {_told(names)} name two groups: it counts as in none")
        return "", 0
    if len(set(sizes.values())) > 1:
        warnings.append(f"labels {_told(sizes)} disagree: it counts as in no group")
        return "", 0
    size = next(iter(sizes.values()), 0)
    if size == 1:
        if GROUP_SIZE in sizes:
            warnings.append(f"label {GROUP_SIZE}=1 is a group of one, which is none")
        return "", 0
    return next(iter(names.values())), size


def _told(said: Mapping[str, object]) -> str:
    return " and ".join(f"{label}={value}" for label, value in sorted(said.items()))


def _command(said: Mapping[str, str], image: Mapping[str, str] | None, warnings: list[str]) -> tuple[str, ...]:
    """Return the command that the container's maker, and not its image, wishes to be run before the stop."""
    if not _is_its_makers(BEFORE_STOP, said, image, warnings):
        return ()
    try:
        return tuple(shlex.split(said[BEFORE_STOP]))
    except ValueError:
        warnings.append(f"cannot read label {BEFORE_STOP}={_shown(said[BEFORE_STOP])}: a quotation mark is missing")
        return ()


def _unit(said: Mapping[str, str], image: Mapping[str, str] | None, warnings: list[str]) -> str:
    """Return the unit that the container's maker, and not its image, says runs it."""
    if not _is_its_makers(UNIT, said, image, warnings):
        return ""
    if runs_others(said[UNIT]):
        warnings.append(f"label {UNIT}={said[UNIT]} is not obeyed: that unit runs more than this container")
        return ""
    return said[UNIT]


def runs_others(unit: str) -> bool:
    """Return whether the unit runs more than one container's processes: a runtime, or a manager of units."""
    return re.fullmatch(_NOT_ITS_OWN, unit) is not None


def _is_its_makers(label: str, said: Mapping[str, str], image: Mapping[str, str] | None, warnings: list[str]) -> bool:
    """Return whether the label is there and obeyed: the container's maker, and not its image, has given it."""
    if label in said and image is None:
        warnings.append(f"label {label} is not obeyed: whether the image brought it cannot be told")
    elif label in said and image is not None and image.get(label, "").strip() == said[label]:
        warnings.append(f"label {label} is not obeyed: the image brought it, and only --label counts")
    else:
        return label in said
    return False


def _heal(said: Mapping[str, str]) -> Heal:
    return Heal(
        limit=int(said[HEAL_LIMIT]) if HEAL_LIMIT in said else None,
        backoff=timedelta(seconds=int(said[HEAL_BACKOFF])) if HEAL_BACKOFF in said else None,
    )


MAKERS_ONLY = frozenset({BEFORE_STOP, UNIT})
"""The labels that count only where the container's maker, and not its image, has given them."""

_OF_HOLDS = frozenset({HEAL, GROUP, SPARE, HANG, UNIT})
"""The labels that only have a use where cmgr starts the container itself."""

_NOT_ITS_OWN = (
    r"(cmgr(-.*)?|docker|dockerd|containerd|podman|crio|kubelet|dbus|dbus-broker|user@.*|systemd-.*)\.service"
)

_NAME = names.GROUP.pattern
_NAME_WORDS = "at most 63 letters, digits, dots, dashes and underscores, the first a letter or digit"

_TAKEN: Mapping[str, tuple[str, str]] = {
    STRATEGY: ("|".join(Strategy), ", ".join(Strategy)),
    STOP_TIMEOUT: ("[0-9]{1,9}", "a whole number of seconds"),
    ORDER: ("[+-]?[0-9]{1,6}", "a whole number"),
    ENABLE: (f"true|false|{IGNORE}", f"true, false or {IGNORE}"),
    SPARE: ("|".join(Spare), ", ".join(Spare)),
    MIN_CHIPS: ("[1-9][0-9]{0,2}", "a whole number from 1"),
    HEAL: ("true|false", "true or false"),
    HEAL_LIMIT: ("[1-9][0-9]{0,3}", "a whole number from 1"),
    NEEDS_NETWORK: ("true|false", "true or false"),
    HANG: ("[1-9][0-9]{0,3}[mM]", "a whole number of minutes, such as 10m"),
    HEAL_BACKOFF: ("[1-9][0-9]{0,5}", "a whole number of seconds from 1"),
    GROUP: (_NAME, _NAME_WORDS),
    GROUP_SIZE: ("[1-9][0-9]{0,3}", "a whole number from 1"),
    UNIT: (spelling.UNIT, "the name of a service of systemd, such as llm.service"),
    BEFORE_STOP: (r"(?=[^#])[ -~]{1,1000}", "a command with its arguments, at most 1000 plain characters"),
}
"""Each label of cmgr's own that is read: what it must look like, as a regular expression and in words."""


@cache
def _jobs() -> tuple[str, ...]:
    return tuple(notation.jobs for notation in notations() if notation.jobs)


@cache
def _taken() -> Mapping[str, tuple[str, str]]:
    """Return each label that is read, those of makers' own software, too."""
    taken = dict(_TAKEN)
    for job in _jobs():
        taken[f"{job}.id"] = (_NAME, _NAME_WORDS)
        taken[f"{job}.replica"] = ("[+-]?[0-9]{1,6}", "a whole number")
        taken[f"{job}.enableRecover"] = ("true|false", "true or false")
    return taken


def _shown(text: str) -> str:
    return repr(text if len(text) <= 48 else text[:47] + "…")
