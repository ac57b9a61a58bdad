"""What was made for a page and will be asked for again soon, such as an order of all items."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_MOST = 24


class Kept:
    """The latest of them, by a name that holds the version of what they were made from."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, ...], Any] = {}

    def get(self, name: tuple[str, ...], make: Callable[[], T]) -> T:
        """The one of that name, made if it is not there."""
        if name not in self._made:
            self._made[name] = make()
            for old in list(self._made)[:-_MOST]:
                self._made.pop(old, None)
        found: T = self._made[name]
        return found
