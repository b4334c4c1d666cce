from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfmigrate.files import related

NEEDLES = (b"multi_gpu_model",)
FILES = {
    "utils.py": b"def to_gpus(model):\n    return multi_gpu_model(model)\n\ndef other():\n    pass\n",
    "train.py": b"from utils import to_gpus\n\ndef build():\n    return to_gpus(1)\n",
    "main.py": b"import train\ntrain.build()\n",
    "test_utils.py": b"from utils import other\nother()\n",
    "mention.py": b"# utils.to_gpus\n",
}


def search(needles: Sequence[bytes]) -> Mapping[str, bytes]:
    return {path: data for path, data in FILES.items() if any(needle in data for needle in needles)}


def test_importers_of_what_holds_the_needle_and_their_importers() -> None:
    hits = {"utils.py": FILES["utils.py"]}
    assert sorted(related.with_importers(hits, NEEDLES, search)) == ["main.py", "train.py", "utils.py"]


def test_groups_are_joined_by_imports() -> None:
    groups = related.components({path: FILES[path] for path in ("utils.py", "train.py", "mention.py")})
    assert sorted(map(sorted, groups)) == [["mention.py"], ["train.py", "utils.py"]]


def test_a_package_is_imported_by_its_folders_name() -> None:
    assert related.module_name("a/pkg/__init__.py") == "pkg"
    assert related.module_name("a/pkg/nets.py") == "nets"
