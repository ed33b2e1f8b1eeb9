"""Which library this driver wants, and where the packages of the Ascend driver put it."""

from cmgr.drivers.dcmi.library.abi import LIBRARY
from cmgr.drivers.libraries import Wanted

WANTED = Wanted(
    LIBRARY,
    "dcmi.library",
    "the Ascend driver",
    (
        "/usr/local/dcmi",
        "/usr/local/Ascend/driver/lib64/driver",
        "/usr/local/Ascend/driver/lib64",
        "/usr/lib64",
        "/usr/lib",
    ),
)
