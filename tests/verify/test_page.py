from __future__ import annotations

import io
import itertools
import json
import re
import shutil
import subprocess
import sys
import types
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tfmigrate.verify.judge import cause
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.causes.evidence import Divergence
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.judge.report import ControlResult, Pair, Report, Verdict
from tfmigrate.verify.judge.script_line import Line
from tfmigrate.verify.judge.summaries import summarize
from tfmigrate.verify.report import junit, labels, page, pull_request, terminal

from .laboratory import Laboratory, scripts
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


def printed(report: Report, width: int) -> str:
    """What a terminal of this width shows."""
    out = io.StringIO()
    terminal.show(report, Console(file=out, width=width))
    return out.getvalue()


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br", "link", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_no_other_file_and_is_well_formed(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    written = page.write(report, tmp_path / "made" / "report")
    text = written.read_text(encoding="utf-8")
    links = Links()
    links.feed(text)
    assert links.open == []
    assert all(link.startswith("#") for link in links.found), "only the marks of a drawing, which are in it"
    assert text.count("<svg ") == 4, "each picture for wide and for narrow screens"
    identifiers = re.findall(r'\bid="([^"]+)"', text)
    assert len(identifiers) == len(set(identifiers))
    for name in ("curves.png", "residuals.png"):
        assert (written.parent / name).read_bytes().startswith(b"\x89PNG")
    assert "Mixing different &lt;Strategy&gt;" in text, "what scripts say is escaped"
    assert "1 of 2" not in text
    assert "2 of 2" in text


