"""`cmgr` and `python -m cmgr`."""

import os
import sys

from cmgr import __version__


def main() -> int:
    # The one command that other programs run just to see whether cmgr is there: it loads nothing else.
    if sys.argv[1:] in (["version"], ["--version"]):
        sys.stdout.write(f"cmgr {__version__}\n")
        return 0
    from cmgr.cli import main as run

    code = run()
    if "cmgr.drivers.dcmi" in sys.modules:
        # Threads of libdcmi may call back at any time, also while the interpreter is being taken down.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
