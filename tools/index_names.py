#!/usr/bin/env python
"""Which public names and keywords do the installed TensorFlow and Keras have?

    python tools/index_names.py dump FOLDER       in each interpreter: FOLDER/tensorflow-2.9.3.json, keras-2.9.0.json
    python tools/index_names.py private FOLDER    likewise, what stands below tensorflow.python
    python tools/index_names.py combine FOLDER    in today's: all dumps -> tfmigrate/plan/names/public_names/*.txt.xz

Nothing is typed by hand: modules are imported (lazy ones too) and asked what they hold, callables for their signatures.
A class that passes `**kwargs` on takes what its base takes; a class at the end of that way is made with keywords to see
which it refuses. The dumps of these were combined: TensorFlow 1.15.0, 2.3.4, 2.9.3, 2.15.1, 2.21.0 (with tf_keras), and
Keras 2.2.4, 2.3.1, 2.9.0, 2.15.0 and 3.15.1. Private modules are read and not run: of TensorFlow 1.15.0, 2.3.4 and
2.21.0. Python 3.7 syntax.
"""

import ast
import functools
import importlib
import inspect
import json
import lzma
import os
import pkgutil
import re
import sys
import textwrap
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NONSENSE = "no_such_keyword"
ABOUT_THE_KEYWORD = re.compile("keyword|argument|kwarg", re.IGNORECASE)
ABOUT_THE_VALUE = re.compile("was expecting|must be")
OPEN = "**"
"""Stands among the keywords of a callable that takes others too, or that cannot be asked."""
WITH_METHODS = (
    "Model", "Sequential", "Layer", "Optimizer", "Callback", "Metric", "Loss", "Dataset", "Variable", "Tensor",
    "GradientTape", "Checkpoint", "CheckpointManager", "Strategy", "MirroredStrategy", "Session", "Graph",
    "History", "ImageDataGenerator", "Tokenizer", "Estimator",
)  # fmt: skip
"""Classes whose methods are indexed: those that scripts call methods on. Of others the name alone is."""
WITH_PRIVATE_METHODS = ("Model", "Sequential")
"""Old scripts call `model._make_predict_function()`."""


