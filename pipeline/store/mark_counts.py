"""Counts of marks, for tens of millions of them.

This is an open-addressing table with 12 bytes per slot, about 20 bytes per mark; a dictionary takes 110.
"""

from array import array

_PARTS = 256
"""Parts of the table. Each grows by itself, so that no call has to move all marks."""
_INITIAL_SLOTS = 64
_FULL = 0.7


class MarkCounts:
    """Counts by mark. A mark is a uniformly distributed 64-bit number, such as a digest."""

    def __init__(self) -> None:
        self._parts = [_Part() for _ in range(_PARTS)]

    def __getitem__(self, mark: int) -> int:
        part = self._parts[mark % _PARTS]
        return part.times[part.find_slot(mark)]

    def add(self, mark: int) -> None:
        self._parts[mark % _PARTS].add(mark)


class _Part:
    """One part of the table: the mark and the count (`times`) of each slot; a slot is free if its count is 0."""

    __slots__ = ("marks", "times", "used")

    def __init__(self, slots: int = _INITIAL_SLOTS) -> None:
        self.marks, self.times, self.used = array("Q", bytes(8 * slots)), array("I", bytes(4 * slots)), 0

    def find_slot(self, mark: int) -> int:
        marks, times, last = self.marks, self.times, len(self.marks) - 1
        slot = mark // _PARTS & last
        while times[slot] and marks[slot] != mark:
            slot = slot + 1 & last
        return slot

    def add(self, mark: int, times: int = 1) -> None:
        slot = self.find_slot(mark)
        if not self.times[slot]:
            if self.used >= _FULL * len(self.marks):
                self._grow()
                slot = self.find_slot(mark)
            self.marks[slot] = mark
            self.used += 1
        self.times[slot] += times

    def _grow(self) -> None:
        larger = _Part(2 * len(self.marks))
        for mark, times in zip(self.marks, self.times, strict=True):
            if times:
                larger.add(mark, times)
        self.marks, self.times = larger.marks, larger.times
