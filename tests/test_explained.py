"""What is said of one file, read with the repository that it lies in."""

from __future__ import annotations

from pathlib import Path

from tfmigrate import migrate
from tfmigrate.settings import Settings


def test_one_file_is_told_with_the_whole_repository_round_it(project: Path) -> None:
    (project / "sub").mkdir()
    wraps = "from keras.utils import multi_gpu_model\n\n\ndef wrap(model):\n    return multi_gpu_model(model, 2)\n"
    (project / "sub" / "gpus.py").write_text(wraps)
    assert migrate.check_within("sub/gpus.py", Settings()).findings[-1].code == "TFM102"
    (project / "train.py").write_text(
        "from keras import Input, Model\nfrom sub.gpus import wrap\n\nx = Input((4,))\nwrap(Model(x, x)).compile()\n"
    )
    for path in ("sub/gpus.py", "./sub/gpus.py"):
        file = migrate.check_within(path, Settings())
        assert (file.path, file.status) == ("sub/gpus.py", "migrated")
    assert migrate.check_within("train.py", Settings()).status == "migrated"
    (project / "other.py").write_text("x = 1\n")
    assert migrate.check_within("other.py", Settings()).findings == ()
