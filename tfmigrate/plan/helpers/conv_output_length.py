"""How layers of one's own work out the size of what they give."""


def conv_output_length(input_length, filter_size, padding, stride, dilation=1):
    """The output length of a convolution along one axis, as Keras 2 computed it."""
    if input_length is None:
        return None
    reach = (filter_size - 1) * dilation
    length = input_length + {"valid": -reach, "full": reach}.get(padding, 0)
    return -(-length // stride)  # rounded up
