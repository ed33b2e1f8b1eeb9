"""The fleet's engine: what lets appliances agree on groups that span them. Loaded only where `fleet.engine` is set."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cmgr.config.engine import FleetSettings
    from cmgr.fleet.etcd import EtcdFleet


def open_fleet(settings: "FleetSettings") -> "EtcdFleet":
    """Return this appliance in its fleet; nobody is asked yet. Raises `ConfigError`."""
    from cmgr.fleet import access
    from cmgr.fleet.appliance_text import Keys
    from cmgr.fleet.etcd import EtcdFleet
    from cmgr.fleet.gateway import Gateway
    from cmgr.fleet.registration import Identity

    who = Identity(access.name_of(settings), Keys(settings.prefix), access.machine, settings.lease)
    return EtcdFleet(who, Gateway(access.access(settings)))
