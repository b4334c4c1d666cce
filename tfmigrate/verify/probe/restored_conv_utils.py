"""`keras.utils.conv_utils`, whose functions layers of one's own call."""

import sys
import types

from . import flavours
from .restored_names import HOMES


def restore_conv_utils(flavour):
    """The functions that layers call; the others worked out sizes for Keras itself."""
    backend = flavour.root.backend

    def normalize_tuple(value, n, name):
        values = (value,) * n if isinstance(value, int) else tuple(value)
        if len(values) != n:
            raise ValueError("The `%s` argument must be a tuple of %d integers. Received: %s" % (name, n, value))
        return values

    def normalize_padding(value):
        return value.lower()

    def normalize_data_format(value):
        return (value or backend.image_data_format()).lower()

    def conv_output_length(input_length, filter_size, padding, stride, dilation=1):
        if input_length is None:
            return None
        reach = (filter_size - 1) * dilation
        length = input_length + {"valid": -reach, "full": reach}.get(padding, 0)
        return (length + stride - 1) // stride

    for home in HOMES:
        package = flavours.optional(home)
        if package is not None and not hasattr(package, "conv_utils"):
            module = types.ModuleType(home + ".conv_utils")
            for function in (normalize_tuple, normalize_padding, normalize_data_format, conv_output_length):
                setattr(module, function.__name__, function)
            sys.modules[module.__name__] = package.conv_utils = module
