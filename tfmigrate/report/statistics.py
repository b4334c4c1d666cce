"""How many findings there are of each code, by what became of them: `--statistics`, most first."""

from __future__ import annotations

import json
from collections import Counter

from tfmigrate import rules
from tfmigrate.report.text import ended, failed, outcome
from tfmigrate.result import Result


def render(result: Result, as_json: bool = False, with_counts: bool = True) -> str:
    """A line for each code and outcome: number, code, name of the rule, `[outcome]`; as JSON a list of objects."""
    counter = Counter((finding.code, outcome(finding)) for _, finding in result.findings)
    ordered = sorted(counter.items(), key=lambda row: (-row[1], row[0]))
    known = rules.by_code()
    names = {code: known[code].name if code in known else "" for code, _ in counter}
    if as_json:
        rows = [{"code": code, "name": names[code], "outcome": what, "count": count} for (code, what), count in ordered]
        return json.dumps(rows, indent=2) + "\n"
    digits = max((len(str(count)) for count in counter.values()), default=0)
    width = max(map(len, names.values()), default=0)
    lines = [failed(file, file.error) for file in result.files if file.error]
    lines += [f"{count:>{digits}}  {code}  {names[code]:<{width}}  [{what}]" for (code, what), count in ordered]
    return ended(lines, result, with_counts)