class Walk:
    """The names below one root package."""

    def __init__(self, root, deep):
        self.root, self.deep = root, deep
        self.names = {}
        self.same = {}
        """Names of one and the same object."""
        self.keywords = {}

    def module(self, name, module, above=()):
        self.names[name] = "m"
        try:
            held, children = set(dir(module)), self.children(module)
        except Exception:  # A lazy module whose own import fails.
            self.names[name] = "o"
            return
        for attribute in sorted(held | set(children)):
            if attribute.startswith("_"):
                if not attribute.startswith("__"):
                    self.names[name + "." + attribute] = "o"
                continue
            if attribute not in held and not self.deep and not is_there(module, attribute):
                self.names[name + "." + attribute] = "o"
                continue
            found = attribute_of(module, attribute)
            if found is None and not is_there(module, attribute):
                continue
            full = name + "." + attribute
            if callable(found) or isinstance(found, types.ModuleType):
                self.same.setdefault(id(found), []).append(full)
            if isinstance(found, types.ModuleType):
                if self.is_public(found, full) and not any(found is one for one in (*above, module)):
                    self.module(full, found, (*above, module))
                else:
                    self.names[full] = "o"  # It is there; what it holds is not asked.
            else:
                self.thing(full, found)

    def children(self, module):
        """Modules that only an import of their own brings; below TensorFlow nobody documents them."""
        if not hasattr(module, "__path__"):
            return []
        try:
            found = [child for _, child, _ in pkgutil.iter_modules(list(module.__path__))]
        except (TypeError, ImportError):
            return []
        return [child for child in found if not self.deep or ("test" not in child and child != "api")]

    def is_public(self, module, full):
        actual = attribute_of(module, "__name__")
        if actual is None:  # A lazy module that Keras 3 forbids: it is there, and whatever it is asked fails.
            return False
        if full.endswith((".compat.v1.compat", ".compat.v2", ".contrib", ".python", ".core", ".tools", ".compiler")):
            return False
        if self.root == "keras" and self.deep:
            return actual == full
        ours = actual.split(".")[0] == ("keras" if self.root == "tensorflow" else self.root) and ".src" not in actual
        if self.root in ("keras", "tf_keras"):
            return ours and full.count(".") < 6
        return (
            actual == full
            or (ours and actual.rsplit(".", 1)[-1] == full.rsplit(".", 1)[-1])
            or any(part in actual for part in ("_api.v", ".api.", "_tf_keras", "keras.api", "tensorboard.summary"))
            or "lazy" in type(module).__name__.lower()
        )

    def thing(self, full, found):
        if inspect.isclass(found):
            self.names[full] = ["c", self.of_class(found)]
            if full.rsplit(".", 1)[1] in WITH_METHODS:
                self.members(full, found)
        elif callable(found):
            self.names[full] = ["f", of_function(found)]
        else:
            self.names[full] = "v"

    def members(self, full, cls):
        private = full.rsplit(".", 1)[1] in WITH_PRIVATE_METHODS
        for attribute in sorted(assigned_in(cls).union(dir(cls))):
            if attribute.startswith("__") or (attribute.startswith("_") and not private):
                continue
            found = inspect.getattr_static(cls, attribute, None)
            if attribute.startswith("_"):
                self.names[full + "." + attribute] = "v"
            elif isinstance(found, (classmethod, staticmethod)):
                self.names[full + "." + attribute] = ["f", of_function(getattr(cls, attribute))]
            elif callable(found) and not inspect.isclass(found):
                self.names[full + "." + attribute] = ["f", [one for one in of_function(found) if one != "self"]]
            else:
                self.names[full + "." + attribute] = "v"

    def of_class(self, cls):
        if cls not in self.keywords:
            self.keywords[cls] = self.asked(cls)
        return self.keywords[cls]

    def asked(self, cls):
        if type(cls).__call__ is not type.__call__:
            return [OPEN]  # Its metaclass takes the arguments, as that of tf.Variable does.
        position, base = next(found for found in enumerate(cls.__mro__) if "__init__" in vars(found[1]))
        if base is object:
            return [OPEN] if any("__new__" in vars(one) for one in cls.__mro__[:-1]) else []
        init = vars(base)["__init__"]
        if takes_all(init) and any("__new__" in vars(one) for one in cls.__mro__[: position + 1]):
            return [OPEN]  # Which class comes of it depends on the arguments, as with keras.Model.
        named, rest = signature(init)
        named = [name for name in named if name != "self"]
        if rest is None:
            return named
        if rest and hands_on(init, rest):
            following = [one for one in cls.__mro__[position + 1 :] if "__init__" in vars(one)]
            if following and following[0] is not object:
                inherited = self.of_class(following[0])
                return merged(named, popped(init, rest), inherited)
        return merged(named, popped(init, rest) if rest else [], self.tried(cls, named))

    def tried(self, cls, named):
        """What a class at the end of the way takes beside its parameters: made with each keyword of the index."""
        required = required_of(vars(cls).get("__init__"))
        for value in (None, 0.1, "x"):
            given = dict.fromkeys(required, value)
            refusal = said(cls, NONSENSE, given)
            if refusal and NONSENSE in refusal and refuses(refusal):
                break
        else:
            return [OPEN]
        taken = []
        for keyword in sorted(KEYWORDS - set(named)):
            answer = said(cls, keyword, given)
            if answer != refusal.replace(NONSENSE, keyword):
                taken.append(keyword)
        return taken if len(taken) < 60 else [OPEN]


KEYWORDS = {
    "input_shape", "batch_input_shape", "batch_shape", "input_dim", "input_length", "input_dtype", "batch_size",
    "weights", "trainable", "name", "dtype", "dynamic", "autocast", "activity_regularizer", "implementation",
    "experimental_autocast", "lr", "decay", "learning_rate", "clipnorm", "clipvalue", "global_clipnorm", "epsilon",
    "momentum", "weight_decay", "use_ema", "ema_momentum", "jit_compile", "is_legacy_optimizer", "mesh",
    "gradient_accumulation_steps", "loss_scale_factor", "ema_overwrite_frequency", "gradient_aggregator",
    "gradient_transformers", "inputs", "outputs", "layers", "fn", "reduction", "from_logits",
    "experimental_run_tf_function", "distribute", "target_tensors", "consume_less", "init", "output_dim", "nb_epoch",
    "unit_forget_bias", "time_major", "zero_output_for_mask", "training", "mask", "units", "activation",
}  # fmt: skip
"""Keywords to try; the parameters of every callable of the index are added before."""


