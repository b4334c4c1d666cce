from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import types
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tfmigrate.verify.judge import cause
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.judge.report import ControlResult, Pair, Report, Verdict, summarize
from tfmigrate.verify.report import junit, page, terminal

from .laboratory import Laboratory
from .simulated import Training, migrated, train


def build(folder: Path, old: Training, new: Training, verdict: Verdict = "EQUIVALENT") -> Report:
    a = train(folder / "old", old)
    restored = train(folder / "restored", replace(old, rounding=1e-7))
    b = train(folder / "new", replace(new, rounding=2e-7))
    again = train(folder / "new on Keras 2", replace(new, rounding=2e-7))
    wrong = train(folder / "wrong", replace(new, learning_rate=new.learning_rate * 2))
    band = tolerance(0.0, len(a.steps))
    pairs = []
    for title, trace, decides in (("genuine", a, True), ("restored on Keras 3", restored, False)):
        for name, other in (("migrated on Keras 3", b), ("migrated on Keras 2", again)):
            comparison = compare(trace, other, band)
            pairs.append(Pair(title, name, comparison, cause.find(trace, other, comparison), decides))
    comparison = compare(a, wrong, band)
    found = cause.find(a, wrong, comparison)
    assert found is not None
    controls = (
        ControlResult(
            "learning rate x2", comparison.max_relative_difference, True, found.cause, found.kind, comparison.steps
        ),
        ControlResult("compile outside the scope", None, True, "RuntimeError: Mixing different <Strategy>"),
    )
    runs = (
        summarize("genuine", "Python 3.7.16", a, 12.3, "ok"),
        summarize("migrated on Keras 3", "Python 3.12.3", b, 22.3, "ok"),
    )
    title = "before/train.py -> after/train.py"
    return Report(verdict, "because", title, runs, tuple(pairs), controls, 1.2e-7, ("a note",))


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_no_other_file_and_is_well_formed(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    written = page.write(report, tmp_path / "made" / "report")
    text = written.read_text(encoding="utf-8")
    links = Links()
    links.feed(text)
    assert links.open == []
    assert len(links.found) == 2
    assert all(link.startswith("data:image/png;base64,") for link in links.found)
    for name in ("curves.png", "residuals.png"):
        assert (written.parent / name).read_bytes().startswith(b"\x89PNG")
    assert "Mixing different &lt;Strategy&gt;" in text, "what scripts say is escaped"
    assert "1 of 2" not in text
    assert "2 of 2" in text


def test_report_json_has_the_keys_of_the_design(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 29)
    report = build(tmp_path, old, migrated(old))
    data = json.loads((page.write(report, tmp_path / "report").parent / "report.json").read_text())
    assert data["verdict"] == "EQUIVALENT"
    assert data["reason"] == "because"
    assert set(data["runs"][0]) >= {
        "role", "runtime", "tensorflow", "keras", "devices", "replicas", "global_batch_size", "steps",
        "samples_per_second", "peak_memory_bytes",
    }  # fmt: skip
    assert data["runs"][0]["replicas"] == 2
    assert data["runs"][0]["global_batch_size"] == 64
    assert data["runs"][0]["steps"] == 12
    assert set(data["loss"]) == {"max_relative_difference", "tolerance", "first_divergence"}
    assert 0 < data["loss"]["max_relative_difference"] <= data["loss"]["tolerance"] == pytest.approx(1e-5)
    assert data["loss"]["first_divergence"] is None
    assert all(set(row) == {"what", "old", "new", "same"} for row in data["contract"])
    assert set(data["controls"][0]) >= {"mutation", "max_relative_difference", "detected"}
    assert data["controls"][1]["max_relative_difference"] is None
    assert data["known_differences"][0]["name"] == "remainder batch"


def test_a_difference_shows_its_cause_in_every_format(tmp_path: Path) -> None:
    old = Training(optimizer="adadelta", learning_rate=1.0)
    report = build(tmp_path, old, replace(migrated(old), learning_rate=0.001), "DIFFERENT")
    words = "adadelta learning_rate 1 -> 0.001: changed default"
    data = report.to_json()
    assert data["loss"]["first_divergence"]["cause"] == words
    assert data["loss"]["first_divergence"]["epoch"] == 0
    assert report.exit_code == 1
    text = page.write(report, tmp_path / "report").read_text(encoding="utf-8")
    assert "adadelta learning_rate 1 -&gt; 0.001: changed default" in text
    assert re.search(r'class="broken"><td>learning rate at each step', text)
    out = io.StringIO()
    terminal.show(report, Console(file=out, width=200))
    assert words in out.getvalue()
    assert "DIFFERENT  because" in out.getvalue()


def test_infinite_differences_are_null_in_json(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    first = report.pairs[0]
    assert first.comparison is not None
    steps = (replace(first.comparison.steps[0], new=float("nan"), difference=float("inf")), *first.comparison.steps[1:])
    broken = replace(first, comparison=replace(first.comparison, steps=steps))
    text = page.write(replace(report, pairs=(broken,)), tmp_path / "report").with_name("report.json").read_text()
    assert json.loads(text)["loss"]["max_relative_difference"] is None


def test_a_report_without_any_run(tmp_path: Path) -> None:
    report = Report("COULD NOT RUN", "no TensorFlow: pip install tensorflow", "train.py")
    text = page.write(report, tmp_path).read_text(encoding="utf-8")
    assert "COULD NOT RUN" in text
    assert not (tmp_path / "curves.png").exists()
    assert report.exit_code == 2
    out = io.StringIO()
    terminal.show(report, Console(file=out, width=120))
    assert "pip install tensorflow" in out.getvalue()


def test_a_run_that_failed_says_so_below_the_table(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    failed = replace(report.runs[0], outcome="genuine: train.py crashed: ValueError: no data (train.py:3)")
    out = io.StringIO()
    terminal.show(replace(report, runs=(failed,)), Console(file=out, width=160))
    assert "crashed: ValueError: no data (train.py:3)" in out.getvalue()
    assert "genuine: the old script on a TensorFlow of its time" in out.getvalue()
    assert "restored:" not in out.getvalue(), "no such run is there"
    written = page.html(replace(report, runs=(failed,)), ())
    assert "<td>failed</td>" in written
    assert "crashed: ValueError: no data (train.py:3)" in written
    assert "genuine: the old script on a TensorFlow of its time" in written


def test_the_four_exit_codes() -> None:
    codes = {v: Report(v, "", "").exit_code for v in ("EQUIVALENT", "DIFFERENT", "INCONCLUSIVE", "COULD NOT RUN")}
    assert codes == {"EQUIVALENT": 0, "DIFFERENT": 1, "INCONCLUSIVE": 3, "COULD NOT RUN": 2}


def test_the_terminal_table_names_each_pair_and_control(tmp_path: Path) -> None:
    out = io.StringIO()
    terminal.show(build(tmp_path, Training(), migrated(Training())), Console(file=out, width=160))
    for word in ("genuine", "restored on Keras 3", "migrated on Keras 2", "learning rate x2", "samples/s"):
        assert word in out.getvalue()


def test_tensorboard_reads_the_event_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # TensorBoard's own way to do without TensorFlow.
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", types.ModuleType("notf"))
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    report = build(tmp_path, Training(), migrated(Training()))
    for _ in range(2):  # written anew, the curves are not there twice
        page.write(report, tmp_path / "report")
    comparison = report.pairs[0].comparison
    assert comparison is not None

    def curve(run: str, tag: str) -> list[float]:
        accumulator = EventAccumulator(str(tmp_path / "report" / "events" / run))
        accumulator.Reload()
        return [scalar.value for scalar in accumulator.Scalars(tag)]

    assert curve("genuine", "loss") == pytest.approx([pair.old for pair in comparison.steps])
    assert curve("migrated on Keras 3", "loss") == pytest.approx([pair.new for pair in comparison.steps])
    assert len(curve("genuine", "validation loss")) == len(comparison.epochs) == 3
    assert len(curve("genuine vs migrated on Keras 3", "relative loss difference")) == len(comparison.steps)


@pytest.mark.parametrize(("rate", "failures"), [(0.5, 0), (0.1, 3)])
def test_junit_has_a_case_for_each_pair_and_control(tmp_path: Path, rate: float, failures: int) -> None:
    verdict: Verdict = "DIFFERENT" if failures else "EQUIVALENT"
    report = build(tmp_path, Training(), replace(migrated(Training()), learning_rate=rate), verdict)
    suite = ElementTree.fromstring(junit.render(report)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("7", str(failures), "0")
    assert len(suite.findall("testcase")) == 7
    failed = [case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None]
    deciding = ["genuine vs migrated on Keras 3", "genuine vs migrated on Keras 2"]
    assert failed == ([report.title, *deciding] if failures else [])


def test_a_verdict_that_says_nothing_is_an_error_for_junit() -> None:
    suite = ElementTree.fromstring(junit.render(Report("INCONCLUSIVE", "too short", "train.py"))).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")


def test_the_pull_request_text_is_whole_markdown(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 29)
    report = build(tmp_path, old, migrated(old))
    folder = page.write(report, tmp_path / "report").parent
    text = (folder / "pull-request.md").read_text(encoding="utf-8")
    assert text.startswith("### \u2705 EQUIVALENT: ")
    for name in re.findall(r"!\[\w+\]\((.*?)\)", text):
        assert (folder / name).is_file()
    assert "remainder batch" in text
    assert "2 of 2 wrong migrations were detected" in text
    assert "<Strategy>" not in text, "what scripts say is no HTML"
    assert text.count("<details>") == text.count("</details>") >= 2
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1


def test_a_comparison_as_written_is_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Laboratory(tmp_path, monkeypatch)
    noisy = replace(Training(), rounding=0.05)
    lab.behaviour = lambda world, limits: noisy if world.kind != "migrated" else migrated(noisy)
    report = lab.verify_as_written(8)
    assert report.written is not None
    answers = [one.answer for one in report.written.outcomes]
    folder = page.write(report, tmp_path / "report").parent
    cases = ElementTree.parse(folder / "report.xml").getroot().iter("testcase")
    found = {case.get("name"): case for case in cases if case.get("classname") == "tfmigrate.verify.as written"}
    assert list(found) == [one.name for one in report.written.outcomes]
    assert [case.find("failure") is None for case in found.values()] == [a == "equivalent" for a in answers]
    text = (folder / "pull-request.md").read_text(encoding="utf-8")
    assert "As written, over 8 pairs of runs" in text
    assert "8 runs" not in text, "of runs that are alike one is shown"
    for one in report.written.outcomes:
        assert re.search(rf"^\| {re.escape(one.name)} \|.*{one.answer}", text, re.MULTILINE)


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def test_a_real_browser_shows_the_page(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    in_a_browser(page.write(report, tmp_path / "report"), tmp_path)


def in_a_browser(html: Path, tmp_path: Path) -> None:
    """What the page looks like once loaded, told by the browser itself."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser on PATH: {', '.join(BROWSERS)}")
    asked = html.read_text(encoding="utf-8").replace("</body>", ASK_THE_BROWSER + "</body>")
    html.write_text(asked, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1200,2000", "--virtual-time-budget=5000"]
    done = subprocess.run([*command, "--dump-dom", html.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    told = json.loads(found[1])
    assert [width > 0 for width in told["pictures"]] == [True, True]
    assert told["requests"] == [], "the page asks for nothing"
    assert told["verdict"] is True
    assert told["overflow"] <= 0, "nothing hangs over the right edge"


ASK_THE_BROWSER = """<pre id="told"></pre><script>
document.getElementById("told").textContent = JSON.stringify({
  pictures: Array.from(document.images, picture => picture.naturalWidth),
  requests: performance.getEntriesByType("resource").map(one => one.name).filter(name => !name.startsWith("data:")),
  verdict: document.body.innerText.includes("EQUIVALENT"),
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
});
</script>"""
