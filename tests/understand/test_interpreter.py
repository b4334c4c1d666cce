"""Facts about programs: what is wrapped, what it was built of, and what is left unknown."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tfmigrate.understand.contents import opaque_sites
from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.values import Literal, ModelObject, Opaque, Parameter, options

HEAD = """
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model
"""


def facts(code: str, **others: str) -> ProgramFacts:
    modules = [Module(f"{name}.py", dedent(text)) for name, text in others.items()]
    return interpret(Program([*modules, Module("train.py", HEAD + dedent(code))]))


def lines(found: ProgramFacts) -> list[int]:
    """Where the parts of the first template were made, counted from the line after HEAD."""
    (wrap, *_) = found.wraps
    offset = HEAD.count("\n")
    return sorted({s.frame.module.position(s.unit)[0] - offset for s in opaque_sites(wrap.template)})


def test_the_parts_of_a_functional_model_are_found_and_nothing_else() -> None:
    found = facts("""
        inputs = Input((4,))
        other = Dense(3)
        x = Dense(2)(inputs)
        name = "n"
        model = Model(inputs, x)
        p = multi_gpu_model(model, 2)
    """)
    assert lines(found) == [2, 4, 6]


@pytest.mark.parametrize(
    ("imported", "made", "found"),
    [
        ("configparser", "configparser.ConfigParser()", []),
        ("json", "json.load(open('settings.json'))", []),
        ("settings", "settings.Settings()", [7]),
    ],
)
def test_what_the_standard_library_reads_of_a_file_is_made_nowhere(imported: str, made: str, found: list[int]) -> None:
    program = facts(f"""
        import {imported}
        class Job:
            def __init__(self):
                config = {made}
                self.name = config.get("training", "optimizer")
                self.units = 1
        job = Job()
        model = Sequential([Dense(job.units)])
        model.compile(job.name, "mse")
    """)
    (compiled,) = program.uses
    offset = HEAD.count("\n")
    outermost = [list(site.chain())[-1].unit for site in compiled.parts]
    assert [compiled.site.frame.module.position(unit)[0] - offset for unit in outermost] == [line + 1 for line in found]


def test_layers_added_in_a_loop_belong_to_the_model() -> None:
    found = facts("""
        model = Sequential()
        for n in (1, 2):
            model.add(Dense(n))
        p = multi_gpu_model(model, 2)
    """)
    assert lines(found) == [2, 4]


def test_of_two_names_of_a_thing_the_same_one_is_kept_in_every_run() -> None:
    imports = "".join(
        f"""
        try:
            from keras.utils import thing_{n}
        except ImportError:
            from tensorflow.keras.utils import thing_{n}
        thing_{n}()
    """
        for n in range(8)
    )
    (own,) = facts(imports).modules.values()
    kept = {name.split(".")[0] for name in own.symbols.values() if "thing_" in name}
    assert kept == {"keras"}


def test_each_condition_of_a_chain_stands_where_the_chain_does() -> None:
    found = facts("""
        if mode == 1:
            pass
        elif mode == 2:
            pass
        elif run(multi_gpu_model(Sequential([Dense(1)]), gpus=2)):
            pass
    """)
    (wrap,) = found.wraps
    assert wrap.site.unit in wrap.site.frame.module.places
    assert lines(found) == [2]


def test_an_unknown_call_is_where_an_unknown_model_comes_from() -> None:
    found = facts("""
        from nets import make
        data = make.data()
        model = make.model(data)
        p = multi_gpu_model(model, 2)
    """)
    assert [type(option) for option in options(found.wraps[0].template)] == [Opaque]
    assert lines(found) == [4]


def test_a_function_nobody_calls_has_parameters() -> None:
    (wrap,) = facts("def f(model, n):\n    return multi_gpu_model(model, n)\n").wraps
    assert isinstance(wrap.template, Parameter)


def test_a_function_that_is_called_is_walked_with_its_arguments() -> None:
    (wrap,) = facts("""
        def f(model, n):
            return multi_gpu_model(model, gpus=n)
        f(Sequential(), 4)
    """).wraps
    assert isinstance(wrap.template, ModelObject)
    assert wrap.gpus_value == Literal(4)


def test_the_other_arm_is_joined() -> None:
    found = facts("""
        if flag:
            model = multi_gpu_model(Sequential(), 2)
        else:
            model = Sequential()
        model.compile("sgd", "mse")
    """)
    (use,) = [use for use in found.uses if use.method == "compile"]
    assert len(options(use.receiver)) == 2


def test_attributes_flow_through_methods_and_base_classes() -> None:
    found = facts("""
        class Base:
            def wrap(self):
                self.model = multi_gpu_model(self.model, 2)
        class Trainer(Base):
            def __init__(self):
                self.model = Sequential()
                super().wrap()
        Trainer()
    """)
    assert isinstance(found.wraps[0].template, ModelObject)


def test_recursion_ends() -> None:
    found = facts("""
        def f(model, n):
            return f(model, n - 1) if n else multi_gpu_model(model, 2)
        f(Sequential(), 3)
    """)
    assert len(found.wraps) == 1


def test_modules_that_import_each_other() -> None:
    found = facts(
        "from a import make\np = multi_gpu_model(make(), 2)\n",
        a="from b import make\n",
        b="""
        from a import other
        from keras.models import Sequential
        def make():
            return Sequential()
    """,
    )
    assert isinstance(found.wraps[0].template, ModelObject)


@pytest.mark.parametrize("count", [50, 100])
def test_the_cost_is_bounded_by_the_code_to_follow(count: int) -> None:
    """A chain in which each function calls the one before twice would take 2 ** count walks."""
    chain = "def f0(m):\n    m.compile('sgd')\n    return m\n" + "".join(
        f"def f{n}(m):\n    f{n - 1}(m)\n    return f{n - 1}(m)\n" for n in range(1, count)
    )
    found = facts(chain + f"multi_gpu_model(f{count - 1}(Sequential()), 2)\n")
    assert len(found.wraps) == 1


def test_an_arm_may_end_in_a_compound_statement() -> None:
    (wrap,) = facts("""
        model = Sequential()
        if gpus > 1:
            while True:
                raise ValueError
        p = multi_gpu_model(model, gpus)
    """).wraps
    assert isinstance(wrap.template, ModelObject)


def test_what_a_function_does_to_a_model_is_noted_though_it_was_first_called_with_data() -> None:
    found = facts("""
        def look(model):
            model.any_method()

        look(None)
        look(Sequential([Dense(1)]))
    """)
    assert [len(use.models) for use in found.uses if use.method == "any_method"] == [1]


IN_TURN = """
from keras.layers import Dense
from keras.models import Sequential

