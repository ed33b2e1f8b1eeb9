"""The CDI files in the directory that container runtimes read: their text, and writing them so that no half is read.

The specification: github.com/cncf-tags/container-device-interface, SPEC.md. Docker resolves a name at every start of a
container, containerd when one is made.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cmgr import atomic
from cmgr.errors import CmgrError, chain
from cmgr.model.containers.moving.cdi import specs_of
from cmgr.model.values.services.cdi import EVERY_CHIP, Device, Spec
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import say
from cmgr.service.part import Part, degraded
from cmgr.service.parts.core import Core
from cmgr.vendor import Edits, Giving, counts, giving

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

VERSION = "0.5.0"
"""The oldest version of the format that has all that is used: every runtime with CDI reads it."""

PREFIX = "cmgr-"
SLOT = "cmgr.io/slot"

MODE = 0o644
DIRECTORY_MODE = 0o755

LONGEST_REFUSAL = 200

_SUFFIXES = (".json", ".yaml")
"""Files of other names no runtime reads."""

ASIDE = ".set-aside"
"""The end of the name of a stranger's file that gave devices of ours: no runtime reads one of that name."""


def document(spec: Spec, giving: Giving, *, by_variable: bool) -> "slot_shapes.CdiSpecification":
    """Return the file as JSON. `by_variable`: the chips of slots are given by their maker's own runtime."""
    kind = giving.kind if spec.name == EVERY_CHIP else SLOT
    devices: list[slot_shapes.CdiDevice] = [
        {"name": device.name, "containerEdits": cast("slot_shapes.CdiEdits", _edits(device, kind, giving, by_variable))}
        for device in spec.devices
    ]
    return {"cdiVersion": VERSION, "kind": kind, "devices": devices}


def _edits(device: Device, kind: str, giving: Giving, by_variable: bool) -> Edits:
    if device.refusal:
        return {"deviceNodes": [{"path": refusing(device.refusal)}]}
    named = by_variable and kind == SLOT
    edits: Edits = {"env": [giving.variable(device.chips)]} if named else giving.devices(device.chips)
    if not any(edits.values()):
        # A device without edits makes the whole file void, and with it every other chip.
        return {"deviceNodes": [{"path": refusing(f"no device file of chip {device.name} is known")}]}
    if kind != SLOT:
        return edits
    return {**edits, "env": [*edits.get("env", ()), f"CMGR_SLOT={device.name}", *counts(device.chips, device.full)]}


def refusing(why: str) -> str:
    """Return the path of a device file that is not there: whoever resolves it ends with these words.

    The library that Docker and containerd resolve names with looks each device file up, and says which is missing.
    """
    text = "".join(letter for letter in why if letter.isprintable()).replace("/", "|")
    return f"/{text[:LONGEST_REFUSAL]}"


def by_variable(give: str, giving: Giving) -> bool:
    """Return whether slots are given by the variable, as `cdi.give` says."""
    if give == "auto":
        return any(shutil.which(program) is not None for program in giving.runtimes)
    return give == "variable" and bool(giving.runtimes)


