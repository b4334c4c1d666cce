"""As much of scikit-image as training scripts call, on NumPy and Pillow."""

__version__ = "0"
