"""Values of options that are amounts."""

from __future__ import annotations

import re

import click

UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def size(value: str) -> int:
    """Bytes, of "500M" or "1.5 GiB"; units are powers of 1024. Raises click.BadParameter."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE)
    amount = int(float(match[1]) * (1 << UNITS[match[2].upper()])) if match else 0
    if amount <= 0:
        raise click.BadParameter(f"{value!r} is not a size; write it as 500M or 12G")
    return amount
