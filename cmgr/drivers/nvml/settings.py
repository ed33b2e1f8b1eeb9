"""The settings of the driver of NVIDIA GPUs."""

from datetime import timedelta
from typing import Annotated

from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Nvml:
    library: Annotated[
        str, Meta("The driver's library libnvidia-ml.so.1, with its whole path; empty: searched for.", form=Form.PATH)
    ] = ""
    tool: Annotated[str, Meta("The program that resets GPUs, with its whole path.", form=Form.PATH)] = (
        "/usr/bin/nvidia-smi"
    )
    mig_tool: Annotated[
        str,
        Meta(
            "The program that makes the parts of MIG again after a reset, with its whole path; empty: GPUs that are "
            "divided into such parts are not reset.",
            form=Form.PATH,
        ),
    ] = ""
    stop_units: Annotated[
        tuple[str, ...],
        Meta(
            "Units of systemd that keep GPUs open, monitors say: they are stopped before a reset, in this order, and "
            "started after it.",
            form=Form.UNIT,
        ),
    ] = ()
    kernel_log: Annotated[
        str,
        Meta(
            "Where the kernel tells of Xids that the library does not tell; empty: nowhere.", form=Form.PATH, empty=True
        ),
    ] = "/dev/kmsg"
    call_timeout: Annotated[
        timedelta, Meta("How long one GPU may take over an answer before it counts as silent.", within=("100ms", "5s"))
    ] = timedelta(seconds=2)
    reset_timeout: Annotated[
        timedelta, Meta("How long the program may take over the reset of GPUs.", within=("1s", "1h"))
    ] = timedelta(minutes=3)
    retry: Annotated[
        timedelta, Meta("The wait before events are listened for again when that failed.", within=("10ms", "1m"))
    ] = timedelta(seconds=1)
