"""What compile() decides in old Keras, and the first training call in Keras 3: which layers are trained."""

COMPILED = "_tfmigrate_compiled"


def restore_toggles(flavour):
    """A model trains what was trainable when it was compiled, whatever the script has set since: how a GAN trains its
    discriminator by itself and keeps it still in the combined model."""
    model_class = flavour.root.models.Model

    def compile(self, *args, **kwargs):
        super(model_class, self).compile(*args, **kwargs)
        object.__setattr__(self, COMPILED, flags_of(self))

    model_class.compile = compile
    for name in ("fit", "train_on_batch"):
        setattr(model_class, name, as_compiled(model_class, name))


def as_compiled(model_class, name):
    def train(self, *args, **kwargs):
        set_since = flags_of(self)
        put(vars(self).get(COMPILED, []))
        try:
            return getattr(super(model_class, self), name)(*args, **kwargs)
        finally:
            put(set_since)

    train.__name__ = name
    return train


def flags_of(model):
    """[(layer, whether it is trainable)], each before the layers in it."""
    return [(layer, layer.trainable) for layer in model._flatten_layers()]


def put(flags):
    for layer, trainable in flags:  # A layer sets those in it too, which come later with flags of their own.
        if layer.trainable != trainable:
            layer.trainable = trainable
