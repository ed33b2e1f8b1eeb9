"""A program that drives two chips by the words of `cmgr/drivers/program`, in as few lines as a reader could copy.

`python program.py FOLDER`: it serves on its standard input and output. The folder plays the hardware: `chips` has the
number of chips that it lists, `pieces` what is burnt into each, `stale`, `slow`, `refuses` and `odd` say what it does
wrong where they are there, `begun` grows by a line with each one that begins, `asked` with each question how it is.
"""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

folder, line = Path(sys.argv[1]), socket.socket(fileno=0)


def chips() -> list[dict[str, Any]]:
    count, pieces = int((folder / "chips").read_text()), folder / "pieces"
    burnt_in = pieces.read_text().split() if pieces.exists() else [""] * count
    return [{"id": n, "ring": 0, "logical": n, "serial": burnt_in[n]} for n in range(count)]


def answer(request: dict[str, Any], listed: list[dict[str, Any]]) -> Any:
    if request["do"] == "begin":
        with (folder / "begun").open("a") as begun:
            begun.write(f"{request['version']}\n")
        if (folder / "slow").exists():
            while (folder / "slow").exists():
                time.sleep(0.02)
        return {"name": "fake", "concurrency": 2, "chips": listed, "text": "", "share_obstacle": ""}
    if request["do"] == "read":
        return [{"chip": chip} for chip in request["chips"]]
    if request["do"] == "state":
        stale = folder / "stale"
        with (folder / "asked").open("a") as asked:
            asked.write("how it is\n")
        return {"troubles": [], "stale": stale.read_text() if stale.exists() else ""}
    if request["do"] == "doubts":
        return [{"text": "its room is hot", "hint": "open a window"}]
    if request["do"] == "reset":
        while (folder / "resetting").exists():
            time.sleep(0.02)
        (folder / "reset").write_text("done")
    return None


def main() -> None:
    listed = chips()
    for said in line.makefile("rb"):
        request = json.loads(said)
        if (folder / "odd").exists() and request["do"] == "read":
            line.sendall((folder / "odd").read_bytes())
            continue
        told: dict[str, Any] = {"result": answer(request, listed)}
        if request["do"] == "begin" and (folder / "refuses").exists():
            text = (folder / "refuses").read_text()
            told = {"error": {"kind": "missing", "text": text, "hint": "install it"}}
        line.sendall(json.dumps({"id": request["id"], **told}).encode() + b"\n")
    while (folder / "endless").exists():
        time.sleep(0.02)


if __name__ == "__main__":
    main()
