"""What `from keras.layers import *` and the like bring: the names of Keras 2, which scripts use without saying whence.

A name that a module binds itself comes first.
"""

from __future__ import annotations

from tfmigrate.old_names import IMPORTED_BY_MODULES, NAMES_OF
from tfmigrate.understand.names import canonical


def brought(source: str, name: str) -> str | None:
    """The qualified name that `name` has after `from source import *`, or None when Keras brings no such name."""
    return _brought_on_purpose(source, name) or (IMPORTED_BY_MODULES.get(name) if source.startswith("keras.") else None)


def _brought_on_purpose(source: str, name: str) -> str | None:
    """The same for what the module is there for."""
    home = canonical(source)
    while home not in NAMES_OF and home.startswith("keras."):
        home = home.rpartition(".")[0]
    # `from keras import *` brings the packages, `from keras.somewhere import *` does not.
    known = NAMES_OF.get(home, frozenset()) if home != "keras" or canonical(source) == "keras" else frozenset()
    return f"{source}.{name}" if name in known else None
