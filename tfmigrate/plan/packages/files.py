"""The files of a project that say which packages it needs, by their names."""

from __future__ import annotations

import re

REQUIREMENTS = re.compile(r"(requirements|constraints).*\.(txt|in)|.*requirements\.(txt|in)", re.I)
CONDA = re.compile(r"(environment|conda).*\.ya?ml", re.I)
DOCKER = re.compile(r"(.*\.)?Dockerfile.*", re.I)


def names_packages(name: str) -> bool:
    """Whether a file of this name says which packages its project needs."""
    fixed = name in ("setup.py", "setup.cfg", "pyproject.toml", "Pipfile")
    return fixed or any(form.fullmatch(name) for form in (REQUIREMENTS, CONDA, DOCKER))
