"""How often each mark has come, for tens of millions of them.

An open-addressing table of 12 bytes a place, about 20 bytes a mark; a dictionary of numbers takes 110.
"""

from array import array

_PARTS = 256
"""Each grows by itself, so that no call waits until all marks have moved."""
_PLACES = 64
_FULL = 0.7


class MarkCounts:
    """Counts by mark, a number of 64 bits that looks drawn at random, as of a digest."""

    def __init__(self) -> None:
        self._parts = [_Part() for _ in range(_PARTS)]

    def __getitem__(self, mark: int) -> int:
        part = self._parts[mark % _PARTS]
        return part.times[part.place(mark)]

    def add(self, mark: int) -> None:
        self._parts[mark % _PARTS].add(mark)


class _Part:
    """Marks by their place, which is free where `times` is 0."""

    __slots__ = ("marks", "times", "used")

    def __init__(self, places: int = _PLACES) -> None:
        self.marks, self.times, self.used = array("Q", bytes(8 * places)), array("I", bytes(4 * places)), 0

    def place(self, mark: int) -> int:
        """Where the mark stands, or would."""
        marks, times, last = self.marks, self.times, len(self.marks) - 1
        place = mark // _PARTS & last
        while times[place] and marks[place] != mark:
            place = place + 1 & last
        return place

    def add(self, mark: int, times: int = 1) -> None:
        place = self.place(mark)
        if not self.times[place]:
            if self.used >= _FULL * len(self.marks):
                self._grow()
                place = self.place(mark)
            self.marks[place] = mark
            self.used += 1
        self.times[place] += times

    def _grow(self) -> None:
        larger = _Part(2 * len(self.marks))
        for mark, times in zip(self.marks, self.times, strict=True):
            if times:
                larger.add(mark, times)
        self.marks, self.times = larger.marks, larger.times
