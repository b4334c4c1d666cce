"""Which modules of a program its imports mean."""

from __future__ import annotations

from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program


def test_star_imports_are_followed_from_the_last_one_and_in_circles() -> None:
    sources = {
        "train.py": "from first import *\nfrom keras.layers import *\nfrom second import *\nfrom .near import *\n",
        "first.py": "from second import *\nfrom os.path import *\n",
        "second.py": "import third\nfrom third import *\n",
        "third.py": "from train import *\nfrom first import path\n",
    }
    modules = [Module(path, text) for path, text in sources.items()]
    reached = Program(modules).reached_by_stars(modules[0])
    named = [source.path if isinstance(source, Module) else source for source in reached]
    assert named == ["train.py", ".near", "second.py", "third.py", "keras.layers", "first.py", "os.path"]


def test_an_import_names_a_module_or_what_stands_in_one() -> None:
    text = "import package.settings\nfrom package import settings, other\nfrom . import package\n"
    sources = {"train.py": text, "package/settings.py": "", "package/__init__.py": ""}
    modules = {path: Module(path, source) for path, source in sources.items()}
    program, train = Program(list(modules.values())), modules["train.py"]
    (whole, *_), (parts, *_), (near, *_) = train.imports
    named = [program.named(one, alias, train) for one in (whole, parts, near) for alias in one.names]
    settings, package = modules["package/settings.py"], modules["package/__init__.py"]
    assert named == [settings, settings, None, package]
    assert [program.source(one, train) for one in (whole, parts)] == [None, package]
