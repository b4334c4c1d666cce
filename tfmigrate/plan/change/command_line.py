"""Options of the command line: where a program declares what `args.optimizer` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan.change.calls import keywords, passed_as, text_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import index_of, last_word
from tfmigrate.understand.values import Opaque


def last_name(node: cst.CSTNode) -> str | None:
    """The last part of a name: `gpus` of `gpus`, `args.gpus` and `args["gpus"]`."""
    if isinstance(node, cst.Name | cst.Attribute):
        return last_word(node)
    return text_of(index_of(node))


def is_option(node: cst.Attribute, facts: Facts) -> bool:
    """Whether an attribute may be an option: `args.gpus`, where `args` holds what the command line gives."""
    return any(isinstance(value, Opaque) and value.settings for value in facts.options(node.value))


def is_of_absl(declaration: cst.Call) -> bool:
    """Whether a declaration is of absl or TensorFlow, and not argparse's."""
    return (last_name(declaration.func) or "").startswith("DEFINE_")


def declarations(node: cst.BaseExpression, modules: Iterable[Module]) -> Iterator[tuple[Module, cst.Call]]:
    """The calls that declare an option of the name that an attribute or an item is read by, and where they stand."""
    name = last_name(node) if isinstance(node, cst.Attribute | cst.Subscript) else None
    for module in modules if name is not None else ():
        for call in module.calls:
            if is_of_absl(call):
                if call.args and text_of(call.args[0].value) == name:
                    yield module, call
            elif last_name(call.func) == "add_argument" and name in _destinations(call):
                yield module, call


def _destinations(call: cst.Call) -> set[str]:
    """The attribute that `add_argument()` sets."""
    named = keywords(call)
    if "dest" in named:
        return {text_of(named["dest"].value) or ""}
    texts = [text_of(arg.value) or "" for arg in call.args if arg.keyword is None]
    return {text.lstrip("-").replace("-", "_") for text in texts if text.startswith("--") or not text.startswith("-")}


def default_of(declaration: cst.Call) -> cst.BaseExpression | None:
    """What an option is where the command line says nothing."""
    given = passed_as("default", 1, declaration) if is_of_absl(declaration) else keywords(declaration).get("default")
    return given.value if given is not None else None


def choices_of(declaration: cst.Call) -> cst.BaseExpression | None:
    """The list of all that an option can be."""
    given = (
        passed_as("enum_values", 2, declaration) if is_of_absl(declaration) else keywords(declaration).get("choices")
    )
    return given.value if given is not None else None
