"""The command line. Errors are printed here and nowhere else, and no traceback reaches a user."""

import io
import sys
from collections.abc import Sequence
from typing import Any

from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.shortcut import INTERRUPTED, PATHS, given, locale

USAGE = 2

REFUSALS = ("UsageError", "BadParameter", "MissingParameter", "NoSuchOption", "BadOptionUsage", "BadArgumentUsage")
"""The classes of typer and click, which are two of each name, that say what is wrong with a command line."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 failed, 2 usage, 3 service down, 4 not well, 5 it hangs."""
    try:
        return _run(_in_order(sys.argv[1:] if args is None else list(args)))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _nobody_reads()
    except CmgrError as error:
        _print(error)
        return error.exit_code
    except Exception as error:
        # The last resort of the whole command line; what typer itself refuses comes this way too.
        return _other(error)


def _without_typer(args: Sequence[str]) -> int | None:
    """Run `cmgr status` or `cmgr run` with these options, or return None where there are others, which typer reads.

    Monitors ask for the status every few seconds, and people before anything else: to load typer takes a third of the
    time. In the service it would lie for good, in 3.5 MB.
    """
    if args[:1] == ["status"] and (options := given([*args[1:]], ("--check", "--json"))) is not None:
        from cmgr.cli.show import status
        from cmgr.cli.source import Asked

        config, state_dir, socket = (options.get(name) for name in ("config", "state_dir", "socket"))
        return status(Asked(config, state_dir, socket, "check" in options, "as_json" in options))
    if args[:2] == ["chips", "--serve"]:
        from cmgr.service.driving import drive

        return drive(args[3] if args[2:3] == ["--connect"] and len(args) == 4 else None)
    if args[:2] == ["chips", "--soft-fault"] and len(args) > 2:
        from importlib import import_module

        ended: int = import_module(f"cmgr.drivers.{args[2]}.library.soft_fault").main(args[3:])
        return ended
    if args[:1] == ["run"] and (options := given([*args[1:]])) is not None:
        from pathlib import Path

        from cmgr.cli.act import RunOptions, run

        found: dict[str, Any] = {name: Path(path) for name, path in options.items()}
        return run(RunOptions(**found))
    return None


def _in_order(args: list[str]) -> list[str]:
    """Return the line with the paths that stand before the command behind it, and `help X` as `X --help`."""
    count = 0
    while count < len(args) and args[count].partition("=")[0] in PATHS:
        count += 1 if "=" in args[count] else 2
    before, rest = args[:count], args[count:]
    if rest[:1] == ["help"]:
        rest = [*rest[1:2], "--help"]
    return [*rest[:1], *before, *rest[1:]] if rest else args


def _run(args: list[str]) -> int:
    from cmgr.cli.text import out

    # A name that the terminal's character set does not have must not end a command.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    code = _without_typer(args)
    if code is None:
        code = _by_typer(args)
    out.flush()
    return code


def _by_typer(args: list[str]) -> int:
    from cmgr.cli.app import app_of

    try:
        code = app_of(args)(args, prog_name="cmgr", standalone_mode=False)
    except SystemExit as end:
        # Completion scripts, and typer on a pipe that nobody reads.
        code = end.code
    return code if isinstance(code, int) else 0


def _nobody_reads() -> int:
    from cmgr.cli.text import out

    out.drop()
    return 1


def _print(error: CmgrError) -> None:
    from cmgr.sentences.sentence import chained, in_language, language_of, say

    language = language_of(locale())
    _say(f"cmgr: {in_language(chained(error), language)}")
    if isinstance(error, ConfigError) and len(error.mistakes) > 1:  # A single one is the message itself.
        for mistake in error.mistakes:
            _say(f"  {in_language(mistake, language)}")
    if error.hint:
        _say(in_language(say("word.hint", hint=error.hint), language))


def _other(error: Exception) -> int:
    import typer

    from cmgr.sentences.sentence import CHINESE, ENGLISH, in_language, language_of

    if isinstance(error, typer.Abort):
        return INTERRUPTED
    show = getattr(error, "show", None)
    if callable(show):  # The refusals of typer and of click, which show themselves with the usage.
        if language_of(locale()) == ENGLISH or type(error).__name__ not in REFUSALS:
            show()
        else:
            from cmgr.cli.text import refusals

            _say("\n".join(in_language(line, CHINESE) for line in refusals.lines(error)))
        return USAGE
    if sys.flags.dev_mode:
        raise error
    _say(f"cmgr: cannot go on: {type(error).__name__}: {chain(error)}")
    _say("hint: this is a bug in cmgr; please report it with what python3 -X dev -m cmgr … shows")
    return 1


def _say(text: str) -> None:
    from cmgr.cli.text import out

    out.error(text)
