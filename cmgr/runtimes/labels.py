"""The wishes in a container's `cmgr.` labels. Pure; a wish that cannot be read is a warning, and the default holds.

An image brings its own labels, and whoever tries one out has not read them. So each label has a reach, and one that
reaches beyond its own container counts only where the container's maker has given it. In a group all labels concern all
of its members: there no label of an image counts.
"""

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import cache

from cmgr import redact
from cmgr.config import spelling
from cmgr.frozen import dataclass
from cmgr.model.values import names
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.questions import BUSY_FORM, FORM, Question, busy_question, question
from cmgr.model.values.services.containers import Container, Heal, Spare
from cmgr.runtimes.compose import NUMBER, PLACE, PROJECT, SERVICE
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
READY = "cmgr.ready"
BUSY = "cmgr.busy"

NERDCTL = "nerdctl/"
DOCKERS = "com.docker/engine.bundle.path"

IGNORE = "ignore"
"""The value of `ENABLE` for a container that can reach chips and uses none."""

OWNERS: Mapping[str, str] = {
    "com.docker.swarm.task.id": "swarm",
    "io.kubernetes.pod.uid": "kubelet",
    "io.cri-containerd.kind": "kubelet",
    "com.hashicorp.nomad.alloc_id": "nomad",
    "io.balena.supervised": "balena",
    "io.balena.service-id": "balena",
    "runtime.gpustack.ai/": "gpustack",
}
"""The orchestrators that make another container in the place of one that ends, by a label, or the beginning of one."""

LONGEST_GRACE = timedelta(days=7)
"""The longest grace. Docker counts nanoseconds and overflows near 292 years."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """`grace` and `strategy` are None where the labels do not say, `heal` where they do not wish it.

    `hands_off`: the label for which cmgr leaves it alone, if there is one. `ignored`: it uses no chip, whatever
    it could reach. `before_stop`: a command with its arguments. `group`: the group that it is a member of, or nothing;
    `group_size`: how many members that has in all, 0 where nobody says. `unit`: the unit of systemd that runs it.
    `ready`: what it is asked. `owner`: see `OWNERS`. `busy`, `brought` as in `Container`.
    """

    strategy: Strategy | None = None
    grace: timedelta | None = None
    order: int = 0
    hands_off: str = ""
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
    ready: Question | None = None
    busy: str = ""
    owner: str = ""
    brought: frozenset[str] | None = frozenset()
    warnings: tuple[str, ...] = ()

    @property
    def enabled(self) -> bool:
        return not self.hands_off

    def of(self, container: Container) -> Container:
        """Return the container with what it wishes; its grace is its runtime's to find."""
        return replace(
            container,
            strategy=self.strategy,
            order=self.order,
            enabled=self.enabled,
            hands_off=self.hands_off or container.hands_off,
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
            ready=self.ready,
            busy=self.busy,
            owner=self.owner,
            brought=self.brought,
            warnings=container.warnings + self.warnings,
        )


def wished(labels: Mapping[str, str]) -> bool:
    """Return whether anything is wished of cmgr."""
    return any(label.startswith("cmgr.") or label in _taken() for label in labels)


def reach_of(label: str) -> "Reach | None":
    """Return the reach of a label; None where it says nothing to cmgr."""
    known = declared()
    marks = (label, *(mark for mark in known if mark.endswith("/") and label.startswith(mark)))
    return next((known[mark].reach for mark in marks if mark in known), None)


def beyond(labels: Collection[str]) -> frozenset[str]:
    """Return those of the labels that reach beyond their own container."""
    return frozenset(label for label in labels if reach_of(label) not in (None, Reach.OWN))


def brought(labels: Mapping[str, str], image: Mapping[str, str]) -> frozenset[str]:
    """Return those of the labels, with their values, that its image brought and that concern others, too."""
    alike = {label for label, value in labels.items() if image.get(label, "").strip() == value.strip()}
    grouped = not alike.issuperset(labels.keys() & {*_groups()})
    concerned = alike.intersection(_taken()) if grouped else frozenset[str]()
    return frozenset(f"{label}={labels[label]}" for label in concerned | beyond(alike))


