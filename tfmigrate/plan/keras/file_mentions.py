"""Texts that name a file that has another name now: messages, patterns, and names with which nothing is done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import chain

import libcst as cst

from tfmigrate.file_names import TELLING, example_of, in_code, longest_part, old_ending, shape_of_last, with_ending
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.change.paths import ending_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras import name_patterns
from tfmigrate.plan.keras.saved_files import new_ending
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes

_READ = "; Keras 3 lays the weights out differently, so code that reads them with h5py must change"


@dataclass(frozen=True, eq=False)
class Mentions:
    """The texts of a module."""

    facts: Facts
    scopes: Scopes
    renamed: Mapping[str, str]
    """The names that change, and the new ending of each."""
    named: Mapping[str, str]
    """The same of files whose names are put together of several pieces, as they are called in full."""
    seen: set[cst.BaseExpression]
    """The texts that are changed already."""

    def changes(self) -> Iterator[CallChange]:
        yield from self._told()
        yield from self._read_by_expressions()
        yield from self._found_by_patterns()
        yield from self._named()

    def _told(self) -> Iterator[CallChange]:
        """A text that is printed or logged gets the new name."""
        calls = filter(_talks, self.facts.module.calls)
        for mention in (text for call in calls for arg in call.args for text in _parts_of(arg.value)):
            old = mention.value if isinstance(mention, cst.SimpleString) else self.facts.module.code(mention)
            new = _with_new_names(old, self.renamed)
            if new != old and mention not in self.seen:
                self.seen.add(mention)
                message = "the text mentions a file that Keras now writes under another name"
                yield CallChange(codes.WEIGHT_FILES, mention, message, Replace(mention, new))

    def _read_by_expressions(self) -> Iterator[CallChange]:
        """A regular expression that reads a name finds it under the new name too."""
        module = self.facts.module
        texts: Iterable[cst.SimpleString | cst.FormattedString] = chain(
            module.all_of(cst.SimpleString), module.all_of(cst.FormattedString)
        )
        for pattern in texts if self.renamed else ():
            ending = next((self.renamed[name] for name in self.renamed if name_patterns.reads(pattern, name)), None)
            if ending is not None and pattern not in self.seen:
                self.seen.add(pattern)
                message = (
                    "the regular expression parses the name of a file that Keras now writes with the ending "
                    f"{ending}: it matches both names"
                )
                new = name_patterns.with_ending(module.code(pattern), ending)
                yield CallChange(codes.WEIGHT_FILES, pattern, message, Replace(pattern, new))

    def _found_by_patterns(self) -> Iterator[CallChange]:
        """A pattern that finds a file by the ending of its name gets the new ending."""
        for node, text in self._unchanged():
            endings = sorted({self.renamed[name] for name in self.renamed if _is_pattern_of(text, name)})
            if endings:
                self.seen.add(node)
                message, old = (
                    "the pattern finds files that Keras now writes under another name",
                    old_ending(text) or "",
                )
                if len(endings) == 1:
                    edit = Replace(node, in_code(node.value, old, endings[0]))
                    yield CallChange(codes.WEIGHT_FILES, node, f"{message}: the ending {old} changes", edit)
                else:
                    told = f"{message}, with the endings {' and '.join(endings)}: write the ones that are meant"
                    yield CallChange(codes.WEIGHT_FILES, node, told, action="warn")

    def _named(self) -> Iterator[CallChange]:
        """Any other text that is such a name is reported: Keras writes the file under another name now."""
        opened = {
            ending_of(call.args[0].value, self.facts, self.scopes)
            for call in self.facts.module.calls
            if call.args and self.facts.called(call) == "h5py.File"
        }
        known = {**self.named, **self.renamed}
        alone = {old: new for name, new in known.items() if (old := old_ending(name)) and not new.endswith(old)}
        for node, text in self._unchanged():
            ending = new_ending(text, self.renamed) or _of_last_word(text, known) or alone.get(text)
            if ending is not None:
                written = f"the file that Keras writes under this name now ends in {ending}"
                message = f"{written}: change it here if that file is meant"
                yield CallChange(codes.WEIGHT_FILES, node, message + (_READ if node in opened else ""), action="warn")

    def _unchanged(self) -> Iterator[tuple[cst.SimpleString, str]]:
        """The texts that nothing has changed so far."""
        for node in self.facts.module.all_of(cst.SimpleString):
            text = text_of(node)
            if text is not None and node not in self.seen:
                yield node, text


_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})


def _talks(call: cst.Call) -> bool:
    """Whether a call only shows a text to people: `print(...)`, `logger.info(...)`."""
    func = call.func
    if isinstance(func, cst.Attribute):
        return func.attr.value in _LOGS
    return isinstance(func, cst.Name) and func.value == "print"


def _parts_of(text: cst.BaseExpression) -> Iterator[cst.SimpleString | cst.FormattedString]:
    """The literals of a text that is put together: `"saved " + "a.h5"`, `"%s" % "a.h5"`, `"...".format("a.h5")`."""
    if isinstance(text, cst.SimpleString | cst.FormattedString):
        yield text
    elif isinstance(text, cst.BinaryOperation | cst.ConcatenatedString):
        yield from (*_parts_of(text.left), *_parts_of(text.right))
    elif isinstance(text, cst.Call) and isinstance(text.func, cst.Attribute) and text.func.attr.value == "format":
        for part in (text.func.value, *(arg.value for arg in text.args)):
            yield from _parts_of(part)


def _with_new_names(text: str, renamed: Mapping[str, str]) -> str:
    """A text with the new names of the files that it mentions."""
    for name in sorted(renamed, key=len, reverse=True):
        if old_ending(name) not in ("", name):
            new = with_ending(name, renamed[name]).replace("\\", r"\\")
            text = re.sub(rf"{_BEGINS}{re.escape(name)}(?![\w/-])", new, text)
    return text


_BEGINS = r"(?:(?<![\w./\\-])|(?<=%s)|(?<=%s/)|(?<=\})|(?<=\}/))"
"""Where the name of a file may begin: not within a word or another path, but after a gap, which may be a folder."""


def _of_last_word(text: str, renamed: Mapping[str, str]) -> str | None:
    """The ending of a file of the same name in another folder, or in a folder that the path takes from elsewhere."""
    word = shape_of_last(text)
    if not old_ending(word) or len(longest_part(word.rpartition(".")[0])) < TELLING:
        return None
    return next((ending for old, ending in renamed.items() if shape_of_last(old) == word), None)


def _is_pattern_of(text: str, name: str) -> bool:
    """Whether a text finds the files of a name: by `*`, as the shell does, or as a regular expression."""
    ending = old_ending(name)
    if not ending or not text.endswith(ending) or not re.search(r"[*?\[\\]", text):
        return False
    example, pattern = example_of(name).rpartition("/")[2], text.rpartition("/")[2]
    if fnmatch(example, pattern):
        return True
    try:
        return re.match(text, example) is not None
    except re.error:
        return False
