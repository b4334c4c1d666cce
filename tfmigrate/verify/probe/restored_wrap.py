"""multi_gpu_model, as keras/utils/multi_gpu_utils.py of Keras 2.3.1 had it: slices, one tower per replica under its
device, concatenation; the last replica takes the remainder."""

import functools
import sys
import types

from . import flavours, remainder
from .genuine import REPLICAS
from .restored_names import HOMES
from .restored_penalties import mark_wrapped

EXTRA_MODULES = ("multi_gpu_utils", "training_utils")
PARALLEL = "_tfmigrate_parallel"
"""On what multi_gpu_model answers, and on what takes over its attributes: that answer."""


def restore_multi_gpu_model(tf, flavour, machine, evenly, whole=False):
    parallel_layer = replicas_layer(tf, flavour.root, evenly, whole)

    def multi_gpu_model(model, gpus=None, cpu_merge=True, cpu_relocation=False):
        ids = list(gpus) if isinstance(gpus, (list, tuple)) else list(range(machine.replicas if gpus is None else gpus))
        if len(ids) <= 1:
            raise ValueError(
                "For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. "
                "Received: `gpus=%s`" % (gpus,)
            )
        if max(ids) >= machine.replicas:
            raise ValueError(
                "To call `multi_gpu_model` with `gpus=%s`, we expect the following devices to be "
                "available: %s. However this machine only has: %s."
                % (gpus, ["/gpu:%d" % i for i in ids], ["/gpu:%d" % i for i in range(machine.replicas)])
            )
        keras = flavour.root
        if cpu_relocation:
            model = keras.models.clone_model(model)
        mark_wrapped(model)
        inputs = list(model.inputs)
        replicas = parallel_layer(model, [machine.devices[i] for i in ids])
        outputs = as_list(replicas(inputs if len(inputs) > 1 else inputs[0]))
        # Layers that carry the template's output names, on which losses and metrics are keyed.
        merged = [
            keras.layers.Activation("linear", name=name)(output)
            for name, output in zip(distinct(output_names(model)), outputs)
        ]
        parallel = keras.models.Model(inputs, merged if len(merged) > 1 else merged[0])
        object.__setattr__(parallel, REPLICAS, len(ids))
        object.__setattr__(parallel, PARALLEL, parallel)
        return parallel

    for home in HOMES:
        module = flavours.optional(home)
        if module is None:
            continue
        module.multi_gpu_model = multi_gpu_model
        for name in EXTRA_MODULES:
            extra = sys.modules.get(home + "." + name) or types.ModuleType(home + "." + name)
            extra.multi_gpu_model = multi_gpu_model
            sys.modules[extra.__name__] = extra
            setattr(module, name, extra)
    for namespace in flavour.namespaces:
        namespace.utils.multi_gpu_model = multi_gpu_model


def restore_taken_over_models(flavour):
    """A class of the script's own that takes over all that a parallel model has (`self.__dict__.update`) is called as
    that one was: in Keras 2.3 every Model could be, today only those that Keras itself makes of layers."""
    model_class = flavour.root.models.Model
    original = model_class.call

    @functools.wraps(original)
    def call(self, *args, **kwargs):
        parallel = vars(self).get(PARALLEL, self)
        return original(self, *args, **kwargs) if parallel is self else parallel(*args, **kwargs)

    model_class.call = call


def output_names(model):
    """Keras 3's Sequential does not name its outputs; the layer that makes one does."""
    return getattr(model, "output_names", None) or [output._keras_history.operation.name for output in model.outputs]


def distinct(names):
    """Output names, numbered where a Siamese network repeats one."""
    counts, result = {}, []
    for name in names:
        if list(names).count(name) > 1:
            counts[name] = counts.get(name, 0) + 1
            name = "%s_%d" % (name, counts[name])
        result.append(name)
    return result


def replicas_layer(tf, keras, evenly, whole):
    class Replicas(keras.layers.Layer):
        """Runs the template on one slice of the batch per device and joins what comes out."""

        def __init__(self, template, devices, **kwargs):
            super(Replicas, self).__init__(**kwargs)
            self.template = template
            self.replica_devices = list(devices)

        @property
        def metrics(self):
            """None: those of a template that is compiled too are its own; Keras 3 fails on them, not yet built."""
            return []

        @property
        def layers(self):
            return [self.template]

        __getattr__ = of_template

        def call(self, inputs, training=None):
            if whole:
                return self.template(inputs, training=training)
            towers = []
            for i, device in enumerate(self.replica_devices):
                with tf.device(device):
                    part = tf.nest.map_structure(functools.partial(self.slice, index=i), inputs)
                    towers.append(as_list(self.template(part, training=training)))
            merged = [self.joined(outputs) for outputs in zip(*towers)]
            return merged if len(merged) > 1 else merged[0]

        def joined(self, outputs):
            """As Keras's concatenate() joined them, their masks with them, which the loss reads."""
            whole = tf.concat(outputs, axis=0)
            masks = [getattr(output, "_keras_mask", None) for output in outputs]
            if all(mask is not None for mask in masks):
                whole._keras_mask = tf.concat(masks, axis=0)
            return whole

        def slice(self, values, index):
            if evenly:
                return remainder.even_slice(tf, values, index, len(self.replica_devices))
            step = tf.shape(values)[0] // len(self.replica_devices)
            last = index == len(self.replica_devices) - 1
            return values[index * step :] if last else values[index * step : (index + 1) * step]

        def compute_output_shape(self, input_shape):
            shapes = [tuple(output.shape) for output in self.template.outputs]
            return shapes if len(shapes) > 1 else shapes[0]

        def get_config(self):
            config = super(Replicas, self).get_config()
            config["template"] = keras.saving.serialize_keras_object(self.template)
            config["devices"] = self.replica_devices
            return config

        @classmethod
        def from_config(cls, config):
            template = keras.saving.deserialize_keras_object(config.pop("template"))
            return cls(template, **config)

    return Replicas


def of_template(replicas, name):
    """`parallel.layers[-2].save(...)`: the template stands there among the layers of a real parallel model."""
    template = vars(replicas).get("template")
    if template is None or name.startswith("_"):
        raise AttributeError("'Replicas' object has no attribute '%s'" % name)
    return getattr(template, name)


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]
