"""Reads settings that are written as JSON, which is YAML too."""

import json

FullLoader = None


def load(stream, Loader=None):
    return json.load(stream)
