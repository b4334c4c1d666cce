"""Old defaults of optimizers: whether one held for a program, and what a message says about it."""

from __future__ import annotations

from tfmigrate.rules import Default
from tfmigrate.settings import Settings

PACKAGE = {"keras": "keras", "tf.keras": "tensorflow"}
UNDER_ROOT = "epsilon is now inside the square root"
WHY_SQUARED = f"1e-7 squared: {UNDER_ROOT}"
NADAM = (
    "Nadam's momentum now warms up in about fifty steps instead of hundreds, and no argument sets that: losses "
    "differ by about one per cent"
)


def concerns(default: Default, flavour: str, settings: Settings) -> bool:
    """Whether an old default held for code of this flavour, and is another one today."""
    if default.flavour != flavour or default.new is None or default.old == default.new:
        return False
    if default.until is None:
        return True
    version = settings.written_for(PACKAGE[flavour])
    return version is not None and version < _version(default.until)


def depends_on_version(default: Default, flavour: str, settings: Settings) -> str | None:
    """The message about a default that held before some version, where the program's version is unknown; else None."""
    package = PACKAGE[default.flavour]
    if default.flavour != flavour or default.until is None or settings.written_for(package) is not None:
        return None
    return (
        f"{default.argument} was {default.old} by default before {package} {default.until} and is {default.new} now, "
        f"and the version this was written for is unknown: pass --from {package}==VERSION, or write it out"
    )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def story(default: Default) -> str:
    """What a default was, and is now, in words."""
    if default.argument == "epsilon":
        name = default.of.rsplit(".", 1)[-1]
        return f"{name} added epsilon 1e-7 to the square root and now adds it under the root, so its square is written"
    return f"{default.argument} was {default.old} by default and is {default.new} now"
