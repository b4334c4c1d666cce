from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest

from tests.kit import counted
from tfmigrate.understand.module import Module
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


def test_global_at_module_level_ends_and_means_the_module() -> None:
    module, found = scopes("""
        def f(args):
            return args
        if __name__ == "__main__":
            global args
            args = 1
        def g():
            return args
    """)
    own = found.by_node[function(module, "f")]
    assert found.owner("args", own) is own
    assert found.owner("args", found.by_node[function(module, "g")]) is found.module
    assert found.owner("args", found.module) is found.module
    assert len(found.of_variable("args", found.module)) == 2


def test_a_variable_that_only_functions_bind_by_global_is_one_variable_of_the_module() -> None:
    module, found = scopes("""
        def f():
            global size
            size = 1
        def g():
            return size
    """)
    assert found.owner("size", found.by_node[function(module, "g")]) is found.module
    assert len(found.of_variable("size", found.module)) == 2


def test_what_is_declared_global_round_a_function_is_global_in_it() -> None:
    module, found = scopes("""
        x = 0
        def f():
            x = 1
            def g():
                global x
                def h():
                    return x
    """)
    assert found.owner("x", found.by_node[function(module, "h")]) is found.module


def test_what_a_comprehension_runs_over_is_read_round_it() -> None:
    _, found = scopes("""
        class A:
            n = 1
            m = [n for n in n]
    """)
    cls = next(scope for node, scope in found.by_node.items() if isinstance(node, cst.ClassDef))
    assert [mention.binds for mention in found.of_variable("n", cls)] == [True, False]


def test_a_name_that_a_comprehension_binds_by_walrus_is_the_functions() -> None:
    module, found = scopes("""
        def f():
            found = [last := i for i in range(3)]
            return last
    """)
    inner = found.by_node[function(module, "f")]
    assert [mention.binds for mention in found.of_variable("last", inner)] == [True, False]
    assert found.owner("i", inner) is None


def test_what_patterns_bind_and_what_they_only_name() -> None:
    _, found = scopes("""
        match command:
            case Point(x=0, y=y) | [y, *_]:
                pass
            case {"k": z, **rest}:
                pass
            case str() as text:
                pass
    """)
    assert {"y", "z", "rest", "text"} == found.module.bound
    assert found.owner("x", found.module) is None
    assert "x" not in found.module.mentions


def test_a_return_annotation_reads() -> None:
    _, found = scopes("import numpy as np\ndef f() -> np.ndarray: ...\n")
    assert [mention.binds for mention in found.of_variable("np", found.module)] == [True, False]


def test_type_parameters_are_seen_by_what_they_belong_to_and_see_the_class_round_them() -> None:
    module, found = scopes("""
        T = x = 0
        class A:
            x = 1
            def f[T](self, other: x) -> T:
                return T, x
        type Pair[T] = tuple[T, T]
    """)
    cls = next(scope for node, scope in found.by_node.items() if isinstance(node, cst.ClassDef))
    inner = found.by_node[function(module, "f")]
    assert found.owner("T", inner) is inner.parent
    assert found.owner("x", inner) is found.module
    assert len(found.of_variable("x", cls)) == 2
    assert len(found.of_variable("T", found.module)) == 1
    assert "Pair" in found.module.bound


def test_questions_about_variables_cost_no_more_with_each_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch, (Scopes, "owner"))
    _, found = scopes("".join(f"def f{i}(self):\n    return self\n\n" for i in range(300)))
    for scope in found.by_node.values():
        for name, mentions in scope.mentions.items():
            for mention in mentions:
                if isinstance(mention.node, cst.Name):
                    assert found.holding(mention.node) is scope
                assert mention in found.of_variable(name, scope)
    assert asked[0] < 5 * 300 * 4
