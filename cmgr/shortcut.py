"""`cmgr status`, `chips` and `faults` as the service itself writes them, asked for before anything else is loaded.

A person who types `cmgr status` waits for Python, and then for all that it loads: here one module of a few kilobytes.
Whatever is not as usual (JSON, another option, a socket that only TOML tells, no service, one that is slow or older, an
answer that is none) is left to the command line, which asks once more and says what is wrong.
"""

import io
import os
import sys

DEFAULT_CONFIG = "/etc/cmgr/cmgr.toml"
DEFAULT_SOCKET = "/run/cmgr/cmgr.sock"
"""As the configuration has them, whose declaration takes long to load."""

STATE = "Cmgr-State"
"""The header with how all is: `well`, `troubled` or `hangs`."""

TROUBLED, HANGS, INTERRUPTED = 4, 5, 130

_GREEN, _RED, _END = "\x1b[1;32m", "\x1b[1;31m", "\x1b[0m"
_SHOWN = ("status", "chips", "faults")
_FLAGS = {"--check": "check", "--json": "as_json"}
PATHS = {"--config": "config", "--socket": "socket", "--state-dir": "state_dir"}
_SECONDS = 1.0
_MOST_BYTES = 64 * 1024 * 1024
_MOST_CONFIG = 1024 * 1024
_WIDER_THAN_0640 = 0o7137


def given(words: list[str], flags: tuple[str, ...] = ()) -> dict[str, str] | None:
    """Return what these options give, "yes" for a flag; None where one is neither a path nor among the flags."""
    found: dict[str, str] = {}
    left = iter(words)
    for word in left:
        if word in flags:
            found[_FLAGS[word]] = "yes"
        elif word == "-o" and "--json" in flags and next(left, "") == "json":
            found["as_json"] = "yes"
        elif word in PATHS and not (path := next(left, "-")).startswith("-"):
            found[PATHS[word]] = path
        else:
            return None
    return found


def shown(words: list[str]) -> int | None:
    """Write what the service says to this command line, and return the exit code. None: nothing has been done."""
    what = words[0] if words else ""
    options = given(words[1:], ("--check",) if what == "status" else ()) if what in _SHOWN else None
    try:
        path = None if options is None else _socket_of(options)
        zone = _zone()
        if options is None or path is None or zone is None:
            return None
        # A check is for programs.
        lang = "&lang=zh" if locale().casefold().startswith("zh") and "check" not in options else ""
        answer = _asked(path, f"/v1/{what}/text?width={columns()}&zone={zone.replace('+', '%2B')}{lang}")
        if answer is None:
            return None
        state, text = answer
        if what == "status":
            first, end, rest = text.partition("\n")
            text = coloured(first, well=state == "well") + end + rest
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A name that the terminal's character set does not have must not end a command.
            sys.stdout.reconfigure(errors="backslashreplace")
        sys.stdout.write(text)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError:
        return None  # The command line says why nothing can be written.
    return code_of(state, check="check" in options)


def code_of(state: str, *, check: bool) -> int:
    """Return the exit code of `cmgr status` where all is in this state. `check`: whether that was asked for."""
    return HANGS if state == "hangs" else TROUBLED if check and state != "well" else 0


def locale() -> str:
    """Return the locale that messages are wished in, as the C library finds it."""
    return next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")


def columns() -> int:
    """Return the columns of the terminal, 0 where there is none."""
    if not sys.stdout.isatty():
        return 0
    told = os.environ.get("COLUMNS", "")
    try:
        width = int(told) if told.isdecimal() else 0
        return width or os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0


def coloured(line: str, *, well: bool) -> str:
    """Return the line that says it all: for a terminal in bold green or red, unless NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return line
    return f"{_GREEN if well else _RED}{line}{_END}"


def _zone() -> str | None:
    """Return the name of the time zone; None where it is not known by one that can be sent as it is."""
    named = os.environ.get("TZ")
    if named is None:
        try:
            named = os.readlink("/etc/localtime").partition("/zoneinfo/")[2] or "?"
        except FileNotFoundError:
            named = "UTC"
        except OSError:
            return None  # It is a copy.
    named = named.removeprefix(":") or "UTC"
    return named if named.isascii() and named.translate({ord(c): "a" for c in "/_+-"}).isalnum() else None


def _socket_of(options: dict[str, str]) -> str | None:
    """Return the service's socket; None where it takes TOML to know it, or to say what is wrong with it."""
    path = options.get("socket", os.environ.get("CMGR_SOCKET"))
    path = _configured(options.get("config")) if path is None else path
    return path if path is not None and path.startswith("/") else None


