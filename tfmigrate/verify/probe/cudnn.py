"""cuDNN's recurrent layers of old Keras, for which processors have no kernels: the layers that compute the same take
their places there."""

import inspect

from . import flavours

LAYERS = {
    "CuDNNLSTM": ("LSTM", {"recurrent_activation": "sigmoid"}),
    "CuDNNGRU": ("GRU", {"recurrent_activation": "sigmoid", "reset_after": True}),
}
ONE_BIAS = ", whose single bias takes one step, while the two biases that CuDNNLSTM adds took one each"


def install(found, machine, recorder):
    """Puts them where an old script finds cuDNN's, and where today's Keras has none."""
    if machine.kind == "physical GPU":
        return
    for flavour in found:
        for namespace in flavour.namespaces:
            for name, (plain, settings) in sorted(LAYERS.items()):
                base = flavours.at_path(namespace, "layers." + plain)
                if base is None or not set(settings) <= set(inspect.signature(base.__init__).parameters):
                    continue
                layer = standing_in(name, base, settings, recorder)
                original = flavours.at_path(namespace, "layers." + name)
                if original is not None:
                    flavours.everywhere(original, layer)
                setattr(namespace.layers, name, layer)
                namespace.utils.get_custom_objects()[name] = layer  # for models that are cloned or loaded


def standing_in(name, base, settings, recorder):
    title = base.__name__

    def __init__(self, *args, **kwargs):
        recorder.note(
            "without a GPU %s ran as %s%s" % (name, title, ONE_BIAS if name == "CuDNNLSTM" else "")
        )
        base.__init__(self, *args, **dict(settings, **kwargs))

    def get_config(self):
        config = base.get_config(self)
        return {key: value for key, value in config.items() if key not in settings}

    return type(name, (base,), {"__init__": __init__, "get_config": get_config})
