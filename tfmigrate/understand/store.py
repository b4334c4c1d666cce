"""What every variable and attribute stands for at one point of the walk, in layers: one for each open branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfmigrate.understand.contents import is_keras
from tfmigrate.understand.joins import join
from tfmigrate.understand.values import NOTHING, Frame, Value, options

Key = tuple[object, str]
"""(activation, variable) or (object, attribute)."""


class Store:
    """A mapping of keys to values. A branch writes to a layer of its own, so that opening one costs nothing."""

    __slots__ = ("_outer", "_own")

    def __init__(self, outer: Store | None = None) -> None:
        self._own: dict[Key, Value] = {}
        self._outer = outer

    def get(self, key: Key) -> Value | None:
        layer: Store | None = self
        while layer is not None:
            value = layer._own.get(key)
            if value is not None:
                return value
            layer = layer._outer
        return None

    def __setitem__(self, key: Key, value: Value) -> None:
        self._own[key] = value

    def of(self, owner: object) -> Iterator[tuple[str, Value]]:
        """All that belongs to one activation or object."""
        seen: set[Key] = set()
        layer: Store | None = self
        while layer is not None:
            for key, value in list(layer._own.items()):
                if key[0] is owner and key not in seen:
                    seen.add(key)
                    yield key[1], value
            layer = layer._outer

    def merge(self, reached: Sequence[Store], left: Sequence[Store] = ()) -> None:
        """Join the layers of the branches that reach the next statement.

        `left` are branches that left the function: their variables are gone, what they did to objects is not. So are
        those of the functions that were called in the branches.
        """
        for key in dict.fromkeys(key for branch in reached for key in branch._own if not _is_gone(key)):
            values = [value for branch in reached if (value := branch.get(key)) is not None]
            self._own[key] = join(*values)
        for branch in left:
            for key, value in branch._own.items():
                if not isinstance(key[0], Frame):
                    known = self.get(key)
                    self._own[key] = value if known is None else join(known, value)

    def absorb(self, layer: Store) -> None:
        """Join what was done to objects in a layer that may not be run, or not before what is walked next.

        An attribute that is None until a part of a model is made is that part for whoever reads it. The variables of a
        function that has ended are kept for the functions that were made in it.
        """
        for key, value in layer._own.items():
            if _is_kept(key):
                known = self.get(key)
                self._own[key] = value if known is None else _made(join(known, value))


def _made(value: Value) -> Value:
    left = [option for option in options(value) if option != NOTHING]
    return join(*left) if is_keras(value) and left else value


def _is_kept(key: Key) -> bool:
    """Whether something may be read after unknown code has run: of a function, what is left to those made in it."""
    return not isinstance(key[0], Frame) or (key[0].ended and key[0].outlived)


def _is_gone(key: Key) -> bool:
    return isinstance(key[0], Frame) and key[0].is_gone
