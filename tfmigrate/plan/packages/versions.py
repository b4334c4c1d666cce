"""Which versions the specifier of a requirement admits."""

from __future__ import annotations

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import InvalidVersion, Version


def versions_from(specifier: SpecifierSet, needed: Version) -> str | None:
    """The specifier without the versions older than `needed`, None where it admits none or names no version."""
    clauses = sorted(specifier, key=str)
    if not clauses or any(_begins_at(clause, needed) for clause in clauses):
        return None
    if any(stays_below(clause, needed) for clause in clauses):
        return f">={needed}"
    ends = [f"{c.operator}{c.version}" for c in clauses if c.operator in ("<", "<=", "!=") and _release(c) > needed]
    ends += [f"<{end}" for end in map(_end, clauses) if end is not None]
    return ",".join([f">={needed}", *ends])


def _begins_at(clause: Specifier, needed: Version) -> bool:
    """Whether a clause leaves out every version before `needed`."""
    return clause.operator in (">=", ">", "==", "===", "~=") and _release(clause) >= needed


def stays_below(clause: Specifier, version: Version) -> bool:
    """Whether a clause leaves out `version` and every one after it."""
    end = _end(clause)
    if end is not None:
        return end <= version
    if clause.operator == "<":
        return _release(clause) <= version
    return clause.operator in ("==", "===", "<=") and _release(clause) < version


def _end(clause: Specifier) -> Version | None:
    """The first version after those that `~=1.2` and `==1.2.*` admit; None for other clauses."""
    release = _release(clause).release
    if clause.operator == "~=" and len(release) > 1:
        release = release[:-1]
    elif not (clause.operator == "==" and clause.version.endswith(".*")):
        return None
    return Version(".".join(map(str, (*release[:-1], release[-1] + 1))))


def _release(clause: Specifier) -> Version:
    try:
        return Version(clause.version.removesuffix(".*"))
    except InvalidVersion:  # Of `===`, which takes any text.
        return Version("0")
