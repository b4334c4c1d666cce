"""What a model's weights are to begin with, under one set of names for every Keras."""

SCALED = {
    "GlorotUniform": (1.0, "fan_avg", "uniform"),
    "GlorotNormal": (1.0, "fan_avg", "normal"),
    "HeUniform": (2.0, "fan_in", "uniform"),
    "HeNormal": (2.0, "fan_in", "normal"),
    "LecunUniform": (1.0, "fan_in", "uniform"),
    "LecunNormal": (1.0, "fan_in", "normal"),
}
"""Current classes; a VarianceScaling in older versions. "normal" is cut off at two standard deviations."""
NUMBERS = {
    "Zeros": (),
    "Ones": (),
    "Constant": ("value",),
    "RandomNormal": ("mean", "stddev"),
    "TruncatedNormal": ("mean", "stddev"),
    "RandomUniform": ("minval", "maxval"),
    "Orthogonal": ("gain",),
    "Identity": ("gain",),
}
PARTS = ("kernel", "bias", "embeddings", "recurrent", "depthwise", "pointwise", "gamma", "beta", "alpha")


def of_layers(layers):
    """ "dense kernel: GlorotUniform" for each part of each layer that has one and weights; what the script's own code
    gives has no words."""
    lines = []
    for number, layer in enumerate(each for each in layers if each.weights):
        for part in parts_of(layer, PARTS):
            words = in_words(getattr(layer, part + "_initializer", None))
            if words:
                lines.append("%d %s %s: %s" % (number, getattr(layer, "name", ""), part, words))
    return lines


def parts_of(layer, parts):
    """Those of these parts that a layer may have: a separable or depthwise one took arguments for a kernel that it did
    not have (Keras 2)."""
    return [part for part in parts if part != "kernel" or not hasattr(layer, "depthwise_initializer")]


def in_words(value):
    """`HeNormal`, `RandomNormal(mean=0, stddev=0.05)`; empty for what is none of Keras's."""
    kind = type(value).__name__
    if kind in SCALED:
        return kind
    try:
        config = value.get_config()
        if kind == "VarianceScaling":
            spread = config["distribution"].replace("truncated_normal", "normal")
            how = float(config["scale"]), config["mode"], spread
            names = [name for name in sorted(SCALED) if SCALED[name] == how]
            return names[0] if names else "VarianceScaling(%s, %s, scale=%.6g)" % (how[1], how[2], how[0])
        if kind not in NUMBERS:
            return ""
        given = [(name, config[name] if name in config else getattr(value, name)) for name in NUMBERS[kind]]
        numbers = ", ".join("%s=%.6g" % (name, float(number)) for name, number in given)
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):
        return ""
    return "%s(%s)" % (kind, numbers) if numbers else kind