def said(cls, keyword, given):
    """What making an instance with a keyword is refused with; None when it is not."""
    try:
        cls(**{**given, keyword: 1})
    except Exception as error:
        return f"{type(error).__name__} {error}"
    return None


def refuses(message):
    """Whether an error is about a keyword that is not taken, and not about its value."""
    return ABOUT_THE_KEYWORD.search(message) is not None and ABOUT_THE_VALUE.search(message) is None


def is_there(module, name):
    try:
        return hasattr(module, name)
    except Exception:
        return False


def attribute_of(module, name):
    try:
        return getattr(module, name)
    except Exception:
        pass
    try:
        return importlib.import_module(f"{module.__name__}.{name}")
    except BaseException:
        return None


def signature(function):
    """(keywords, the name of `**rest`): None when there is no rest, "" when it cannot be asked."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], ""
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    rest = [p.name for p in parameters if p.kind == p.VAR_KEYWORD]
    return named, rest[0] if rest else None


def takes_all(init):
    """Whether a signature is (*args, **kwargs) and says nothing."""
    try:
        kinds = {p.kind for p in list(inspect.signature(init).parameters.values())[1:]}
    except (TypeError, ValueError):
        return True
    return kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def of_function(function):
    if inspect.isclass(function):
        return [OPEN]
    named, rest = signature(function)
    return named if rest is None else [*named, OPEN]


@functools.lru_cache(maxsize=None)  # noqa: UP033 (Python 3.7)
def assigned_in(cls):
    """The attributes that the methods of a class or its bases set on `self`."""
    found = set()
    for base in cls.__mro__:
        try:
            found.update(re.findall(r"\bself\.([A-Za-z_]\w*)\b[^=\n().]*=(?!=)", inspect.getsource(base)))
        except (OSError, TypeError):
            continue
    return found


def required_of(init):
    try:
        parameters = list(inspect.signature(init).parameters.values())[1:]
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def source_of(init):
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(init))))
    except (OSError, TypeError, SyntaxError):
        return None


def hands_on(init, rest):
    """Whether an __init__ passes its `**rest` on to that of its base."""
    tree = source_of(init)
    return tree is not None and any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "__init__"
        and any(k.arg is None and isinstance(k.value, ast.Name) and k.value.id == rest for k in node.keywords)
        for node in ast.walk(tree)
    )


def popped(init, rest):
    """The keywords that an __init__ takes out of its `**rest` by name."""
    tree, found = source_of(init), set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if isinstance(node.func.value, ast.Name) and node.func.value.id == rest:
                found.add(constant(node.args[0]))
        elif isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Name):
            if node.comparators[0].id == rest:
                found.add(constant(node.left))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == rest:
            found.add(constant(node.slice.value if isinstance(node.slice, ast.Index) else node.slice))
    return sorted(found - {None})


def constant(node):
    value = getattr(node, "value", getattr(node, "s", None))
    return value if isinstance(value, str) else None


def merged(*lists):
    together = dict.fromkeys(name for one in lists for name in one if name != OPEN)
    return [*together, *([OPEN] if any(OPEN in one for one in lists) else [])]


def dump(folder):
    import tensorflow

    walks = [("tensorflow", tensorflow, False)]
    for name in ("keras", "tf_keras"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        old = tuple(map(int, module.__version__.split(".")[:2])) < (2, 12)
        walks.append((name, module, name == "keras" and old))
    for name, module, deep in walks:
        walk = Walk(name, deep)
        walk.module(name, module)
        # Again, now that all keywords are known to try.
        for entry in walk.names.values():
            if isinstance(entry, list):
                KEYWORDS.update(entry[1])
        KEYWORDS.difference_update((OPEN, "self", "cls"))
        walk.keywords.clear()
        walk.names.clear()
        walk.same.clear()
        walk.module(name, module)
        path = os.path.join(folder, f"{name}-{module.__version__}.json")
        with open(path, "w") as file:
            same = [names for names in walk.same.values() if len(names) > 1]
            json.dump({"names": walk.names, "same": same}, file, indent=0, sort_keys=True)
        print(path, len(walk.names))


def private(folder):
    """The modules below tensorflow.python by their text: what packages bind, and the modules of its Keras."""
    import tensorflow

    # TensorFlow 1.15 keeps its modules in tensorflow_core, to which this file leads.
    from tensorflow.python import pywrap_tensorflow

    root = os.path.dirname(pywrap_tensorflow.__file__)
    names = {}
    for place, folders, files in os.walk(root):
        folders[:] = [one for one in folders if not one.startswith("__")]
        package = ".".join(["tensorflow.python", *os.path.relpath(place, root).split(os.sep)]).rstrip(".")
        names.setdefault(package, "o")  # A folder without __init__.py is imported too.
        for file in files:
            module = package if file == "__init__.py" else package + "." + file.split(".")[0]
            if file.endswith(".py") and (module == package or package.startswith("tensorflow.python.keras")):
                names.update(bound_in(module, os.path.join(place, file)))
            elif file.endswith((".py", ".so")):
                names[module] = "o"  # It is there; what it holds is not asked.
    path = os.path.join(folder, f"tensorflow.python-{tensorflow.__version__}.json")
    with open(path, "w") as file:
        json.dump({"names": names, "same": []}, file, indent=0, sort_keys=True)
    print(path, len(names))


def bound_in(module, path):
    """A module's name and those bound at its top level; the first alone, where others may come by at run time."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    nodes, bound = list(top_level(ast.parse(text).body)), set()
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            plain = isinstance(node, ast.Import)
            bound.update(one.asname or (one.name.split(".")[0] if plain else one.name) for one in node.names)
        else:
            stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
            bound.update(one.id for one in stored)
    if bound & {"*", "__getattr__"} or "globals()" in text:
        return {module: "o"}
    return {module: "m", **{module + "." + name: "v" for name in bound}}