class CdiFiles:
    """All files of cmgr's in one directory. One thread at a time."""

    def __init__(self, directory: Path, giving: Giving, give: str) -> None:
        self._directory = directory
        self._giving = giving
        self._by_variable = by_variable(give, giving)
        self._wrote: dict[str, str] = {}

    def document(self, spec: Spec) -> "slot_shapes.CdiSpecification":
        """Return what stands in the file of this specification. Any thread."""
        return document(spec, self._giving, by_variable=self._by_variable)

    def path(self, name: str) -> Path:
        return self._directory / f"{PREFIX}{name}.json"

    def write(self, specs: Sequence[Spec]) -> tuple[str, ...]:
        """Make these all files of cmgr's that there are, and return what others had done to them.

        Blocks for the disk. Safe to repeat. Raises `CmgrError`.
        """
        texts = {self.path(s.name).name: json.dumps(self.document(s), indent=2) + "\n" for s in specs}
        try:
            if texts:
                self._directory.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
            self._refuse_doubles(texts)
            mended = [*self._written(texts), *self._removed(texts), *self._set_aside(texts)]
        except OSError as error:
            where = error.filename or self._directory
            hint = f"look at {self._directory}, or set cdi.dir"
            raise CmgrError(f"cannot write {where}: {error.strerror or error}", hint=hint) from error
        self._wrote = texts
        return tuple(mended)

    def _written(self, texts: dict[str, str]) -> Iterator[str]:
        for name, text in texts.items():
            path = self._directory / name
            there = _read(path)
            if there == text:
                continue
            ours = self._wrote.get(name)
            # In the directory itself: a file that is moved in from elsewhere Docker does not notice.
            with atomic.written(path, MODE) as file:
                file.write(text.encode())
            _flush(self._directory)
            if ours is not None and there != ours:
                how = "was gone" if there is None else "had been changed"
                yield f"{path} {how}: it is written again"

    def _removed(self, texts: dict[str, str]) -> Iterator[str]:
        for path in sorted(self._directory.glob(f"{PREFIX}*")):
            atomic.tidy(path)
            if path.suffix in _SUFFIXES and path.name not in texts:
                path.unlink(missing_ok=True)
                _flush(self._directory)
                if path.name not in self._wrote:
                    yield f"{path} is none of the files that cmgr writes: it is removed"

    def _set_aside(self, texts: dict[str, str]) -> Iterator[str]:
        """Set aside what others wrote and what names our slots: a name that is in two files no runtime resolves."""
        for path in self._of_others(SLOT) if texts else ():
            path.rename(path.with_name(path.name + ASIDE))
            yield f"{path} names slots of cmgr, too, so that no runtime knew them: it is set aside"

    def _refuse_doubles(self, texts: dict[str, str]) -> None:
        """See that nobody else, such as a tool of the chips' maker, gives devices of the chips' names."""
        for path in self._of_others(self._giving.kind) if f"{PREFIX}{EVERY_CHIP}.json" in texts else ():
            hint = f"remove {path}, or set cdi.chips = false"
            raise CmgrError(f"{path} gives devices of {self._giving.kind}, too: no runtime would know any", hint=hint)

    def _of_others(self, kind: str) -> Iterator[Path]:
        for path in sorted(self._directory.glob("*")):
            known = path.suffix in _SUFFIXES and not path.name.startswith(PREFIX)
            if known and _kind(path) == kind:
                yield path


class Cdi(Part):
    """Those of the service. `damaged` tells whether it has begun with another database than its last life left."""

    def __init__(self, core: Core, damaged: Callable[[], bool]) -> None:
        self._core, self._damaged = core, damaged

    def know(self, driver: str) -> None:
        """Make what depends on whose chips these are: before the first decision."""
        cdi = self._core.config.cdi
        self.files = CdiFiles(Path(cdi.dir), giving(driver), cdi.give)

    def start(self) -> None:
        """Take away files of an earlier life that nothing decides on any more."""
        # With its database slots are forgotten that containers still ask for.
        if self._core.config.observe or self._damaged() or specs_of(self._core.node()):
            return
        try:
            self.files.write(())
        except CmgrError as error:
            self._core.log.warn(chain(error))

    def troubles(self) -> Iterable[Trouble]:
        if why := self._core.node().cdi.error:
            yield degraded("cdi", say("trouble.cdi"), why, say("hint.look-at", path=self._core.config.cdi.dir))


_KIND = re.compile(r"""(?m)(?:^|[{,])\s*["']?kind["']?\s*:\s*["']?([A-Za-z0-9._/-]+)""")


def _kind(path: Path) -> str:
    """Return the kind of devices in a stranger's file, JSON or YAML."""
    found = _KIND.search(_read(path) or "")
    return found[1] if found else ""


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return None


def _flush(directory: Path) -> None:
    """Have what was moved or removed there outlive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
