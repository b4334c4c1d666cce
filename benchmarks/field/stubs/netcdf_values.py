"""The values that stand for nothing in a netCDF file."""

default_fillvals = {"f4": 9.97e36, "f8": 9.97e36}


class Dataset:
    pass