def top_level(body):
    """The statements of a module, those in its `if`, `try` and the like included."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield from top_level(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from top_level(handler.body)


def combine(folder):
    """One line for each name: what it is in each version, and another name that its object still has in the last."""
    sys.path.insert(0, ROOT)
    from tfmigrate.plan.names.public_names import path_of, section_of

    dumps = {}
    for file in os.listdir(folder):
        if file.endswith(".json"):
            root, version = file[: -len(".json")].rsplit("-", 1)
            with open(os.path.join(folder, file)) as opened:
                dumps.setdefault(root, {})[tuple(map(int, version.split(".")))] = json.load(opened)
    sections = {}
    for _, versions in sorted(dumps.items()):
        ordered = [versions[version] for version in sorted(versions)]
        renamed = renames(ordered)
        for name in sorted(set().union(*(dumped["names"] for dumped in ordered))):
            entries = [dumped["names"].get(name) for dumped in ordered]
            header = " ".join(".".join(map(str, version)) for version in sorted(versions))
            sections.setdefault((section_of(name), header), []).append((name, entries, renamed.get(name)))
    for (section, header), rows in sections.items():
        lists = {}
        lines = [
            "\t".join([n, " ".join(encoded(e, lists) for e in es), *([new] if new else [])]) for n, es, new in rows
        ]
        keywords = [" ".join(words) or "-" for words in sorted(lists, key=lists.get)] or ["-"]
        text = "\n".join([header, "", *keywords, "", *lines]) + "\n"
        path = path_of(section)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        print(f"{path}: {len(lines)} names, {len(keywords)} signatures, {path.stat().st_size} bytes")


def renames(ordered):
    """Name -> another one of the same object that the newest version still has, for each name that it has no more."""
    newest, renamed = ordered[-1]["names"], {}
    for dumped in ordered:
        for names in dumped["same"]:
            living = [name for name in names if name in newest and ".raw_ops." not in name]
            best = min(living, key=lambda name: ("compat.v1" in name, name.count("."), len(name)), default=None)
            if best is not None:
                renamed.update({name: best for name in names if name not in newest})
    return renamed


def encoded(entry, lists):
    """ "-" where there is no such name; "m", "v" or "o"; "f7" or "c7": a function or class with the 7th signature."""
    if not isinstance(entry, list):
        return entry or "-"
    return f"{entry[0]}{lists.setdefault(tuple(entry[1]), len(lists))}"


if __name__ == "__main__":
    command, folder = sys.argv[1:]
    if command == "dump":
        dump(folder)
    elif command == "private":
        private(folder)
    else:
        combine(folder)
