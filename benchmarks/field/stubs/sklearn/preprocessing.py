import numpy as np


class LabelBinarizer:
    def fit(self, labels):
        self.classes_ = np.unique(labels)
        return self

    def transform(self, labels):
        return (np.ravel(labels)[:, None] == self.classes_[None]).astype(int)

    def fit_transform(self, labels):
        return self.fit(labels).transform(labels)
