from __future__ import annotations

from textwrap import dedent

import libcst as cst

from tfmigrate.understand.program import Module
from tfmigrate.understand.scopes import Scopes


def scopes(code: str) -> tuple[Module, Scopes]:
    module = Module("x.py", dedent(code))
    return module, Scopes(module)


def function(module: Module, name: str) -> cst.FunctionDef:
    return next(u for u in module.places if isinstance(u, cst.FunctionDef) and u.name.value == name)


def test_a_closure_reads_the_variable_round_it() -> None:
    module, found = scopes("""
        x = 1
        def f():
            return x
        def g():
            x = 2
            return x
    """)
    inner = found.by_node[function(module, "f")]
    assert found.owner("x", inner) is found.module
    assert len(found.of_variable("x", found.module)) == 2
    assert len(found.of_variable("x", found.by_node[function(module, "g")])) == 2


def test_a_method_does_not_see_the_variables_of_its_class() -> None:
    module, found = scopes("""
        x = 1
        class A:
            x = 2
            def f(self):
                return x
    """)
    assert found.owner("x", found.by_node[function(module, "f")]) is found.module


def test_a_comprehension_has_variables_of_its_own() -> None:
    _, found = scopes("x = 1\ny = [x for x in range(3)]\n")
    assert len(found.of_variable("x", found.module)) == 1


def test_parameters_defaults_keywords_and_attributes() -> None:
    module, found = scopes("""
        n = 1
        def f(n=n, *rest, **named):
            g(n=2).n
    """)
    inner = found.by_node[function(module, "f")]
    assert found.owner("n", inner) is inner
    assert [mention.binds for mention in found.of_variable("n", inner)] == [True]
    assert [mention.binds for mention in found.of_variable("n", found.module)] == [True, False]
    assert {"rest", "named"} <= inner.bound


def test_a_fresh_name_is_taken_by_nobody_inside_either() -> None:
    _, found = scopes("def f():\n    strategy = 1\n")
    assert found.fresh("strategy", found.module) == "strategy_2"
    assert found.fresh("tactics", found.module) == "tactics"


def test_global_means_the_module() -> None:
    module, found = scopes("def f():\n    global model\n    model = 1\nmodel = 0\n")
    inner = found.by_node[function(module, "f")]
    assert found.owner("model", inner) is found.module
