import numpy as np


class StandardScaler:
    def fit(self, values):
        self.mean_, self.scale_ = np.mean(values, 0), np.std(values, 0)
        return self

    def transform(self, values):
        return (np.asarray(values, float) - self.mean_) / self.scale_

    def fit_transform(self, values):
        return self.fit(values).transform(values)
