"""An amd-smi, as its own source and its users' reports have it; `habits` in its state has what it does badly.

Sources: ROCm/amdsmi at 0ceca28f (6.3) and ROCm/rocm-systems projects/amdsmi (7.x); the habit `data` is of
rocprofiler-compute issue 836, `documents` of rocm-systems issue 9875, `warns` of rules_mojo issue 52, `flat` of its
conceptual/process-reporting.md. Reset, whose exit code tells nothing, and `event`, which needs a terminal: amdsmi_cli.
"""

import json
import os
import sys
from typing import Any

folder = os.path.dirname(os.path.abspath(sys.argv[0]))
with open(f"{folder}/amd.json", encoding="utf-8") as file:
    state: dict[str, Any] = json.load(file)
habits, gpus, words = state["habits"], state["gpus"], sys.argv[1:]
out = sys.stdout.write


def show(rows: list[dict[str, Any]], *, data: bool = False) -> None:
    if "warns" in habits:
        out("WARNING: User is missing the following required groups: render, video [gid]. {see docs}\n")
    if "documents" in habits:
        out("".join(json.dumps([row], indent=4) + "\n" for row in rows) + '[{"nic": 0}]\n')
    else:
        out(json.dumps({"gpu_data": rows} if data and "data" in habits else rows, indent=4) + "\n")


def users(gpu: dict[str, Any]) -> Any:
    if not gpu["pids"]:
        return [{"process_info": "No running processes detected"}]
    found = [{"name": "python", "pid": pid, "mem_usage": {"value": 4096, "unit": "B"}} for pid in gpu["pids"]]
    return found if "flat" in habits else [{"process_info": each} for each in found]


def reset(chosen: int) -> None:
    state["resets"].append(chosen)
    works = not state["fails"]
    if works:
        for gpu in gpus:
            if gpu["hive"] == gpus[chosen]["hive"]:
                gpu["pending"] = []
    with open(f"{folder}/amd.json", "w", encoding="utf-8") as file:
        json.dump(state, file)
    show([{"gpu": chosen, "gpu_reset": "Successfully reset GPU" if works else "Failed to reset GPU"}])


def main() -> None:
    if words[0] == "event":
        out("EVENT LISTENING:\n\nPress q and hit ENTER when you want to stop.\n")
        input()
    elif words[0] == "list":
        show([{"gpu": n, "bdf": gpu["bus"], "uuid": gpu["uuid"], "kfd_id": 1, "node_id": n + 1, "partition_id": 0}
              for n, gpu in enumerate(gpus)])  # fmt: skip
    elif words[0] == "metric":
        ecc = [
            {"total_correctable_count": 3, "total_uncorrectable_count": gpu["errors"], "total_deferred_count": 0,
             "cache_correctable_count": "N/A", "cache_uncorrectable_count": "N/A"} for gpu in gpus
        ]  # fmt: skip
        guest = "guest" in habits
        show([{"gpu": n, "ecc": "N/A" if guest else each} for n, each in enumerate(ecc)], data=True)
    elif words[0] == "bad-pages":
        show([{"gpu": n, "retired": "N/A", "pending": g["pending"] or "N/A", "un_res": []} for n, g in enumerate(gpus)])
    elif words[0] == "process":
        show([{"gpu": n, "process_list": users(gpu)} for n, gpu in enumerate(gpus)])
    elif words[0] == "reset":
        reset(int(words[words.index("-g") + 1]))
    sys.exit(1 if "lies" in habits else 0)


main()
