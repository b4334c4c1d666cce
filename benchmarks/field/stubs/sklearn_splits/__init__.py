"""As much of scikit-learn as training scripts call, on NumPy."""
