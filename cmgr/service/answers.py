"""What the service answers on its socket."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from cmgr.config.settings import Config
from cmgr.errors import CmgrError, ConfigError
from cmgr.model import view
from cmgr.model.chips import ChipId
from cmgr.model.containers import ContainerKey
from cmgr.model.facts import Fact, ReleaseOrdered, ResumeOrdered
from cmgr.model.faults import Assertion
from cmgr.model.node import Node
from cmgr.ports import ChipDriver, Gauge, Injector
from cmgr.service.control import Request

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers requests from the node as it is at that moment. Any thread.

    Orders are only put into the inbox: the deciding thread takes them in like anything else.
    """

    config: Config
    driver: ChipDriver
    node: Callable[[], Node]
    service: Callable[[], Json]
    now: Callable[[], datetime]
    put: Callable[[Fact], None]

    def answer(self, request: Request) -> Json:
        """Return what was asked for. Raises `CmgrError`."""
        known: Mapping[str, Callable[[Request], Json]] = {
            "status": lambda _: view.status(self.node(), self.service(), self.now()),
            "chips": lambda _: {"chips": self._chips()},
            "faults": lambda _: {"faults": view.faults(self.node())},
            "explain": self._explain,
            "inject": self._inject,
            "release": self._release,
            "resume": self._resume,
        }
        if request.do not in known:
            words = ", ".join(sorted(known))
            raise ConfigError(f"cannot do {request.do[:40]!r}: no such request", hint=f"one of {words}")
        return known[request.do](request)

    def _chips(self) -> list[Json]:
        node = self.node()
        rows: list[Json] = list(view.chips(node))
        if not isinstance(self.driver, Gauge):
            return rows
        chips = sorted(node.chips)
        measured = self.driver.measure(chips)
        return [{**row, "measured": measured.get(chip, {})} for chip, row in zip(chips, rows, strict=True)]

    def _explain(self, request: Request) -> Json:
        return view.explain(_text(request, "code"), self.node())

    def _inject(self, request: Request) -> Json:
        chip, code = _chip(request, self.node()), _text(request, "code")
        try:
            assertion = Assertion(_text(request, "assertion"))
        except ValueError as error:
            raise ConfigError(f"cannot pretend a fault: assertion is none of {', '.join(Assertion)}") from error
        if not isinstance(self.driver, Injector):
            raise CmgrError(f"cannot pretend a fault: driver {self.driver.name} does not know how")
        self.driver.inject(chip, code, assertion)
        return {"chip": chip, "code": code, "assertion": str(assertion)}

    def _release(self, request: Request) -> Json:
        chip = _chip(request, self.node())
        if chip not in self.node().isolations:
            raise CmgrError(f"cannot release chip {chip}: it is not isolated", hint="cmgr chips")
        self.put(ReleaseOrdered(chip, f"uid {request.uid}"))
        return {"chip": chip}

    def _resume(self, request: Request) -> Json:
        name = _text(request, "container")
        key = _held(self.node(), name)
        self.put(ResumeOrdered(key, f"uid {request.uid}"))
        return {"container": name}


def _text(request: Request, name: str) -> str:
    value = request.args.get(name)
    if not isinstance(value, str) or not value:
        raise ConfigError(f"cannot {request.do}: {name} must be a text")
    return value


def _chip(request: Request, node: Node) -> ChipId:
    value = request.args.get("chip")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"cannot {request.do}: chip must be a number")
    chip = ChipId(value)
    if chip not in node.chips:
        known = ", ".join(str(c) for c in sorted(node.chips))
        raise CmgrError(f"cannot {request.do}: there is no chip {chip}", hint=f"the chips are {known}")
    return chip


def _held(node: Node, name: str) -> ContainerKey:
    """Return the held container of that name or id, which may be shortened as Docker's users are used to."""
    named = [k for k, h in node.holds.items() if h.name == name] or [k for k in node.holds if k.id.startswith(name)]
    if not named:
        raise CmgrError(f"cannot resume {name[:80]!r}: cmgr holds no such container", hint="cmgr status")
    if len(named) > 1:
        raise CmgrError(f"cannot resume {name[:80]!r}: it names {len(named)} held containers", hint="give the whole id")
    return named[0]
