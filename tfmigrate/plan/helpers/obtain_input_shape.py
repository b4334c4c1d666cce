def obtain_input_shape(input_shape, default_size, min_size, data_format, require_flatten, weights=None):
    """The input shape of a network for images, as keras.applications chose it."""
    first = data_format == "channels_first"
    known = weights != "imagenet" and input_shape and len(input_shape) == 3
    channels = input_shape[0 if first else -1] if known else 3
    default, free = ((channels, n, n) if first else (n, n, channels) for n in (default_size, None))
    if weights == "imagenet" and require_flatten:
        if input_shape is not None and tuple(input_shape) != default:
            raise ValueError(f"input_shape {input_shape}: the ImageNet weights with the top need {default}")
        return default
    if not input_shape:
        return default if require_flatten else free
    sides = input_shape[1:] if first else input_shape[:-1]
    if len(input_shape) != 3 or (weights == "imagenet" and input_shape[0 if first else -1] != 3):
        raise ValueError(
            f"input_shape {input_shape}: three numbers are needed, with 3 channels for the ImageNet weights"
        )
    if any(side is not None and side < min_size for side in sides) or (require_flatten and None in input_shape):
        raise ValueError(f"input_shape {input_shape}: its sides must be {min_size} or more, and known with the top")
    return input_shape
