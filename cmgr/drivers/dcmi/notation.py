"""How containers ask for Ascend NPUs."""

import re

from cmgr.vendor import Notation

NOTATION = Notation(
    variable="ASCEND_VISIBLE_DEVICES",
    # With this option the numbers are those of vNPUs.
    parts_if=("ASCEND_RUNTIME_OPTIONS", "VIRTUAL"),
    parts_made="ASCEND_VNPU_SPECS",
    items=(
        re.compile(r"(?:ascend[0-9a-z]*|npu)-([0-9]{1,4})", re.IGNORECASE),
        # A vNPU: type, template, its own number, and the chip that it is a part of: "Ascend910-2c-100-0".
        re.compile(
            r"(?:ascend[0-9a-z]*|npu)-(?:vir)?[0-9]{1,2}c?[0-9a-z._]*-(?P<part>[0-9]{1,4})-(?P<chip>[0-9]{1,4})",
            re.IGNORECASE,
        ),
    ),
    node=re.compile(r"/dev/davinci([0-9]{1,4})"),
    parts="/dev/vdavinci",
    majors=frozenset({"devdrv-cdev"}),
    cdi=frozenset({"huawei.com"}),
    jobs="huawei.com/job",
)
