"""The settings of the driver of Ascend chips."""

from datetime import timedelta
from typing import Annotated

from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Dcmi:
    library: Annotated[
        str, Meta("The driver's library libdcmi.so, with its whole path; empty: searched for.", form=Form.PATH)
    ] = ""
    call_timeout: Annotated[
        timedelta, Meta("How long one chip may take over an answer before it counts as silent.", within=("100ms", "5s"))
    ] = timedelta(seconds=2)
    reset_timeout: Annotated[
        timedelta,
        Meta(
            "How long the driver may take over the call that resets a chip before that is reported as a trouble; it "
            "waits for processes to end.",
            within=("1s", "1h"),
        ),
    ] = timedelta(minutes=15)
    out_of_band: Annotated[
        bool, Meta("Whether a reset that failed is tried again through the out-of-band channel, where there is one.")
    ] = False
    booted: Annotated[int, Meta("The boot status of a chip that has booted.", within=(0, 65535))] = 16
    hccn_tool: Annotated[
        str,
        Meta(
            "The vendor's program that tells of links and optical modules, for the metrics, with its whole path: "
            "/usr/local/Ascend/driver/tools/hccn_tool; empty: they are not told.",
            form=Form.PATH,
        ),
    ] = ""
    npu_exporter_names: Annotated[
        bool, Meta("Whether the metrics are shown by the names of MindCluster's NPU Exporter, too.")
    ] = False
    poll: Annotated[
        timedelta, Meta("How often chips are polled while the driver tells of no faults.", within=("10ms", "1m"))
    ] = timedelta(seconds=2)
