"""The outside world: the only room that touches the user's disk."""
