def array_of(parts):
    """One array of the parts, of objects where their shapes differ, as NumPy 1.23 made it."""
    import numpy as np

    alike = len({np.shape(part) for part in parts}) == 1
    return np.array(parts, dtype=None if alike else object)
