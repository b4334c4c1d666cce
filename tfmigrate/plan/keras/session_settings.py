"""The settings of a session, and the calls of `tf.config` that they become."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan.change.calls import is_false, is_true, text_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.syntax import dotted


class NotOnlySettings(Exception):
    """Why a session cannot be removed, in words."""


@dataclass
class Settings:
    """The settings of a session, as far as tf.config has them."""

    growth: bool = False
    visible: str | None = None
    numbers: str | None = None
    """The code of an iterable of the numbers of the visible GPUs."""
    text: str | None = None
    """The code of a text of such numbers; where it is empty, all GPUs are visible."""
    threads: bool = False
    """Whether a number of threads is written by its name."""
    calls: list[str] = field(default_factory=list)
    """Calls to write, without `tf.` before them."""
    said: list[str] = field(default_factory=list)

    def set(self, key: str, value: cst.BaseExpression, module: Module, *, first: bool = False) -> None:
        """Note one setting. Raises NotOnlySettings where tf.config has no counterpart of it.

        `first`: whether it stands where the statements will, so that names mean the same there.
        """
        code = module.code(value)
        if key == "gpu_options.allow_growth" and (is_true(value) or is_false(value)):
            self.growth = is_true(value)
        elif key == "gpu_options.per_process_gpu_memory_fraction":
            self.growth = True
            self.said.append(f"the limit of {code} of the memory becomes growth on demand")
        elif key == "log_device_placement" and (is_true(value) or is_false(value)):
            if is_true(value):
                self.calls.append("debugging.set_log_device_placement(True)")
        elif key == "allow_soft_placement" and is_true(value):
            self.calls.append("config.set_soft_device_placement(True)")
        elif key in _THREADS and _may_be_moved(value, stays=first):
            self.threads = self.threads or not isinstance(value, cst.Integer)
            self.calls.append(f"config.threading.set_{key}({code})")
        elif key != "gpu_options.visible_device_list" or not self._show(value, module):
            raise NotOnlySettings(f"`{key}` = {code} is not understood")

    def _show(self, devices: cst.BaseExpression, module: Module) -> bool:
        """Note which GPUs are visible; False where that is no list of their numbers."""
        numbers = _joined_numbers(devices)
        if _is_ids(text_of(devices)):
            self.visible = text_of(devices)
        elif numbers is not None:
            self.numbers = module.code(numbers)
        elif isinstance(devices, cst.Name | cst.Attribute):
            self.text = self.numbers = module.code(devices)
        else:
            return False
        return True

    @property
    def is_bound_here(self) -> bool:
        """Whether the statements read variables, which may have other values elsewhere."""
        return self.numbers is not None or self.threads

    def imply(self, other: Settings) -> bool:
        """Whether other settings add nothing to these, so that only these need to be written."""
        return self.growth and other.growth and not other.calls and other.visible is None and other.numbers is None

    def lines(self, tf: str, gpu: str, indent: str, quote: str) -> list[str]:
        """The statements that take the session's place. Devices must be chosen before their memory is.

        `gpu`: a name that is free there.
        """
        statements = []
        kind = f"{quote}GPU{quote}"
        gpus = f"{tf}.config.list_physical_devices({kind})"
        if self.visible is not None or self.numbers is not None:
            ids = [part.strip() for part in (self.visible or "").split(",") if part.strip()]
            listed = ", ".join(f"{gpus}[{number}]" for number in ids)
            if self.numbers is not None:
                numbers = self.numbers if self.text is None else f"{self.text}.split({quote},{quote})"
                listed = f"{gpus}[int({gpu})] for {gpu} in {numbers}"
            chosen = f"{tf}.config.set_visible_devices([{listed}], {kind})"
            statements.append(chosen if self.text is None else f"if {self.text}:\n{indent}{chosen}")
            gpus = f"{tf}.config.get_visible_devices({kind})"
        if self.growth:
            statements.append(f"for {gpu} in {gpus}:\n{indent}{tf}.config.experimental.set_memory_growth({gpu}, True)")
        return [*statements, *(f"{tf}.{call}" for call in self.calls)]


_THREADS = ("intra_op_parallelism_threads", "inter_op_parallelism_threads")


def _may_be_moved(number: cst.BaseExpression, *, stays: bool) -> bool:
    return isinstance(number, cst.Integer) or (stays and is_pure(number))


def _joined_numbers(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The iterable of numbers in `",".join(map(str, numbers))` and `",".join(str(n) for n in numbers)`."""
    if not isinstance(node, cst.Call) or len(node.args) != 1 or not isinstance(node.func, cst.Attribute):
        return None
    if text_of(node.func.value) != "," or node.func.attr.value != "join":
        return None
    numbers = node.args[0].value
    if isinstance(numbers, cst.Call) and dotted(numbers.func) == "map" and len(numbers.args) == 2:
        return numbers.args[1].value if dotted(numbers.args[0].value) == "str" else None
    if (
        isinstance(numbers, cst.ListComp | cst.GeneratorExp)
        and not numbers.for_in.ifs
        and numbers.for_in.inner_for_in is None
    ):
        element, target = numbers.elt, numbers.for_in.target
        if isinstance(element, cst.Call) and dotted(element.func) == "str" and len(element.args) == 1:
            return numbers.for_in.iter if element.args[0].value.deep_equals(target) else None
    return None


def _is_ids(text: str | None) -> bool:
    return text is not None and all(part.strip().isdigit() for part in text.split(","))
