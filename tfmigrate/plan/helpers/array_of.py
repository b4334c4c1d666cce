def array_of(parts):
    """One array of the parts, of objects where their shapes differ, which NumPy made by itself before 1.24."""
    import numpy as np

    alike = len({np.shape(part) for part in parts}) == 1
    return np.array(parts, dtype=None if alike else object)
