"""The rank table of Huawei's collective library (HCCL): which chips there are, in the order of their ranks. Pure.

Source of the shape: MindCluster's description of hccl.json, which its Ascend Operator writes, and CANN's of rank
tables. Version 1.0; 1.2 where the chips are of SuperPods, which call each chip once more.
"""

from collections.abc import Sequence
from typing import Any

from cmgr.model.values.ranks import Server


def table(servers: Sequence[Server]) -> dict[str, Any]:
    """Return the table; ranks go on from one server to the next."""
    rank, listed = 0, list[dict[str, Any]]()
    for server in servers:
        devices = []
        for device in server.devices:
            pod = {} if device.pod is None else {"super_device_id": str(device.in_pod)}
            told = {"device_id": str(device.id), "device_ip": device.address}
            devices.append({**told, **pod, "rank_id": str(rank)})
            rank += 1
        listed.append({"device": devices, "server_id": server.name})
    found = {"status": "completed", "server_list": listed, "server_count": str(len(servers)), "version": "1.0"}
    pods: dict[int, list[str]] = {}
    for server in servers:
        for pod_id in sorted({device.pod for device in server.devices if device.pod is not None}):
            pods.setdefault(pod_id, []).append(server.name)
    if not pods:
        return found
    named = [{"super_pod_id": str(p), "server_list": [{"server_id": name} for name in pods[p]]} for p in sorted(pods)]
    return {**found, "version": "1.2", "super_pod_list": named}
