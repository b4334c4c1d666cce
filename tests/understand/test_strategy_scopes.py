"""Which places of a program stand in the scope of which strategy."""

from __future__ import annotations

import textwrap

from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program

HEAD = "import contextlib\nimport tensorflow as tf\nfrom tensorflow.keras.layers import Dense\n"


def facts(body: str) -> ProgramFacts:
    return interpret(Program([Module("a.py", HEAD + textwrap.dedent(body).lstrip("\n"))]))


def scoped_lines(found: ProgramFacts) -> set[int]:
    """Lines, counted after HEAD, that stand in the scope of some strategy of the program."""
    return {
        site.frame.module.position(site.unit)[0] - HEAD.count("\n")
        for site, entered in found.entered.items()
        if any(one.strategies for one in entered)
    }


def unknown_lines(found: ProgramFacts) -> set[int]:
    """Lines that stand in a `with` of which nothing tells whether it enters a scope."""
    return {
        site.frame.module.position(site.unit)[0] - HEAD.count("\n")
        for site, entered in found.entered.items()
        if not all(one.strategies for one in entered)
    }


def test_a_scope_covers_its_block_and_nothing_else() -> None:
    found = facts("""
        strategy = tf.distribute.MirroredStrategy()
        before = 1
        with strategy.scope():
            model = tf.keras.Sequential([Dense(1)])
        after = 2
    """)
    assert [strategy.name for strategy in found.strategies] == ["MirroredStrategy"]
    assert scoped_lines(found) == {4}


def test_a_scope_covers_what_is_called_in_it() -> None:
    found = facts("""
        def build():
            return tf.keras.Sequential([Dense(1)])
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = build()
        other = build()
    """)
    assert scoped_lines(found) == {2, 5}


def test_a_function_that_enters_a_scope_is_walked_at_each_call() -> None:
    found = facts("""
        def build(strategy):
            with strategy.scope():
                return tf.keras.Sequential([Dense(1)])
        strategy = tf.distribute.MirroredStrategy()
        one = build(strategy)
        two = build(strategy)
    """)
    assert [len(model.sites) for model in found.models] == [1, 1]
    for model in found.models:
        assert all(found.entered[site] for site in model.sites)


def test_a_strategy_is_followed_through_attributes_and_arms() -> None:
    found = facts("""
        class Trainer:
            def __init__(self, several):
                if several:
                    self.strategy = tf.distribute.MirroredStrategy()
                else:
                    self.strategy = tf.distribute.get_strategy()
            def build(self):
                with self.strategy.scope():
                    self.model = tf.keras.Sequential([Dense(1)])
        Trainer(True).build()
    """)
    assert scoped_lines(found) == {9}


def test_a_bound_scope_is_entered_where_its_with_stands() -> None:
    found = facts("""
        scope = tf.distribute.MirroredStrategy().scope()
        a = 1
        with scope:
            b = 2
    """)
    assert scoped_lines(found) == {4}
    assert not found.scopes_elsewhere


def test_a_foreign_context_may_be_a_scope() -> None:
    found = facts("""
        from project import context
        with context():
            a = 1
        with open("x") as file, tf.device("/cpu:0"), tf.GradientTape() as tape:
            b = 2
    """)
    assert unknown_lines(found) == {3}


def test_a_scope_that_is_handed_on_is_noticed() -> None:
    assert facts("""
        stack = contextlib.ExitStack()
        stack.enter_context(tf.distribute.MirroredStrategy().scope())
    """).scopes_elsewhere
    assert facts("tf.distribute.MirroredStrategy().scope().__enter__()\n").scopes_elsewhere
    assert facts("tf.distribute.experimental_set_strategy(None)\n").scopes_elsewhere
