"""Programs with few names in scopes of every kind, drawn by hypothesis; every one compiles."""

from __future__ import annotations

import textwrap
import warnings

from hypothesis import assume
from hypothesis import strategies as st

NAMES = ("a", "b", "c", "d")
names = st.sampled_from(NAMES)


def _comprehensions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Each begins on a line of its own, so that its line says which it is."""
    loop = st.builds("for {} in {}".format, names, inner)
    loops = st.one_of(loop, st.builds("{} {} if {}".format, loop, loop, inner))
    plain = st.builds("{}{} {}{}".format, st.just("(\n"), inner, loops, st.just(")"))
    return st.builds(
        lambda kind, text: f"(\n{kind[0]}{text[2:-1]}{kind[1]})", st.sampled_from(["[]", "{}", "()"]), plain
    )


def _expressions() -> st.SearchStrategy[str]:
    return st.recursive(
        st.one_of(names, names, st.just("1"), st.builds("{}.{}".format, names, names)),
        lambda inner: st.one_of(
            st.builds("({} + {})".format, inner, inner),
            st.builds("({} := {})".format, names, inner),
            st.builds("f({}, {}={})".format, inner, names, inner),
            st.builds("(\nlambda {}={}, *{}_: {})".format, names, inner, names, inner),
            _comprehensions(inner),
        ),
        max_leaves=5,
    )


_TARGETS = st.one_of(
    names,
    names,
    st.builds("({}, *{})".format, names, names),
    st.builds("{}.{}".format, names, names),
    st.builds("{}[{}]".format, names, names),
)
_PATTERNS = st.one_of(
    names,
    st.builds("[{}, *{}_]".format, names, names),
    st.builds("{{'k': {}, **{}_}}".format, names, names),
    st.builds("P({}={}) as {}_".format, names, names, names),
)


def _lines(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} = {}".format, _TARGETS, value),
        value,
        st.builds("{}: {}".format, names, names),
        st.builds("{}: {} = {}".format, names, names, value),
        st.builds("{} += {}".format, names, value),
        st.builds("del {}".format, names),
        st.builds("import {}.{}".format, names, names),
        st.builds("import {}.{} as {}".format, names, names, names),
        st.builds("from {} import {} as {}, {}".format, names, names, names, names),
        st.builds("global {}".format, names),
        st.builds("nonlocal {}".format, names),
        st.just("from m import *"),
        st.just("pass"),
    )


def _block(statements: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(statements, min_size=1, max_size=4).map("\n".join)


def _statements() -> st.SearchStrategy[str]:
    value = _expressions()

    def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        def of(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
            def build(drawn: tuple[str, ...]) -> str:
                return form.format(*drawn[:-1]) + "\n" + textwrap.indent(drawn[-1], "    ")

            return st.tuples(*parts, _block(inner)).map(build)

        return st.one_of(
            of("def {}({}, *, {}_: {} = {}) -> {}:", names, names, names, value, value, value),
            of("def {}({}_):", names, names),
            of("def {}():", names),
            of("async def {}({}={}):", names, names, value),
            of("class {}({}, metaclass={}):", names, value, names),
            of("class {}:", names),
            of("for {} in {}:", _TARGETS, value),
            of("if __name__ == '__main__' or {}:", value),
            of("with {} as {}:", value, _TARGETS),
            of("match {}:\n  case {}:", value, _PATTERNS),
            of("try:\n    pass\nexcept {} as {}:", value, names),
        )

    return st.recursive(_lines(value), compound, max_leaves=12)


def _compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<drawn>", "exec", dont_inherit=True)
        except SyntaxError:
            return False
    return True


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A module of a few statements; one that does not compile (a `nonlocal` too many, say) is left out."""
    kept = ""
    for statement in draw(st.lists(_statements(), min_size=1, max_size=6)):
        if _compiles(f"{kept}{statement}\n"):
            kept += f"{statement}\n"
    assume(kept)
    return kept
