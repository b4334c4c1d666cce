import tensorflow as tf


def as_dataset_of(iterator):
    """The batches of an iterator as a dataset, which keeps the first ones: Keras may start it again."""
    from threading import Lock

    kept, lock = [], Lock()
    if iterator is None:
        return None

    def copied(batch):  # TensorFlow may reuse the memory of an array that it is given
        return tf.nest.map_structure(lambda array: array.copy(), batch)

    def batches():
        place = 0
        while True:
            with lock:
                if place < len(kept):
                    batch = kept[place]
                else:
                    batch = next(iterator, None)
                    if batch is None:
                        return
                    parts = (tuple(part) if isinstance(part, list) else part for part in batch)
                    batch = copied(tuple(parts))
                    if len(kept) < 16:
                        kept.append(batch)
            place += 1
            yield copied(batch)

    def spec(*arrays):
        sizes = [set(sizes) for sizes in zip(*(array.shape[1:] for array in arrays))]
        known = [one.pop() if len(one) == 1 else None for one in sizes]
        return tf.TensorSpec([None, *known], arrays[0].dtype)

    first = [batch for _, batch in zip(range(8), batches())]
    signature = tf.nest.map_structure(spec, *first)
    return tf.data.Dataset.from_generator(batches, output_signature=signature)
