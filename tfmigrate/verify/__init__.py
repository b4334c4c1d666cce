"""Runs the old and the new script and compares what they did."""
