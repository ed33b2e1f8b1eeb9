"""`cmgr` and `python -m cmgr`."""

import gc
import os
import sys

from cmgr import __version__


def main() -> int:
    _fill_streams()
    # The one command that other programs run just to see whether cmgr is there: it loads nothing else.
    if sys.argv[1:] in (["version"], ["--version"]):
        sys.stdout.write(f"cmgr {__version__}\n")
        return 0
    # To look through all that is loaded for garbage, again and again, takes a sixteenth of a start; and it stays.
    gc.set_threshold(gc.get_threshold()[0], 1000)
    from cmgr.shortcut import drives, shown

    if sys.argv[1:2] == ["run"] and drives(sys.argv[2:]):
        # Before all else: what drives the chips takes as long to load as the service itself.
        from cmgr.again import begin_ahead

        begin_ahead()
    code = shown(sys.argv[1:])
    if code is None:
        from cmgr.cli import main as run

        code = run()
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - contextlib takes as long to load as all that `cmgr version` does.
            stream.flush()
        except OSError:  # Nobody reads it any more.
            pass
    # All that was opened is closed. The interpreter is not taken down: that takes a tenth of a command's time, and
    # threads of a vendor's library may call back at any time meanwhile.
    os._exit(code)


def _fill_streams() -> None:
    """Take the places of standard streams that are closed: the next file that is opened would get their numbers."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free: this one.
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


if __name__ == "__main__":
    sys.exit(main())
