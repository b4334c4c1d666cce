"""What fit() on arrays is given: a shuffled dataset of their rows, batches gathered by index, or the arrays.

Measured in docs/throughput.md; the reasons are in docs/semantics.md, Pipelines of arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan.change.calls import FIT, is_none, keywords, named_arguments
from tfmigrate.plan.data.sizes import bytes_of
from tfmigrate.plan.draft import Draft
from tfmigrate.settings import Pipeline
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import Method, Opaque, Value

LARGE = 2**30
"""Bytes of arrays from which another copy of their rows counts: about an eighth of the memory of a small machine."""
_READ_BY_SLICES = frozenset({"h5py.File", "zarr.open", "zarr.open_array"})
"""What opens a file whose rows are in memory once they are sliced: `file["x"][:]`."""
_ON_DISK = _READ_BY_SLICES | {"numpy.memmap", "numpy.lib.format.open_memmap"}


def form_of(use: Use, drafts: Mapping[Module, Draft]) -> Pipeline:
    """The form for one fit(), never "auto"."""
    draft = drafts[use.site.frame.module]
    if draft.settings.pipeline != "auto":
        return draft.settings.pipeline
    data = list(_data(use))
    if any(_is_on_disk(node, draft, drafts) for node in data):
        return "arrays"
    sizes = [bytes_of(node, draft.facts, draft.scopes) for node in data]
    return "gather" if sum(size for size in sizes if size is not None) > LARGE else "dataset"


def _data(use: Use) -> Iterator[cst.BaseExpression]:
    """Each array that a fit() trains on."""
    named = named_arguments(use.call, FIT) or {}
    for node in (named[name].value for name in ("x", "y", "sample_weight") if name in named):
        if isinstance(node, cst.List | cst.Tuple):
            yield from (element.value for element in node.elements)
        else:
            yield node


def _is_on_disk(node: cst.BaseExpression, draft: Draft, drafts: Mapping[Module, Draft]) -> bool:
    """Whether rows are read from a file when they are asked for: a dataset would read them all into memory."""
    files = {_file(value, drafts) for value in draft.facts.options(node)} - {None}
    return bool(files - _READ_BY_SLICES if _is_slice(settled(node, draft.scopes)) else files)


def _is_slice(node: cst.BaseExpression) -> bool:
    """`rows[:]`, `rows[2:8, 0]`, `rows[...]`."""
    index = node.slice[0].slice if isinstance(node, cst.Subscript) else None
    return isinstance(index, cst.Slice) or (isinstance(index, cst.Index) and isinstance(index.value, cst.Ellipsis))


def _file(value: Value, drafts: Mapping[Module, Draft]) -> str | None:
    """What opened the file that rows are read from, by its full name."""
    if isinstance(value, Method):
        return _file(value.receiver, drafts)
    call = value.node if isinstance(value, Opaque) else None
    if not isinstance(call, cst.Call):
        return None
    name = next(filter(None, (draft.facts.symbols.get(call.func) for draft in drafts.values())), "")
    mapped = keywords(call).get("mmap_mode") if name == "numpy.load" else None
    if mapped is not None and not is_none(mapped.value):
        return "numpy.memmap"
    return name if name in _ON_DISK or name.endswith(".HDF5Matrix") else None
