"""Small made-up pictures and depths, in the place of an archive of large ones."""

import numpy as np
from keras.utils import Sequence


class Pictures(Sequence):
    def __init__(self, batches, batch_size):
        self.batches, self.batch_size = batches, batch_size

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        draw = np.random.RandomState(index)
        return draw.rand(self.batch_size, 64, 64, 3), 10 + 90 * draw.rand(self.batch_size, 32, 32, 1)


def get_nyu_train_test_data(batch_size):
    return Pictures(4, batch_size), Pictures(2, batch_size)


get_unreal_train_test_data = get_nyu_train_test_data