def drives(words: list[str]) -> bool:
    """Return whether `cmgr run` with these words has a child drive real chips, as far as it shows without TOML."""
    options = given(words)
    # A unit of systemd drives them, or the variable tells.
    if options is None or "INVOCATION_ID" in os.environ or "CMGR_DRIVER" in os.environ:
        return False
    try:
        data = _read(options.get("config") or os.environ.get("CMGR_CONFIG") or DEFAULT_CONFIG)
    except OSError:
        return False
    return data is not None and not any(line[:6] == b"driver" and b"sim" in line for line in data.split(b"\n"))


def _configured(config: str | None) -> str | None:
    """Return the socket that this configuration names, if it shows without TOML."""
    named = config or os.environ.get("CMGR_CONFIG")
    try:
        data = _read(named or DEFAULT_CONFIG)
    except (FileNotFoundError, PermissionError):
        return None if named else DEFAULT_SOCKET
    if data is None or b'"""' in data or b"'''" in data:
        return None
    lines = _before_tables([line.strip() for line in data.split(b"\n")])
    # A key can be written with escapes, which stand in quotes.
    escaped = [line[:1] == b'"' and b"\\" in line for line in lines]
    about = [n for n, line in enumerate(lines) if escaped[n] or (b"socket" in line and not _of_another(line))]
    if not about:
        return DEFAULT_SOCKET
    before = lines[: about[0]]
    return _plain(lines[about[0]]) if len(about) == 1 and all(line[:1] != b"[" for line in before) else None


def _before_tables(lines: list[bytes]) -> list[bytes]:
    """Return the lines before the first head of a table: what comes after it is of a table."""
    for n, line in enumerate(lines):
        name = line.strip(b"[]").translate(None, b"._-")
        # Of a list over several lines a line can begin and end so, too, but no letters stand there without quotes.
        is_head = name.isalpha() and name not in (b"true", b"false", b"inf", b"nan")
        if is_head and line[:1] == b"[" and line[-1:] == b"]":
            return lines[:n]
    return lines


def _of_another(line: bytes) -> bool:
    """Return whether the line is a comment, or gives another key its value: `docker.socket = …`."""
    name, equals, _ = line.partition(b"=")
    name = name.strip()
    return line[:1] == b"#" or (bool(equals) and name != b"socket" and name.translate(None, b"._-").isalnum())


def _plain(line: bytes) -> str | None:
    """Return the socket that this line of TOML names, if it does in the simplest way."""
    name, _, value = line.partition(b"=")
    value = value.strip()
    simple = name.strip() == b"socket" and value[:2] == b'"/' and value[-1:] == b'"'
    return os.fsdecode(value[1:-1]) if simple and value.count(b'"') == 2 and b"\\" not in value else None


def _read(path: str) -> bytes | None:
    """Return the file's bytes; None where `cmgr.trust` may refuse it. Raises `OSError`."""
    # Opened so that no link is followed, and no pipe waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        is_file = status.st_mode >> 12 == 0o10
        if not is_file or status.st_mode & _WIDER_THAN_0640 or status.st_uid not in (0, os.geteuid()):
            return None
        data = os.read(descriptor, _MOST_CONFIG)
        return data if len(data) == status.st_size else None
    finally:
        os.close(descriptor)


def _asked(path: str, target: str) -> tuple[str, str] | None:
    """Return how all is and the text that the service answers; None where it does not at once. Raises `OSError`."""
    import _socket  # The module that `socket` is made of: that one takes as long to load as Python itself.

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    received = b""
    try:
        connection.settimeout(_SECONDS)
        connection.connect(path)
        connection.sendall(f"GET {target} HTTP/1.0\r\n\r\n".encode())
        while len(received) < _MOST_BYTES and (more := connection.recv(65536)):
            received += more
    finally:
        connection.close()
    return _text(received)


def _text(received: bytes) -> tuple[str, str] | None:
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    told = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    kind, length = told.get("content-type", ""), told.get("content-length")
    if status.split(" ")[1:2] != ["200"] or not kind.startswith("text/plain") or length != str(len(body)):
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    # Whoever listens there: no control character reaches a terminal.
    clean = all(line.isprintable() for line in text.split("\n"))
    return (told.get(STATE.lower(), ""), text) if clean else None
