import tensorflow as tf


def as_dataset_of(iterator):
    """An iterator as a dataset. Keras 3 starts it twice, so its last 16 batches are repeated."""
    from threading import Lock

    import numpy as np

    taken, lock = [], Lock()
    if iterator is None:
        return None

    def copied(batch):  # TensorFlow may reuse the memory of an array that it is given
        return tf.nest.map_structure(np.array, batch)

    def batches():
        place = max(0, len(taken) - 16)
        while True:
            with lock:
                if place == len(taken):
                    batch = next(iterator, None)
                    if batch is None:
                        return
                    parts = (tuple(part) if isinstance(part, list) else part for part in batch)
                    taken.append(copied(tuple(part for part in parts if part is not None)))
                    if place >= 16:
                        taken[place - 16] = None
                batch = taken[place]
            place += 1
            yield copied(batch)

    def spec(*arrays):
        sizes = [set(axis) for axis in zip(*(array.shape[1:] for array in arrays))]
        known = [size.pop() if len(size) == 1 else None for size in sizes]
        return tf.TensorSpec([None, *known], arrays[0].dtype)

    first = [batch for _, batch in zip(range(8), batches())]
    signature = tf.nest.map_structure(spec, *first)
    return tf.data.Dataset.from_generator(batches, output_signature=signature)