def makers(labels: Mapping[str, str], brought: Collection[str] | None) -> Mapping[str, str]:
    """Return the labels that count; `brought` as in `wishes`."""
    if brought is None:
        return {label: value for label, value in labels.items() if label not in _ONLY_IF_TOLD}
    gone = {label for label, value in labels.items() if f"{label}={value}" in brought}
    if not gone.issuperset(PLACE.intersection(labels)):
        gone -= PLACE  # Compose gives the images that it builds a part of these, too.
    return {label: value for label, value in labels.items() if label not in gone}


def wishes(
    labels: Mapping[str, str], *, auto_remove: bool = False, brought: frozenset[str] | None = frozenset()
) -> Wishes:
    """Return what the labels wish for. `auto_remove`: the container is removed when it ends.

    `brought`: which of them do not count, because the image brought them (see `brought`); None where nobody can tell.
    Then all count as the maker's but for a command, which is not run, and a unit, which is not touched.
    """
    given = makers(labels, brought)
    warnings = _strangers(labels, given, told=brought is not None)
    said, owner = _said(given, warnings), _owner(given)
    for label in sorted(said.keys() & _OF_HOLDS) if owner else ():
        warnings.append(f"label {label} has no use: {owner} starts its own containers, and cmgr never does")
        del said[label]
    unit, heals = _unit(said, warnings), said.get(HEAL, "false").casefold() == "true"
    auto_remove = auto_remove and not unit  # Its unit makes it anew.
    if heals and auto_remove:
        warnings.append(f"label {HEAL} has no use: the container is removed when it ends")
    group, size = _group(said, warnings) if not owner else ("", 0)
    return Wishes(
        strategy=Strategy(said[STRATEGY]) if STRATEGY in said else None,
        grace=min(timedelta(seconds=int(said[STOP_TIMEOUT])), LONGEST_GRACE) if STOP_TIMEOUT in said else None,
        order=int(said.get(ORDER, "0")),
        hands_off=_hands_off(said, warnings),
        ignored=said.get(ENABLE, "true").casefold() == IGNORE,
        heal=_heal(said) if heals and not auto_remove else None,
        spare=Spare(said[SPARE]) if SPARE in said else None,
        min_chips=int(said.get(MIN_CHIPS, "0")),
        hang=timedelta(minutes=int(said[HANG].rstrip("mM"))) if HANG in said else None,
        before_stop=_command(said, warnings),
        ready=_question(said, READY, question, warnings),
        busy=asked.text if (asked := _question(said, BUSY, busy_question, warnings)) is not None else "",
        needs_network=said.get(NEEDS_NETWORK, "false").casefold() == "true",
        group=group,
        group_size=size,
        unit=unit,
        owner=owner,
        brought=brought,
        warnings=tuple(warnings[:8]),
    )


def _strangers(labels: Mapping[str, str], given: Mapping[str, str], *, told: bool) -> list[str]:
    """Return the warnings of the labels that do not count, or of which nobody has told whose they are."""
    refused = sorted((labels.keys() - given.keys()) & _taken().keys())
    if told:
        return [f"label {label} is not obeyed: the image brought it, and only --label counts" for label in refused]
    warnings = [f"label {label} is not obeyed: whether the image brought it is not known" for label in refused]
    if unsure := sorted(beyond(given) & _taken().keys()):
        warnings.append(f"whether the image brought {', '.join(unsure)} is not known: it counts as given by --label")
    return warnings


def _owner(labels: Mapping[str, str]) -> str:
    marks = [(mark, owner) for mark, owner in OWNERS.items() if mark in labels or mark.endswith("/")]
    return next((owner for mark, owner in marks if any(label.startswith(mark) for label in labels)), "")


def _said(labels: Mapping[str, str], warnings: list[str]) -> dict[str, str]:
    """Return the labels that can be read; of the others say why not."""
    said: dict[str, str] = {}
    for label, value in sorted(labels.items()):
        if label in _taken():
            form, words = _taken()[label].form, _taken()[label].words
            text = value.strip()
            if re.fullmatch(form, text, re.IGNORECASE if form.startswith("true|") else re.NOFLAG):
                said[label] = text
            else:
                warnings.append(f"cannot read label {label}={_shown(value)}: it takes {words}")
        elif label.startswith("cmgr."):
            warnings.append(f"label {_shown(label)} is not known: {', '.join(TAKEN)} are")
    return said


