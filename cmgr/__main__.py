"""`cmgr` and `python -m cmgr`."""

import sys

from cmgr import __version__


def main() -> int:
    # The one command that other programs run just to see whether cmgr is there: it loads nothing else.
    if sys.argv[1:] in (["version"], ["--version"]):
        sys.stdout.write(f"cmgr {__version__}\n")
        return 0
    from cmgr.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
