"""As much of pandas as training scripts do with a table: read one, choose columns of it, fill one in and write it."""

import csv

import numpy as np


class Series(np.ndarray):
    """A column; its values are itself."""

    @property
    def values(self):
        return np.asarray(self)


class Rows:
    def __init__(self, table):
        self.table = table

    def __getitem__(self, row):
        return {name: column[row] for name, column in self.table.columns.items()}


class DataFrame:
    def __init__(self, data, columns=None):
        self.columns = dict(zip(columns, np.array(data).T)) if columns is not None else dict(data)

    def __getitem__(self, chosen):
        if isinstance(chosen, str):
            return self.columns[chosen].view(Series)
        return DataFrame({name: self.columns[name] for name in chosen})

    def __len__(self):
        return len(next(iter(self.columns.values())))

    @property
    def values(self):
        return np.stack(list(self.columns.values()), 1)

    @property
    def iloc(self):
        return Rows(self)

    def to_csv(self, path, **options):
        with open(path, "w") as file:
            rows = csv.writer(file)
            rows.writerow(self.columns)
            rows.writerows(zip(*self.columns.values()))


def read_csv(path, **options):
    with open(path) as file:
        rows = list(csv.reader(file))
    columns = {}
    for name, column in zip(rows[0], zip(*rows[1:])):
        try:
            columns[name] = np.array([float(value) for value in column])
        except ValueError:
            columns[name] = np.array(column)
    return DataFrame(columns)


def set_option(*arguments):
    pass