def _hands_off(said: Mapping[str, str], warnings: list[str]) -> str:
    """Return the label that says that cmgr is to leave the container alone, or nothing."""
    enabled = said.get(ENABLE, "true").casefold() == "true"
    label = "" if enabled else f"{ENABLE}=false"
    for job in _jobs():
        if said.get(f"{job}.enableRecover", "true").casefold() == "false":
            if enabled and ENABLE in said:
                warnings.append(f"labels {ENABLE}=true and {job}.enableRecover=false disagree: cmgr leaves it alone")
            label = label or f"{job}.enableRecover=false"
    return label


def _group(said: Mapping[str, str], warnings: list[str]) -> tuple[str, int]:
    """Return the group and its size. Labels that disagree are refused: nobody is stopped because of a guess."""
    names = {label: said[label] for label in _groups() if label in said}
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


def _command(said: Mapping[str, str], warnings: list[str]) -> tuple[str, ...]:
    """Return the command that is to be run before the stop."""
    try:
        return tuple(shlex.split(said.get(BEFORE_STOP, "")))
    except ValueError:
        warnings.append(f"cannot read label {BEFORE_STOP}={_shown(said[BEFORE_STOP])}: a quotation mark is missing")
        return ()


def _question(
    said: Mapping[str, str], label: str, read: Callable[[str], Question], warnings: list[str]
) -> Question | None:
    """Return what it is to be asked."""
    try:
        return read(said[label]) if label in said else None
    except ValueError as error:
        warnings.append(f"cannot read label {label}={_shown(said[label])}: {error}")
        return None


def _unit(said: Mapping[str, str], warnings: list[str]) -> str:
    """Return the unit that is said to run the container."""
    unit = said.get(UNIT, "")
    if runs_others(unit):
        warnings.append(f"label {UNIT}={unit} is not obeyed: that unit runs more than this container")
        return ""
    return unit


def runs_others(unit: str) -> bool:
    """Return whether the unit runs more than one container's processes: a runtime, or a manager of units."""
    return re.fullmatch(_NOT_ITS_OWN, unit) is not None


def _heal(said: Mapping[str, str]) -> Heal:
    return Heal(
        limit=int(said[HEAL_LIMIT]) if HEAL_LIMIT in said else None,
        backoff=timedelta(seconds=int(said[HEAL_BACKOFF])) if HEAL_BACKOFF in said else None,
    )


class Reach(StrEnum):
    """Whom a label can concern."""

    OWN = "its own container"
    GROUP = "its group or project"
    MACHINE = "the machine"


@dataclass(frozen=True, slots=True)
class Label:
    """A label: whom it concerns, and how; what its value must look like, as a regular expression and in words."""

    reach: Reach
    concerns: str
    form: str = ""
    words: str = ""


_ONLY_IF_TOLD = frozenset({BEFORE_STOP, UNIT, READY, BUSY})
"""Labels by which something is run, asked or stopped: a guess is not enough for them."""

_OF_HOLDS = frozenset({HEAL, GROUP, SPARE, HANG, UNIT})
"""The labels that only have a use where cmgr starts the container itself."""

_NOT_ITS_OWN = (
    r"(cmgr(-.*)?|docker|dockerd|containerd|podman|crio|kubelet|dbus|dbus-broker|user@.*|systemd-.*)\.service"
)

_NAME = names.GROUP.pattern
_NAME_WORDS = "at most 63 letters, digits, dots, dashes and underscores, the first a letter or digit"

_BOOLEAN = ("true|false", "true or false")
_COUNT = ("[1-9][0-9]{0,3}", "a whole number from 1")
_WHOLE = ("[+-]?[0-9]{1,6}", "a whole number")
_LEFT_ALONE = "who is left alone keeps its ring from a reset"
_WAITED_FOR = "the reset of its ring waits for its stop"
_JOINED = "members stop, wait and start together"

