"""What the text of a path is put together of."""

from __future__ import annotations

import libcst as cst
import pytest

from tfmigrate.plan.change.text_pieces import Fixed, pieces_of
from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("'a-{epoch:02d}.h5'", ["'a-*.h5'"]),
        ("a + b", ["a", "b"]),
        ("a / b", ["a", "'/'", "b"]),
        ("a - b", None),
        ("'a' f'{b}'", ["'a'", "f'{b}'"]),
        ("f'{a}/{{b}}{c:d}{d!r}.h5'", ["a", "'/*'", "'*'", "'*'", "'.h5'"]),
        ("os.path.join(a, *b, 'c')", ["a", "'/'", "'*'", "'/'", "'c'"]),
        ("Path(a, 'c')", ["a", "'/'", "'c'"]),
        ("str(a)", ["a"]),
        ("a(b)", None),
        ("'%s/%d%%-%s.h5' % (a, b, c)", ["a", "'/'", "'*'", "'%-'", "c", "'.h5'"]),
        ("'%s' % a", ["a"]),
        ("'%5s' % a", ["'*'"]),
        ("'{x}%s' % a", ["'*'", "a"]),
        ("'%(a)s' % b", ["'%(a)s'"]),
        ("'%*d' % (a, b)", ["'%*d'"]),
        ("'%s/%s.h5' % a", ["'*/*.h5'"]),
        ("a % b", ["a"]),
        ("'{}/{}.h5'.format(a, b)", ["a", "'/'", "b", "'.h5'"]),
        ("'{1}{a}{0}'.format(b, c, a=a)", ["c", "a", "b"]),
        ("'{:d}{!r}{}'.format(a, b)", ["'*'", "'*'", "'*'"]),
        ("'{}/x'.format(*a)", ["'*'", "'/x'"]),
        ("'{}{'.format(a)", ["'*{'"]),
        ("a.format(b)", ["a"]),
    ],
)
def test_the_pieces_of_a_text(text: str, pieces: list[str] | None) -> None:
    module = Module("train.py", f"import os\nfrom pathlib import Path\n\n{text}\n")
    (node,) = (statement.value for statement in module.all_of(cst.Expr))
    found = pieces_of(node, interpret(Program([module])).modules[module])
    shown = [repr(one.shape) if isinstance(one, Fixed) else module.code(one) for one in found or ()]
    assert (shown if found is not None else None) == pieces
