"""The initializers that two models ask for (probe/initializers), layer by layer."""

from __future__ import annotations

from tfmigrate.verify.run.trace import Model


def changed(old: Model, new: Model) -> list[tuple[str, str, str]]:
    """(the part by the old layer's name, what it was, what it is), of parts that both models tell of; none where a file
    gives the weights."""
    if old.loaded or new.loaded or _layers(old) != _layers(new):
        return []
    before, after = _by_part(old), _by_part(new)
    return [
        (name, words, after[part][1])
        for part, (name, words) in before.items()
        if part in after and after[part][1] != words
    ]


def compared(old: Model, new: Model) -> int:
    return len(_by_part(old).keys() & _by_part(new).keys())


def _layers(model: Model) -> int:
    return len({initializer.partition(" ")[0] for initializer in model.initializers})


def _by_part(model: Model) -> dict[tuple[str, str], tuple[str, str]]:
    """(the layer's number, "kernel") -> ("dense kernel", "HeNormal")."""
    asked = {}
    for initializer in model.initializers:
        place, _, words = initializer.partition(": ")
        number, _, name = place.partition(" ")
        asked[number, name.rpartition(" ")[2]] = name, words
    return asked
