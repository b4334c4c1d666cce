import tensorflow as tf


def as_dataset(generator, *args, **kwargs):
    """The batches of a generator function as a dataset, which Keras may start more than once."""

    def batches():
        for batch in generator(*args, **kwargs):
            parts = (tuple(part) if isinstance(part, list) else part for part in batch)
            # TensorFlow may reuse the memory of an array that it is given.
            yield tf.nest.map_structure(lambda array: array.copy(), tuple(parts))

    def spec(array, later):
        sizes = [size if size == other else None for size, other in zip(array.shape[1:], later.shape[1:])]
        return tf.TensorSpec([None, *sizes], array.dtype)

    started = batches()
    first = next(started)
    signature = tf.nest.map_structure(spec, first, next(started, first))
    return tf.data.Dataset.from_generator(batches, output_signature=signature)
