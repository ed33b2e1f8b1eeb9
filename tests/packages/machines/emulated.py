"""`cmgr` under an emulator: `python -m tests.packages.machines.emulated …`.

The kernel cannot run the emulated interpreter, so what cmgr runs once more is started with the emulator, too: by the
words in EMULATED.
"""

import json
import os
import sys

from cmgr import again
from cmgr.__main__ import main

if __name__ == "__main__":
    again.program = lambda: list(json.loads(os.environ["EMULATED"]))
    sys.exit(main())
