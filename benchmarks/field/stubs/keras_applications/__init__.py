"""As much of keras-applications as copies of its networks import."""
