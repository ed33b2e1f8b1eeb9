"""Which labels of a container its image brought: decided when it is seen first, and asked once of each image."""

from collections.abc import Callable, Mapping

from cmgr.model.values.services.containers import ContainerKey
from cmgr.runtimes import labels

Decided = Callable[[ContainerKey], frozenset[str] | None]
"""Returns the `Container.brought` that is in the books; None where nothing was decided. Any thread."""

Ask = Callable[[], Mapping[str, str] | None]
"""Returns the labels of an image; None where nobody can tell them any more."""

MOST = 512
"""Images whose labels are remembered."""


class Images:
    """Any thread."""

    def __init__(self, decided: Decided) -> None:
        self.decided = decided
        self._known: dict[str, Mapping[str, str]] = {}

    def brought(self, key: ContainerKey, told: Mapping[str, str], ask: Ask) -> frozenset[str] | None:
        """Return `Container.brought` of a container with these labels; `ask` asks its image."""
        if not labels.beyond(told):
            return frozenset()
        decided = self.decided(key)
        found = ask() if decided is None else None
        return decided if found is None else labels.brought(told, found)

    def once(self, image: str, ask: Ask) -> Mapping[str, str] | None:
        """Return the labels of the image with this id, which never change."""
        found = self._known.get(image)
        if found is None and (found := ask()) is not None:
            self._known[image] = found
            for oldest in list(self._known)[:-MOST]:
                self._known.pop(oldest, None)
        return found
