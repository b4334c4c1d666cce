"""The verdict as JUnit XML: a test case for the verdict, and for each pair of runs, quantity and control."""

from __future__ import annotations

from xml.etree import ElementTree

from tfmigrate.junit import document
from tfmigrate.verify.judge.report import Report, Verdict


def render(report: Report) -> str:
    """A pair that decides and differs, and a control that was not detected, are failures; a verdict that says nothing
    about the training is an error."""
    verdict = _case("verdict", report.title)
    conclude(verdict, report.verdict, report.exit_code, f"{report.headline}: {report.reason}")
    cases = [verdict]
    for pair in report.pairs:
        case = _case("predictions" if report.predicts else "training", pair.title)
        cause = pair.divergence.cause if pair.divergence else "the runs could not be compared"
        if not pair.equivalent and pair.decides:
            ElementTree.SubElement(case, "failure", type="DIFFERENT", message=cause)
        elif not pair.equivalent:
            ElementTree.SubElement(case, "system-out").text = f"does not decide: {cause}"
        cases.append(case)
    for outcome in report.written.outcomes if report.written else ():
        case = _case("as written", outcome.name)
        words = f"mean difference {outcome.mean:.3g}, margin {outcome.margin:.3g}"
        if outcome.answer != "equivalent":
            ElementTree.SubElement(case, "failure", type=outcome.answer, message=words)
        cases.append(case)
    for control in report.controls:
        case = _case("control", control.mutation)
        if control.detected:
            ElementTree.SubElement(case, "system-out").text = f"detected: {control.found}"
        else:
            ElementTree.SubElement(case, "failure", type="MISSED", message=control.found)
        cases.append(case)
    return document(report.title, cases, time=f"{sum(run.seconds for run in report.runs):.3f}")


def conclude(case: ElementTree.Element, verdict: Verdict, code: int, words: str) -> None:
    """Gives a test case the verdict that has this exit code."""
    if code == 0:
        ElementTree.SubElement(case, "system-out").text = words
    else:
        ElementTree.SubElement(case, "failure" if code == 1 else "error", type=verdict, message=words)


def _case(kind: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=f"tfmigrate.verify.{kind}", name=name)
