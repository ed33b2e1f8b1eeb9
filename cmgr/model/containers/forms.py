"""The special forms in which containers are run: a row each, in the order in which they are asked.

Another form is its own module and a row here. There is no registration: this tuple is all of them.
"""

from cmgr.model.containers.healing import confirm, count, needs_restart, why_restarted, why_unconfirmed
from cmgr.model.containers.moving.moves import moves_still, why_moved
from cmgr.model.containers.together.groups import stops_with_group, why_coupled
from cmgr.model.containers.together.ordering import starts_before, stops_before
from cmgr.model.holds.consequences import starts_along, stops_along, why_along
from cmgr.model.holds.keeping import Form

FORMS = (
    Form(stops_after=stops_before, starts_after=starts_before),
    Form(why=why_restarted, starts_after=why_unconfirmed, stops_still=needs_restart, ask=confirm, starts=count),
    Form(why=why_coupled, stops_still=stops_with_group),
    Form(why=why_moved, stops_still=moves_still),
    Form(why=why_along, starts_after=starts_along, stops_still=stops_along),
)
"""Order and projects; healing; groups; moves; consequences."""
