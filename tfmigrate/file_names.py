"""Names of the files that Keras writes: their endings, and gaps that are filled in later."""

from __future__ import annotations

import re

WEIGHTS = ".weights.h5"
MODEL = ".keras"
HDF5 = (".hdf5", ".h5")
"""Endings of files in HDF5 that Keras 3 knows by them."""
OLD_ENDINGS = (*HDF5, ".h5py", ".hd5", ".hdf", ".hf5", ".model", ".mdl", ".weights", ".ckpt")
"""Endings that old programs give to what Keras saves; it took any name."""
TELLING = 3
"""Letters between the gaps of a name that tell it from others."""
_GAP = re.compile(r"\{[^{}]*\}|%[-#0-9.]*[a-z]")


_ANY_ENDING = re.compile(r"\.[A-Za-z]\w*$")
_NUMBER = re.compile(r"\{[a-z_]\w*:[^{}]*[dfeg]\}$|\{epoch\}$")
"""What ModelCheckpoint fills in."""


def old_ending(name: str) -> str | None:
    """The ending of a file's name that goes where the name gets another; "" where that is added: `net.best`,
    `net.{epoch:02d}`. None for a name that has no ending, which may be that of a folder."""
    known = next((ending for ending in OLD_ENDINGS if name.endswith(ending)), None)
    return "" if known is None and (_ANY_ENDING.search(name) or _NUMBER.search(name)) else known


def with_ending(name: str, new_ending: str) -> str:
    """The name with another ending."""
    return name.removesuffix(old_ending(name) or "") + new_ending


def in_code(code: str, old: str, new: str) -> str:
    """The code of a text that ends so, with another ending."""
    head, quote = (code.rpartition(old)[::2]) if old else (code.rstrip("\"'"), "")
    return f"{head}{new}{quote or code[len(head) :]}"


def shape_of(name: str) -> str:
    """A file name with the same mark in each gap that is filled in later: `epoch*.h5` for `epoch{epoch:02d}.h5`."""
    return _GAP.sub("*", name)


def shape_of_last(path: str) -> str:
    """That of the file's own name, without its folders."""
    return shape_of(path).rpartition("/")[2]


def example_of(name: str) -> str:
    """A file name with something in each gap: `epoch01-0.1234.h5` for `epoch{epoch:02d}-{loss:.4f}.h5`."""
    return _GAP.sub(lambda gap: "0.1234" if gap[0].rstrip("}").endswith("f") else "01", name)


def longest_part(name: str) -> str:
    """The longest part of a file name between its gaps."""
    return max(_GAP.split(name), key=len)


_NEEDS = "the file names the "


def needs_in(what: str) -> str:
    """The message about a model that is saved whole with a class or a function that was written into the program."""
    return f"{_NEEDS}{what}; a script that loads the model needs it too: copy its definition there, or import it"


def needed_by(message: str) -> str | None:
    """What such a message names; None for any other."""
    return message.removeprefix(_NEEDS).partition(":")[0] if message.startswith(_NEEDS) else None
