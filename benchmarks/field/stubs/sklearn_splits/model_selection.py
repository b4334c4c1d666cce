import numpy as np


def train_test_split(*arrays, test_size=0.25, random_state=None, **settings):
    count = len(arrays[0])
    order = np.random.RandomState(random_state).permutation(count)
    held = int(np.ceil(count * test_size)) if test_size < 1 else test_size
    parts = []
    for array in arrays:
        parts += [array[order[held:]], array[order[:held]]]
    return parts