class {0}:
    def run(self):
        Sequential([Dense(1)])

class {1}:
    def run(self):
        Sequential([Dense(2)])

one = {0}() if deep else {1}()
one.run()
"""


@pytest.mark.parametrize(
    "names", [("A", "B"), ("B", "A"), ("Sun", "Moon"), ("Moon", "Sun"), ("x1", "x2"), ("x2", "x1")]
)
def test_what_may_be_called_is_walked_in_the_order_of_the_program(names: tuple[str, str]) -> None:
    found = interpret(Program([Module("train.py", IN_TURN.format(*names))]))
    assert [model.site.frame.module.position(model.node)[0] for model in found.models] == [7, 11]


@pytest.mark.parametrize(("line", "made"), [("model.build((None, 4))", 2), ("model(rows)", 2), ("y = model(rows)", 1)])
def test_what_may_make_the_variables_of_a_model_is_a_place_where_it_is_made(line: str, made: int) -> None:
    (model,) = facts(f"""
        model = Sequential([Dense(1)])
        rows = load()
        {line}
    """).models
    assert len(model.sites) == made


GETTER = """
    from keras.optimizers import SGD

    class Trainer:
        def __init__(self):
            self.net = None
            self.rate = SGD(0.1)

        def model(self):
            return self.net

        def optimizer(self):
            return self.rate

        def begin(self):
            print(self.model(), self.optimizer())
            self.net = Sequential([Dense(1)])
            multi_gpu_model(self.model(), 2).compile(self.optimizer())


    Trainer().begin()
"""


def test_a_getter_that_was_called_before_gives_back_what_the_object_holds_now() -> None:
    (wrap,) = facts(GETTER).wraps
    assert isinstance(wrap.template, ModelObject)


def test_what_a_second_call_of_a_getter_gives_back_was_made_where_it_was_made() -> None:
    (use,) = [use for use in facts(GETTER).uses if use.method == "compile"]
    (made,) = options(use.arguments[0][1])
    assert [site.frame.function.name.value for site in made.sites] == ["__init__"]
