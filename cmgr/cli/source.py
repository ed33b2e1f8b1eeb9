"""Where a showing command reads: from the service when it runs, else from the database."""

# As in `show`: no dataclass is made for `cmgr status`.
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, overload

from cmgr.errors import CmgrError, ConfigError, ServiceDown, ServiceHangs
from cmgr.sentences.sentence import ENGLISH, language_of, say, translated
from cmgr.service.door.client import get, told
from cmgr.shortcut import DEFAULT_CONFIG, DEFAULT_SOCKET, locale

if TYPE_CHECKING:
    from pathlib import Path

    from cmgr.cli.options import Common
    from cmgr.config.settings import Config
    from cmgr.model.values.chips import ChipId
    from cmgr.store.reader import Reader
    from cmgr.view import shapes

    Stead = Callable[[Config, Reader, ServiceDown], Mapping[str, object]]

Document = TypeVar("Document", bound=Mapping[str, object])

SERVICE = "from the service"
HISTORY = "from the database"
CONFIGURATION = say("label.from-configuration")
DATABASE = say("label.from-database")
LAST_WRITTEN = say("label.last-written")
UNHEARD = say("label.from-database-unheard")


class Asked(NamedTuple):
    """`StatusOptions` in plain types, for a line that is read without typer."""

    config: str | None = None
    state_dir: str | None = None
    socket: str | None = None
    check: bool = False
    as_json: bool = False
    nagios: bool = False
    as_names: bool = False
    no_headers: bool = False
    names: Sequence[str] | None = None
    chip: str | None = None
    group: str | None = None
    unhealthy: bool = False
    sort: str | None = None
    watch: bool = False


class Told(NamedTuple, Generic[Document]):
    """An answer, in words who gave it, and the exit code of a command that shows it."""

    value: Document
    origin: str
    code: int = 0


def configuration(common: Common | Asked, overrides: Mapping[str, object] | None = None) -> Config:
    """Return the configuration that this command line means. Raises `ConfigError`."""
    from cmgr.config.load import load

    given = {"state_dir": common.state_dir, "socket": common.socket}
    paths = {key: _absolute(value) for key, value in given.items() if value is not None}
    return load(
        None if common.config is None else str(common.config),
        environ=os.environ,
        overrides={**paths, **(overrides or {})},
    )


def socket_of(common: Common | Asked) -> str:
    """Return the service's socket. Raises `ConfigError`.

    Nothing but that is read of the configuration: a mistake elsewhere in it keeps nobody from asking the service that
    runs, and reading all of it takes a fifth of the time of `cmgr status`.
    """
    named: object = _absolute(common.socket) if common.socket is not None else os.environ.get("CMGR_SOCKET")
    if named is None:
        from cmgr import trust
        from cmgr.config.spelling import parse_toml

        path = str(common.config or os.environ.get("CMGR_CONFIG") or "")
        try:
            text = trust.read(path) if path else trust.read_if_there(DEFAULT_CONFIG)
        except ConfigError:
            # Somebody who cannot read that file hears from the usual socket: an answer, or to join the group.
            if path or os.access(DEFAULT_CONFIG, os.R_OK) or not _perhaps_there(DEFAULT_SOCKET):
                raise
            return DEFAULT_SOCKET
        named = parse_toml(text or "", path or DEFAULT_CONFIG).get("socket", DEFAULT_SOCKET)
    # A text that is no path is told as the mistake that it is.
    return str(named) if str(named).startswith("/") else configuration(common).socket


def _absolute(path: str | Path) -> str:
    if os.path.isabs(path):
        return str(path)
    from pathlib import Path

    return str(Path(path).absolute())


def _perhaps_there(path: str) -> bool:
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def opened(common: Common | Asked) -> Iterator[Reader]:
    """Give the database for reading. Raises `StoreError`."""
    from cmgr.store.reader import open_reader

    path = database_of(configuration(common))
    _there(path)
    with open_reader(path) as database:
        yield database


