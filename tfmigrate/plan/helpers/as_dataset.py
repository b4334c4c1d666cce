import tensorflow as tf


def as_dataset(generator, *args, **kwargs):
    """The batches of a generator function as a dataset, which Keras may start more than once."""

    def batches():
        for batch in generator(*args, **kwargs):
            parts = (tuple(part) if isinstance(part, list) else part for part in batch)
            # TensorFlow may reuse the memory of an array that it is given.
            yield tf.nest.map_structure(lambda array: array.copy(), tuple(parts))

    def spec(one, other):
        sizes = [size if size == again else None for size, again in zip(one.shape[1:], other.shape[1:])]
        return tf.TensorSpec([None, *sizes], one.dtype)

    found = batches()
    first = next(found)
    signature = tf.nest.map_structure(spec, first, next(found, first))
    return tf.data.Dataset.from_generator(batches, output_signature=signature)
