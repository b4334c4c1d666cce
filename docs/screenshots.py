"""Make docs/images anew: `python docs/screenshots.py REPORT_FOLDER` (the DIR of `tfmigrate verify --report DIR`).

Needs chromium on PATH for the report; the terminal is drawn by rich.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tfmigrate import migrate, rules
from tfmigrate.report import terminal
from tfmigrate.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"


def draw_terminal() -> None:
    """What `tfmigrate check` shows of two programs, and of a helper whose callers nobody knows."""
    os.environ["COLUMNS"] = "110"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("base_parallel", "uneven_split"):
            (script,) = (ROOT / "fixtures" / name / "before").glob("*.py")
            shutil.copy(script, f"{name}.py")
        Path("to_gpus.py").write_text(rules.by_code()["TFM102"].examples[0].before)
        settings = Settings(from_version="keras==2.2.4")
        shown = terminal.render(migrate.check(["."], settings))
    console = Console(record=True, width=110, file=io.StringIO(), force_terminal=True)
    console.print("[bold]$ tfmigrate check .[/bold]")
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(title="tfmigrate check")
    (IMAGES / "terminal.svg").write_text(re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.S), encoding="utf-8")


def draw_report(folder: Path) -> None:
    """The top of report.html."""
    target, page = IMAGES / "report.png", (folder / "report.html").resolve().as_uri()
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1100,1060", f"--screenshot={target}"]
    subprocess.run(["chromium", *options, page], check=True, capture_output=True)


if __name__ == "__main__":
    draw_terminal()
    if sys.argv[1:]:
        draw_report(Path(sys.argv[1]))