TAKEN: Mapping[str, Label] = {
    STRATEGY: Label(Reach.MACHINE, _LEFT_ALONE, "|".join(Strategy), ", ".join(Strategy)),
    STOP_TIMEOUT: Label(Reach.MACHINE, _WAITED_FOR, "[0-9]{1,9}", "a whole number of seconds"),
    ORDER: Label(Reach.MACHINE, "others of its ring stop or start after it", *_WHOLE),
    ENABLE: Label(Reach.MACHINE, _LEFT_ALONE, f"true|false|{IGNORE}", f"true, false or {IGNORE}"),
    SPARE: Label(Reach.MACHINE, "it takes a chip that others could have", "|".join(Spare), ", ".join(Spare)),
    MIN_CHIPS: Label(Reach.OWN, "it is started with fewer chips", "[1-9][0-9]{0,2}", "a whole number from 1"),
    HEAL: Label(Reach.OWN, "it is restarted when it fails or is unhealthy", *_BOOLEAN),
    HEAL_LIMIT: Label(Reach.OWN, "how often it is restarted", *_COUNT),
    NEEDS_NETWORK: Label(Reach.OWN, "its start waits for the network of its chips", *_BOOLEAN),
    HANG: Label(Reach.OWN, "how long it may idle", "[1-9][0-9]{0,3}[mM]", "a whole number of minutes, such as 10m"),
    HEAL_BACKOFF: Label(
        Reach.OWN, "after which wait it is restarted", "[1-9][0-9]{0,5}", "a whole number of seconds from 1"
    ),
    GROUP: Label(Reach.GROUP, _JOINED, _NAME, _NAME_WORDS),
    GROUP_SIZE: Label(Reach.GROUP, "members wait for so many", *_COUNT),
    UNIT: Label(
        Reach.MACHINE, "that unit is stopped", spelling.UNIT, "the name of a service of systemd, such as llm.service"
    ),
    BEFORE_STOP: Label(
        Reach.MACHINE,
        f"it runs at a moment that cmgr chooses, and {_WAITED_FOR}",
        r"(?=[^#])[ -~]{1,1000}",
        "a command with its arguments, at most 1000 plain characters",
    ),
    READY: Label(
        Reach.MACHINE,
        "it is asked, or runs a command, when cmgr chooses, and the episode of its ring waits for the answer",
        r"(?=[^#])[ -~]{1,1000}",
        FORM,
    ),
    BUSY: Label(
        Reach.MACHINE,
        "it is asked, or runs a command, when cmgr chooses, and the reset of its ring waits for the answer",
        r"(?=[^#])[ -~]{1,1000}",
        BUSY_FORM,
    ),
}
"""Each label of cmgr's own that is read."""

_THEIRS: Mapping[str, Label] = {
    PROJECT: Label(Reach.GROUP, "its project, whose services wait for each other"),
    SERVICE: Label(Reach.GROUP, "its service, which others of the project need"),
    NUMBER: Label(Reach.GROUP, "whose place in its service it takes"),
    **{mark: Label(Reach.MACHINE, f"{owner} starts it, so that cmgr does not") for mark, owner in OWNERS.items()},
    NERDCTL: Label(Reach.MACHINE, f"its name; whether it is removed when it ends; {_WAITED_FOR} (containerd)"),
    DOCKERS: Label(Reach.MACHINE, "containerd leaves it to Docker"),
}
"""Labels of other programs that are read; one that ends in a slash stands for all that begin so."""


@cache
def _jobs() -> tuple[str, ...]:
    return tuple(notation.jobs for notation in notations() if notation.jobs)


@cache
def _groups() -> tuple[str, ...]:
    """Return the labels that name a group."""
    return (GROUP, *(f"{job}.id" for job in _jobs()))


@cache
def _taken() -> Mapping[str, Label]:
    """Return each label with a wish, those of makers' own software, too."""
    taken = dict(TAKEN)
    for job in _jobs():
        taken[f"{job}.id"] = TAKEN[GROUP]
        taken[f"{job}.replica"] = Label(Reach.GROUP, TAKEN[GROUP_SIZE].concerns, *_WHOLE)
        taken[f"{job}.enableRecover"] = Label(Reach.MACHINE, _LEFT_ALONE, *_BOOLEAN)
    return taken


@cache
def declared() -> Mapping[str, Label]:
    """Return each label that says anything to cmgr."""
    return {**_taken(), **_THEIRS}


def _shown(text: str) -> str:
    text = redact.shell(text)
    return repr(text if len(text) <= 48 else text[:47] + "…")