@pytest.mark.usefixtures("without_pictures")
def test_memory_of_gpus_is_shown_where_there_are_some(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    assert "GPU memory" not in page.write(report, tmp_path / "without").read_text(encoding="utf-8")
    genuine, new = report.runs
    on_gpus = replace(report, runs=(genuine, replace(new, peak_gpu_memory_bytes=345 << 20)))
    text = page.write(on_gpus, tmp_path / "with").read_text(encoding="utf-8")
    assert text.count("GPU memory</th>") == 1
    cells = re.findall(r'data-label="peak GPU memory">([^<]*)<', text)
    assert (len(cells), cells[1]) == (2, "345 MiB")


@pytest.mark.usefixtures("without_pictures")
def test_report_json_has_the_keys_of_the_design(tmp_path: Path) -> None:
    old = Training(samples=256 - 64 + 29)
    report = build(tmp_path, old, migrated(old))
    data = json.loads((page.write(report, tmp_path / "report").parent / "report.json").read_text())
    assert data["verdict"] == "EQUIVALENT"
    assert data["reason"] == "because"
    assert set(data["runs"][0]) >= {
        "role", "runtime", "tensorflow", "keras", "devices", "replicas", "global_batch_size", "steps",
        "samples_per_second", "peak_memory_bytes", "peak_gpu_memory_bytes",
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


@pytest.mark.usefixtures("without_pictures")
def test_a_difference_shows_its_cause_in_every_format(tmp_path: Path) -> None:
    old = Training(optimizer="adadelta", learning_rate=1.0)
    report = build(tmp_path, old, replace(migrated(old), learning_rate=0.001), "DIFFERENT")
    words = "adadelta learning_rate 1 -> 0.001: changed default"
    data = report.to_json()
    assert data["loss"]["first_divergence"]["cause"] == words
    assert data["loss"]["first_divergence"]["epoch"] == 0
    assert report.exit_code == 1
    text = page.write(report, tmp_path / "report").read_text(encoding="utf-8")
    assert "adadelta learning_rate 1 -&gt; 0.001: changed default" in text.replace("<wbr>", "")
    assert re.search(r'class="broken"><td data-label="what">learning rate at each step', text)
    shown = printed(report, 200)
    assert words in shown
    assert "DIFFERENT  because" in shown


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
    shown = printed(report, 120)
    assert "pip install tensorflow" in shown


def test_a_run_that_failed_says_so_below_the_table(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    failed = replace(report.runs[0], outcome="genuine: train.py crashed: ValueError: no data (train.py:3)")
    shown = printed(replace(report, runs=(failed,)), 160)
    assert "crashed: ValueError: no data (train.py:3)" in shown
    assert "genuine: the old script on a TensorFlow of its time" in shown
    assert "restored:" not in shown, "no such run is there"
    written = page.html(replace(report, runs=(failed,)), ())
    assert '<span class="no">failed:</span> genuine: train.py crashed: ValueError: no data (train.py:3)' in written
    assert "Genuine: the old script on a TensorFlow of its time" in written


def test_every_verdict_has_an_exit_code() -> None:
    codes: dict[Verdict, int] = {
        "EQUIVALENT": 0, "SMOKE PASSED": 0, "DIFFERENT": 1, "DOES NOT RUN": 1, "COULD NOT RUN": 2, "INCONCLUSIVE": 3,
    }  # fmt: skip
    assert {verdict: Report(verdict, "", "").exit_code for verdict in codes} == codes


def test_the_terminal_table_names_each_pair_and_control(tmp_path: Path) -> None:
    shown = printed(build(tmp_path, Training(), migrated(Training())), 160)
    for word in ("genuine", "restored on Keras 3", "migrated on Keras 2", "learning rate x2"):
        assert word in shown


def test_a_terminal_of_80_columns_shows_everything(tmp_path: Path) -> None:
    report = build(tmp_path, Training(), replace(migrated(Training()), learning_rate=0.1), "DIFFERENT")
    long = "restored on Keras 3, remainder split evenly"
    runs = (*report.runs, replace(report.runs[0], role=long))
    pairs = (*report.pairs, replace(report.pairs[0], old=long, new="migrated on Keras 3, optimizers of its time"))
    shown = printed(replace(report, runs=runs, pairs=pairs), 80)
    lines = shown.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    titles = [pair.title for pair in report.pairs]
    for words in (long, *titles, *(control.mutation for control in report.controls)):
        assert sum(words in line for line in lines) >= 1, words
    assert f"{long} vs migrated on Keras 3, optimizers of its time" in " ".join(shown.split())


@pytest.mark.parametrize("kind", ["logical CPU", "logical GPU", "physical GPU"])
def test_only_devices_of_their_own_have_a_speed(tmp_path: Path, kind: str) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    devices = (f"{kind}: 0", f"{kind}: 1")
    report = replace(report, runs=tuple(replace(run, devices=devices) for run in report.runs))
    shown = printed(report, 120)
    for text in (shown, pull_request.render(report), page.html(report, ())):
        assert ("samples/s" in text) is (kind == "physical GPU")


@pytest.mark.usefixtures("without_pictures")
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


def test_a_comparison_as_written_is_in_every_form(tmp_path: Path, lab: Laboratory) -> None:
    noisy = replace(Training(), rounding=0.05)
    lab.behaviour = scripts(noisy, migrated(noisy))
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


BROWSERS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "chrome")


@pytest.mark.starts_processes
@pytest.mark.parametrize("kind", ["same", "different", "crashed", "as written"])
def test_a_real_browser_shows_the_page(tmp_path: Path, kind: str, lab: Laboratory) -> None:
    report = build(tmp_path, Training(), migrated(Training()))
    if kind == "as written":
        report = lab.verify_as_written(5)
    if kind == "different":
        line = Line("train.py", 12, "model.compile(" + "optimizer='adadelta', " * 12 + ")")
        report = build(tmp_path, Training(), replace(migrated(Training()), learning_rate=0.1), "DIFFERENT")
        report = replace(report, pairs=tuple(replace(pair, line=line) for pair in report.pairs))
    if kind == "crashed":
        died = Divergence("crash", "AttributeError: /a/rather/long/path" * 6 + "tensorflow.python.framework.errors" * 6)
        pairs = tuple(replace(pair, comparison=None, divergence=died) for pair in report.pairs)
        report = replace(report, verdict="DOES NOT RUN", reason=died.cause, pairs=pairs)
    in_a_browser(page.write(report, tmp_path / "report"), tmp_path)


def in_a_browser(html: Path, tmp_path: Path) -> None:
    """What the page looks like once loaded, on a telephone and on a desk, as the browser itself measures it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser on PATH: {', '.join(BROWSERS)}")
    text = html.read_text(encoding="utf-8")
    frames = "".join(
        f'<iframe style="width: {width}px; height: 1000px" srcdoc="{escape(text)}"></iframe>' for width in WIDTHS
    )
    outer = tmp_path / "frames.html"
    outer.write_text(f"<!doctype html><body>{frames}{ASK_THE_BROWSER}</body>", encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1700,2000", "--virtual-time-budget=5000"]
    done = subprocess.run([*command, "--dump-dom", outer.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="told">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    for width, told in zip(WIDTHS, json.loads(found[1]), strict=True):
        shown = [width > 720, width <= 720]
        assert told["pictures"] == shown * (text.count("<svg ") // 2), width
        assert told["requests"] == [], "the page asks for nothing"
        assert told["overflow"] <= 0, f"at {width} pixels something hangs over the right edge"
        assert told["scrolled"] == [], f"at {width} pixels a table has to be scrolled"


WIDTHS = (400, 800, 1600)
ASK_THE_BROWSER = """<pre id="told"></pre><script>
addEventListener("load", () => {
  const tell = frame => {
    const page = frame.contentDocument;
    const wider = one => one.scrollWidth > one.clientWidth;
    return {
      pictures: Array.from(page.querySelectorAll("figure svg"), one => one.getBoundingClientRect().width > 0),
      requests: frame.contentWindow.performance.getEntriesByType("resource").map(one => one.name),
      overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
      scrolled: Array.from(page.querySelectorAll(".wide")).filter(wider).map(one => one.innerText.slice(0, 200)),
    };
  };
  document.getElementById("told").textContent = JSON.stringify(Array.from(document.querySelectorAll("iframe"), tell));
});
</script>"""


@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_labels_beside_curves_do_not_touch(count: int) -> None:
    heights = [0.9 / count] * count
    for wanted in ([0.5] * count, [1.0] * count, [-3.0] * count, [i / count for i in reversed(range(count))]):
        placed = labels.spread(wanted, heights)
        ordered = sorted(placed)
        assert all(b - a >= heights[0] - 1e-9 for a, b in itertools.pairwise(ordered))
        assert ordered[0] - heights[0] / 2 >= -1e-9
        assert ordered[-1] + heights[0] / 2 <= 1 + 1e-9
        assert [placed[i] <= placed[j] for i, j in zip(range(count), range(1, count))] == [
            wanted[i] <= wanted[j] for i, j in zip(range(count), range(1, count))
        ]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("short words stay", "short words stay"),
        ("a loss of 0.00000000000000000000123", "a loss of 0.00000000000000000000123"),
        ("tensorflow.python.framework.<b>", "tensorflow.<wbr>python.<wbr>framework.<wbr>&lt;b&gt;"),
        ("sgd(learning_rate=0.5,momentum=9)", "sgd(<wbr>learning_<wbr>rate=<wbr>0.5,<wbr>momentum=<wbr>9)"),
    ],
)
def test_long_words_break_at_their_punctuation(text: str, html: str) -> None:
    assert page.breakable(text) == html


def test_how_it_was_measured_is_folded_away_and_whole(lab: Laboratory) -> None:
    report = lab.verify(version="1.2.3", command=("tfmigrate", "verify", "a b.py"))
    origin = report.provenance
    assert origin is not None
    text = page.html(report, ()).replace("<wbr>", "")
    section = text[text.index("How this was measured") :]
    assert "<details open" not in text, "nothing failed"
    for words in (
        "<dd>1.2.3</dd>",
        origin.date,
        "tfmigrate verify &#39;a b.py&#39;",
        *(f"SHA-256 {one}" for one in (*origin.old.values(), *origin.new.values())),
        "seconds 900",
        '<span class="yes">+strategy = tf.distribute.MirroredStrategy()</span>',
    ):
        assert words in section, words


def test_what_stands_beside_the_verdict_is_in_every_form(tmp_path: Path) -> None:
    report = replace(build(tmp_path, Training(), migrated(Training())), alone="the old one lacks jinja2")
    beside = report.headline.removeprefix(report.verdict).strip()
    assert beside
    shown = printed(report, 200)
    for text in (shown, pull_request.render(report), page.html(report, ())):
        assert beside in text.replace("&#39;", "'")
