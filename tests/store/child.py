"""A service in another process: opens the store named on its command line, saves, and waits to be killed.

Prints one line when it has saved, or when it cannot open.
"""

import sys
from pathlib import Path

from cmgr.errors import StoreError, sentence
from cmgr.store import open_store
from tests.store import values


def main() -> None:
    try:
        store = open_store(Path(sys.argv[1]))
    except StoreError as exc:
        sys.stdout.write(f"{type(exc).__name__}: {sentence(exc)}\n")
        return
    store.save(values.node(values.hold("s1"), values.fault()), [values.stop("s1")], [values.note("held")])
    sys.stdout.write("saved\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
