"""Which measured versions stand for the TensorFlow that the code must run on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from tfmigrate.plan.names.public_names import Entry, PublicNames

KERAS_3_SINCE = (2, 16)
"""First TensorFlow whose `tf.keras`, and the `keras` it brings, is Keras 3."""
LEGACY_KERAS = "TF_USE_LEGACY_KERAS"
"""The setting that makes `tf.keras` Keras 2 there, with the package tf_keras."""
_SAME = {
    "tensorflow.compat.v1.compat": "tensorflow.compat",
    "tensorflow.compat.v2.compat": "tensorflow.compat",
    "tensorflow.compat.v2.enable_v2_behavior": "tensorflow.compat.v1.enable_v2_behavior",
    "tensorflow.compat.v2": "tensorflow",
    "keras.api": "keras",
}
"""Places that the index does not have, in order, and those where it has the same."""
_TITLES = {"tensorflow": "TensorFlow", "keras": "Keras", "tf_keras": "tf_keras"}


@dataclass(frozen=True)
class Target:
    """The index as one TensorFlow sees it. Between two measured versions a name is missing if both lack it.

    From 2.16 on the newest stands for all: everything was removed with Keras 2 and tf.estimator in 2.16.
    """

    names: PublicNames
    version: str | None
    """As in Settings.target; None is the newest measured."""
    keras_2: bool
    """Whether the program asks for tf_keras in the place of Keras 3 (LEGACY_KERAS)."""

    def missing(self, name: str) -> str | None:
        """The shortest beginning of `name` that the target lacks; None if it has all of it, or that is unknown."""
        place = self._place(name)
        lacking = [self.names.missing(place, version) for version in self._asked(place)]
        if not lacking or not all(lacking):
            return None
        left_out = min(place.count(".") - begin.count(".") for begin in lacking if begin)
        return name.rsplit(".", left_out)[0]

    def entries(self, name: str) -> list[Entry]:
        """What `name` is, in each version asked; empty where one of them lacks it."""
        place = self._place(name)
        looked_up = [self.names.entry(place, version) for version in self._asked(place)]
        return [entry for entry in looked_up if entry is not None] if all(looked_up) else []

    def nearest(self, name: str) -> str | None:
        """The name of the target that is most like one that it lacks."""
        place = self._place(name)
        other = self.names.nearest(place, self._asked(place)[-1])
        if other is not None and _root(other) != _root(name):
            return "tensorflow.keras" + other[len("tf_keras") :]
        return other

    def renamed(self, name: str) -> str | None:
        """Another name of what `name` was, that the target has."""
        place = self._place(name)
        new = self.names.section(place).renamed(place)
        return new if new is not None and self.missing(new) is None else None

    def was_in(self, *same: str) -> str:
        """In which measured versions a name was, for the user: "1.15 and 2.3", "Keras 2.2"; "" for none.

        `same`: the name, and others that it had, of which the first counts that any version has.
        """
        return self._versions(same, lambda entry: True)

    def took_in(self, name: str, keyword: str) -> str:
        """The same for the versions in which a callable takes a keyword."""
        return self._versions((name,), lambda entry: keyword in (entry.keywords or ()))

    def _versions(self, same: Sequence[str], fits: Callable[[Entry], bool]) -> str:
        for place in (place for name in same for place in (self._place(name), name)):
            section = self.names.section(place)
            versions = [v for v in section.versions if (entry := section.entry(place, v)) is not None and fits(entry)]
            if versions:
                known = _listed([_short(version) for version in versions])
                return known if _TITLES[_root(place)] == self.package(same[0]) else f"{_TITLES[_root(place)]} {known}"
        return ""

    def title(self, name: str) -> str:
        """The package of a name and its version, for the user: "TensorFlow 2.21", "Keras 3.15"."""
        place = self._place(name)
        version = self.version if _root(place) == "tensorflow" and self.version else self._asked(place)[-1]
        return f"{self.package(name)} {_short(version)}"

    def span(self, name: str) -> str:
        """The package of a name and all versions measured: "TensorFlow (1.15 to 2.21)"."""
        known = [_short(version) for version in self.names.versions(self._place(name))]
        return f"{self.package(name)} ({f'{known[0]} to {known[-1]}' if len(known) > 1 else known[0]})"

    def package(self, name: str) -> str:
        """The package of a name, for the user."""
        return _TITLES[_root(self._place(name))]

    def _place(self, name: str) -> str:
        """Where the index has a name: one Keras stands under several packages."""
        for home, same in _SAME.items():
            if name == home or name.startswith(home + "."):
                name = same + name[len(home) :]
        legacy = self.keras_2 and brings_keras_3(self.version)
        if legacy and (name == "tensorflow.keras" or name.startswith("tensorflow.keras.")):
            return "tf_keras" + name[len("tensorflow.keras") :]
        return name

    def _asked(self, place: str) -> tuple[str, ...]:
        """The versions of a name's package to ask: one, or the two that the target lies between."""
        return _nearest_versions(self.names.versions(place), self.version)


def brings_keras_3(version: str | None) -> bool:
    """Whether a target, as in Settings.target, has Keras 3."""
    return version is None or _minor(version) >= KERAS_3_SINCE


def _short(version: str) -> str:
    """ "2.9" for "2.9.3"."""
    return ".".join(version.split(".")[:2])


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _root(name: str) -> str:
    return name.split(".", 1)[0]


def _minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))[:2]


@cache
def _nearest_versions(measured: Sequence[str], version: str | None) -> tuple[str, ...]:
    """The measured version that the target is, or those next to it on both sides."""
    if version is None or brings_keras_3(version):
        return tuple(measured[-1:])
    minor = _minor(version)
    known = [candidate for candidate in measured if _minor(candidate) < KERAS_3_SINCE] or list(measured)
    same = [candidate for candidate in known if _minor(candidate) == minor]
    below = [candidate for candidate in known if _minor(candidate) < minor]
    above = [candidate for candidate in known if _minor(candidate) > minor]
    return tuple(same or [*below[-1:], *(above[:1] or measured[-1:])])