def _there(path: Path) -> bool:
    """Return whether there is such a file. Raises `CmgrError` when looking is not allowed."""
    try:
        return path.exists()
    except PermissionError:
        told = say("error.cannot-look-into", path=str(path.parent))
        raise CmgrError(told, hint=say("error.to-join-the-group")) from None


def database_of(config: Config) -> Path:
    from pathlib import Path

    from cmgr.store.files import NAME

    return Path(config.state_dir) / NAME


@overload
def read(common: Common | Asked, do: Literal["status"]) -> Told[shapes.Status]: ...
@overload
def read(common: Common | Asked, do: Literal["chips"]) -> Told[shapes.Chips]: ...
@overload
def read(common: Common | Asked, do: Literal["faults"]) -> Told[shapes.Faults]: ...
def read(common: Common | Asked, do: str) -> Told[Any]:
    """Return the service's answer to this request, or what the database says in its stead when nobody answers."""

    def stead(config: Config, database: Reader, why: ServiceDown) -> Mapping[str, object]:
        from cmgr.cli import stored

        return stored.ANSWERS[do](config, database, why)

    return either(common, do, stead)


def spoken(common: Common | Asked, document: Document) -> Document:
    """Return a document that was made here with its sentences in the language of whoever asks, as `read` does."""
    return translated(document, language(common))


def language(common: Common | Asked) -> str:
    """Return the language of whoever asks, by an option or his locale; English where a program does."""
    # Options without that choice are of commands that write for programs, or into a file.
    if getattr(common, "as_json", True) or getattr(common, "check", False) or getattr(common, "nagios", False):
        return ENGLISH
    return language_of(getattr(common, "lang", None) or locale())


def answer(common: Common | Asked, do: str) -> Mapping[str, object]:
    """Return the service's answer with its sentences in the language of whoever asks, unless a program does."""
    path = socket_of(common)
    return get(path, do) if language(common) == ENGLISH else told(path, do)


def either(common: Common | Asked, do: str, stead: Stead) -> Told[Any]:
    """Return the service's `answer` to this request, or what `stead` makes of the database when nobody answers."""
    try:
        return Told(answer(common, do), SERVICE)
    except ServiceDown as why:
        config = configuration(common)
        if not _there(database_of(config)):
            raise
        hangs, why = isinstance(why, ServiceHangs), known_better(config, why)
        with opened(common) as database:
            value = spoken(common, stead(config, database, why))
        if hangs:
            return Told(value, LAST_WRITTEN, why.exit_code)
        return Told(value, DATABASE if why.pid is None else UNHEARD)


def known_better(config: Config, why: ServiceDown) -> ServiceDown:
    """Return why nobody answers: the service may run, and its socket not be there."""
    from cmgr.store.files import holder

    pid = None if isinstance(why, ServiceHangs) else holder(database_of(config))
    if pid is None:
        return why
    return ServiceDown(say("error.unheard", pid=pid, path=config.socket), hint=say("error.socket-comes-back"), pid=pid)


def chips_of(texts: Iterable[str]) -> frozenset[ChipId]:
    """Return the chips of these lists, each such as 4,5 or 0-3. Raises what `misused` returns."""
    from cmgr.service.door.orders.chip_list import chips_in

    try:
        return chips_in(",".join(texts))
    except ValueError as part:
        raise misused(say("usage.no-chips", text=repr(str(part)), such=["4,5", "0-3"])) from part


def length(option: str, text: str) -> timedelta:
    """Return the length of time that an option was given, such as 24h. Raises what `misused` returns."""
    from cmgr.config.spelling import duration

    try:
        found: timedelta = duration(text)
        now() - found
    except (ValueError, OverflowError) as error:
        raise misused(say("usage.no-length", option=option, text=repr(text[:40]), such=["24h, 30m", "90d"])) from error
    return found


def now() -> datetime:
    return datetime.now(UTC)


def misused(text: str) -> Exception:
    """Return the refusal of options that do not go together, or of a value, which typer shows with the usage."""
    import typer

    return typer.BadParameter(text)
