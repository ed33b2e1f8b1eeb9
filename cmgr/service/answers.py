"""What the service answers on its socket."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from cmgr.config.settings import Config
from cmgr.errors import CmgrError, ConfigError
from cmgr.model.values.faults import Assertion
from cmgr.model.values.node import Node
from cmgr.ports import ChipDriver, Gauge, Injector
from cmgr.service.control import Request
from cmgr.service.door.orders import Orders, chip_of, text_of
from cmgr.view import status as view

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers requests from the node as it is at that moment. Any thread."""

    config: Config
    driver: ChipDriver
    node: Callable[[], Node]
    service: Callable[[], Json]
    now: Callable[[], datetime]
    orders: Orders

    def answer(self, request: Request) -> Json:
        """Return what was asked for. Raises `CmgrError`."""
        known: Mapping[str, Callable[[Request], Json]] = {
            "status": lambda _: view.status(self.node(), self.service(), self.now()),
            "chips": lambda _: {"chips": self._chips()},
            "faults": lambda _: {"faults": view.faults(self.node())},
            "explain": self._explain,
            "inject": self._inject,
            **self.orders.known(),
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
        return view.explain(text_of(request, "code"), self.node())

    def _inject(self, request: Request) -> Json:
        chip, code = chip_of(request, self.node()), text_of(request, "code")
        try:
            assertion = Assertion(text_of(request, "assertion"))
        except ValueError as error:
            raise ConfigError(f"cannot pretend a fault: assertion is none of {', '.join(Assertion)}") from error
        if not isinstance(self.driver, Injector):
            raise CmgrError(
                "cannot pretend a fault on real chips: allow_injection = false",
                hint="set allow_injection = true for the drill, then type: systemctl restart cmgr",
            )
        self.driver.inject(chip, code, assertion)
        return {"chip": chip, "code": code, "assertion": str(assertion)}
