"""How a program lists its GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names


def check(context: Context) -> Iterator[CallChange]:
    """`K.tensorflow_backend._get_available_gpus()`: names such as /device:GPU:0; most scripts want the number.

    Only logical devices have those names; to list them starts the GPUs, so where the number is asked for the physical
    ones are counted.
    """
    facts, tf, quote = context.facts, context.tf, context.quote
    counted = {call.args[0].value for call in facts.module.calls if _is_len(call)}
    for call in facts.module.calls:
        if names.lists_devices(facts.symbols.get(call.func, "")) != "gpus" or call.args:
            continue
        if call in counted:
            code = f"{tf}.config.list_physical_devices({quote}GPU{quote})"
        else:
            code = f"[device.name for device in {tf}.config.list_logical_devices({quote}GPU{quote})]"
        message = "keras.backend._get_available_gpus() was removed: tf.config lists the devices"
        yield CallChange(codes.MOVED_MODULES, call, message, Replace(call, code))


def _is_len(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value == "len" and len(call.args) == 1
