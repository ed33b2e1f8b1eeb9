"""An appliance of a fleet as a process of its own: `python -m tests.fleet.appliance ENDPOINT PREFIX NAME`.

It says "up" when it is. For each line "ROUND REVISION" it writes that round of group tp4, and says how that ended.
"""

import sys

from cmgr.fleet.appliance_text import Keys
from cmgr.fleet.etcd import EtcdFleet
from cmgr.fleet.gateway import Access, Gateway
from cmgr.fleet.registration import Identity
from tests.fleet.world import LEASE, QUICK, One, document, show


def main(endpoint: str, prefix: str, name: str) -> None:
    who = Identity(name, Keys(prefix), lambda: name.encode().hex().ljust(32, "0"), LEASE)
    one = One(EtcdFleet(who, Gateway(Access((endpoint,))), QUICK)).begin().up()
    show(one)
    print("up", flush=True)  # noqa: T201 - the test reads it.
    for line in sys.stdin:
        round_, revision = map(int, line.split())
        print(one.fleet.write("tp4", document(round_), revision).outcome.value, flush=True)  # noqa: T201
    one.fleet.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
