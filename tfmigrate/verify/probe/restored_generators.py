"""Training, evaluation and prediction from generators, and methods of models that went with them."""

import functools
import inspect
import itertools

import numpy as np

from . import calls


def restore_generators(tf, flavour):
    model_class = flavour.trainers[0][0]
    original_fit = model_class.fit
    signature = inspect.signature(original_fit)
    parameters = signature.parameters
    gone = [name for name in ("workers", "use_multiprocessing", "max_queue_size") if name not in parameters]

    @functools.wraps(original_fit)
    def fit(self, x=None, *args, **kwargs):
        for name in gone:
            kwargs.pop(name, None)
        if "validation_data" in kwargs:
            kwargs["validation_data"] = without_loss(tf, kwargs["validation_data"])
        if not calls.weighs_classes(kwargs.get("class_weight")):
            kwargs.pop("class_weight", None)  # "auto", an array: an error today
        return original_fit(self, without_loss(tf, x), *args, **kwargs)

    def fit_generator(
        self,
        generator,
        steps_per_epoch=None,
        epochs=1,
        verbose=1,
        callbacks=None,
        validation_data=None,
        validation_steps=None,
        validation_freq=1,
        class_weight=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
        shuffle=True,
        initial_epoch=0,
    ):
        return self.fit(
            generator,
            steps_per_epoch=steps_per_epoch,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
            class_weight=class_weight,
            shuffle=shuffle,
            initial_epoch=initial_epoch,
        )

    def evaluate_generator(
        self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0
    ):
        return self.evaluate(without_loss(tf, generator), steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_generator(
        self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0
    ):
        return self.predict(without_loss(tf, generator), steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_classes(self, x, batch_size=32, verbose=0):
        probabilities = self.predict(x, batch_size=batch_size, verbose=verbose)
        if probabilities.shape[-1] > 1:
            return probabilities.argmax(axis=-1)
        return (probabilities > 0.5).astype("int32")

    # The recorder reads from the signature what a call asks for.
    fit.__signature__ = signature.replace(
        parameters=list(parameters.values())
        + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in gone]
    )
    model_class.fit = fit
    for function in (fit_generator, evaluate_generator, predict_generator, predict_classes):
        setattr(model_class, function.__name__, function)
    model_class.predict_proba = lambda self, x, batch_size=32, verbose=0: self.predict(
        x, batch_size=batch_size, verbose=verbose
    )


def without_loss(tf, data):
    """A plain generator as a dataset: Keras 3 looks at a generator's first batches and drops them."""
    if calls.source_of(data) != "generator" or isinstance(data, (tuple, list)):
        return data
    first = as_tuples(next(data))
    kinds = tf.nest.map_structure(
        lambda part: tf.TensorSpec((None,) + np.shape(part)[1:], np.asarray(part).dtype), first
    )
    return tf.data.Dataset.from_generator(
        lambda: (as_tuples(batch) for batch in itertools.chain([first], data)), output_signature=kinds
    )


def as_tuples(batch):
    """A batch with its lists as tuples and its arrays as copies: what comes of a dataset may be written over."""
    if isinstance(batch, (list, tuple)):
        return tuple(as_tuples(part) for part in batch)
    if isinstance(batch, dict):
        return {name: as_tuples(part) for name, part in batch.items()}
    return np.array(batch)
