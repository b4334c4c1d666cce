"""The code of each rule, under the name of its page: `codes.NOT_FOLLOWED` is that of rules/TFM101-not-followed.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tfmigrate.needles import rule_files


def __getattr__(name: str) -> str:
    if name not in _by_name():
        raise AttributeError(f"no page in rules/ is named {name.lower().replace('_', '-')!r}")
    globals()[name] = code = _by_name()[name]  # Each is asked for thousands of times.
    return code


@cache
def _by_name() -> Mapping[str, str]:
    """Read off the names of the pages: to open them takes longer."""
    named = (path.stem.partition("-") for path in rule_files())
    return {name.upper().replace("-", "_"): code for code, _, name in named}
