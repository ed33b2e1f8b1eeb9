"""Finding one's way in the JSON that the views give: its rows, what they are called, and what of it is wrong."""

from collections.abc import Mapping
from typing import cast

from cmgr.cli.text import render

Row = Mapping[str, object]

WELL = "well again"


def rows(told: Row, key: str) -> list[Row]:
    """Return the list of objects under this key."""
    found = told.get(key)
    return [cast("Row", row) for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def service(told: Row) -> Row:
    """Return what the service says of itself."""
    found = told.get("service")
    return cast("Row", found) if isinstance(found, dict) else {}


def label(container: Row) -> str:
    """Return the container's name, or the beginning of its id when it has none."""
    return str(container["name"]) or str(container["id"])[:12]


def labels(told: Row) -> dict[int, str]:
    """Return what each container is called, by its place in the list: as little as tells it from the others."""
    found = rows(told, "containers")
    names = [label(c) for c in found]
    return {n: name if names.count(name) == 1 else str(found[n]["called"]) for n, name in enumerate(names)}


def kept(status: Row) -> list[object]:
    """Return the rings that the limits keep back."""
    restraint = status.get("restraint")
    return cast("list[object]", restraint["rings"]) if isinstance(restraint, dict) else []


def tells(ring: Row) -> bool:
    """Return whether there is something to say of the ring: it is in an episode, or kept back from one."""
    return bool(ring["episode"] or ring["reason"])


def health(chip: Row) -> str:
    return "healthy" if chip["healthy"] else "isolated" if chip["isolated"] else "faulty"


def ails(container: Row) -> bool:
    """Return whether the container is restarted because it ails, or was given up."""
    heal = container["heal"]
    return isinstance(heal, dict) and bool(heal["since"])


def troubles(status: Row) -> list[str]:
    """Return what is wrong, in a few words each; nothing when all is well."""
    found = []
    state = service(status).get("state")
    if state == "stopped":
        found.append("the service is not running")
    elif state != "ready":
        found.append(f"the service is {state}")
    found += [f"{render.counted(len(kept(status)), 'ring')} kept back"] * bool(kept(status))
    found += [f"ring {r['id']} is in an episode ({r['phase']})" for r in rows(status, "rings") if r["episode"]]
    bad = [c for c in rows(status, "chips") if not c["healthy"]]
    found += [f"chip {c['id']} is {'isolated' if c['isolated'] else 'not healthy'}" for c in bad]
    named = labels(status)
    failed = [n for n, c in enumerate(rows(status, "containers")) if c["status"] == "failed"]
    found += [f"container {named[n]} failed" for n in failed]
    ailing = [(n, c) for n, c in enumerate(rows(status, "containers")) if ails(c) and n not in failed]
    found += [f"container {named[n]} is {c['health'] or 'to be restarted'}" for n, c in ailing]
    found += [f"runtime {r['name']} is down" for r in rows(status, "runtimes") if r["why_down"]]
    return found


def subjects(status: Row) -> dict[str, str]:
    """Return what there is to say of each thing that is not as it should be, and of cmgr itself."""
    own = service(status)
    found = {"cmgr": f"{own.get('state')}{', in maintenance' if own.get('maintenance') else ''}"}
    found |= {"trouble": "; ".join(map(str, cast("list[object]", own["troubles"])))} if own.get("troubles") else {}
    found |= {f"ring {r['id']}": f"{r['phase']}: {r['reason']}" for r in rows(status, "rings") if tells(r)}
    named = labels(status)
    for place, container in enumerate(rows(status, "containers")):
        said = ": ".join(filter(None, [str(container["status"]), str(container["reason"])]))
        found |= {f"container {named[place]}": said} if said != "running" else {}
    found |= {f"chip {c['id']}": f"{health(c)}: {c['reason']}" for c in rows(status, "chips") if not c["healthy"]}
    # How long it takes by now is no news, that it takes long is.
    return found | {f"warning: {w['subject']}": str(w["hint"]) for w in rows(status, "warnings")}


def to_type(status: Row) -> list[str]:
    """Return what a person can do, a line for each thing, the most urgent first."""
    own, named = service(status), labels(status)
    found = ["the service: systemctl start cmgr"] * (own.get("state") == "stopped")
    found += ["maintenance: cmgr maintenance off"] * bool(own.get("maintenance"))
    found += ["look whether it is the driver or the chips, then type: cmgr resume --all"] * bool(kept(status))
    found += [f"{w['subject']}: {w['hint']}" for w in rows(status, "warnings")]
    acting = not own.get("maintenance")
    found += [f"ring {r['id']}: {r['hint']}" for r in rows(status, "rings") if acting and r["hint"]]
    about = [f"{named[n]}: {c['hint']}" for n, c in enumerate(rows(status, "containers")) if c["hint"]]
    found += [line for line in about if "cmgr maintenance off" not in line]
    # What a container's hint says already is not said once more for its chip.
    said = "\n".join(found)
    chips = [c for c in rows(status, "chips") if c["isolated"] and f"cmgr release {c['id']}" not in said]
    found += [f"chip {c['id']}: {c['hint']}" for c in chips]
    down = [r for r in rows(status, "runtimes") if r["why_down"]]
    return [*found, *(f"runtime {r['name']}: systemctl status {r['name']}" for r in down)]


def users_of_ring(status: Row, chip: int) -> list[str]:
    """Return what runs on any chip of the ring of this one."""
    ring = next((c["ring"] for c in rows(status, "chips") if c["id"] == chip), None)
    mates = {c["id"] for c in rows(status, "chips") if c["ring"] == ring}
    named = labels(status)
    found = []
    for place, container in enumerate(rows(status, "containers")):
        used = set(cast("list[object]", container["chips"]))
        if container["status"] in ("running", "pausing") and used & mates:
            found.append(named[place])
    return found


def counts(status: Row) -> str:
    """Return how many chips are healthy and how many containers run."""
    chips, containers = rows(status, "chips"), rows(status, "containers")
    healthy = sum(bool(c["healthy"]) for c in chips)
    running = sum(c["status"] == "running" for c in containers)
    well = render.counted(len(chips), "chip")
    well = well if healthy == len(chips) else f"{healthy} of {well}"
    up = render.counted(len(containers), "container")
    up = up if running == len(containers) else f"{running} of {up}"
    return f"{well} healthy, {up} running"
