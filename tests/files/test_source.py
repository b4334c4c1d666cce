from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmigrate.files.source import Source, SourceError, decode, encode, explain_syntax_error


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"x = 1\n", "x = 1\n", "utf-8"),
        ("é = 1\n".encode(), "é = 1\n", "utf-8"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8-sig"),
        (b"# -*- coding: latin-1 -*-\n# \xe9\n", "# -*- coding: latin-1 -*-\n# é\n", "iso-8859-1"),
        (b"#!/usr/bin/python\r\n# vim: set fileencoding=cp1252 :\r\n# \x80", None, "cp1252"),
        (b"# coding: latin-1\rx = '\xe9'\r", "# coding: latin-1\rx = 'é'\r", "iso-8859-1"),
        (b"a\r\nb\rc\nd", "a\r\nb\rc\nd", "utf-8"),
        (b"", "", "utf-8"),
    ],
)
def test_bytes_to_text_and_back(data: bytes, text: str | None, encoding: str) -> None:
    source = decode(data)
    assert source.encoding == encoding
    if text is not None:
        assert source.text == text
    assert encode(source, source.text) == data


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_every_utf8_file_comes_back_byte_for_byte(text: str) -> None:
    data = b"x = 1\nx = 2\n" + text.encode()  # No cookie can stand on the third line.
    source = decode(data)
    assert encode(source, source.text) == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = 1\ny = 2\n# caf\xe9\n", "line 3: byte 0xe9 is not utf-8"),
        (b"# caf\xe9\nx = 1\n", "line 1: byte 0xe9 is not utf-8"),
        (b"# coding: klingon\n", "line 1: unknown encoding: klingon"),
        (b"\xef\xbb\xbf# coding: latin-1\n", "line 1: "),
        ("x = 1\n".encode("utf-16"), "null bytes"),
        (b"x\0\n", "null bytes"),
        (b"# coding: utf-7\nx = '+AGE-'\n", "would change"),
    ],
)
def test_bytes_that_are_no_source_are_told_with_line_and_way_out(data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message) as told:
        decode(data)
    assert "save" in str(told.value)


def test_text_that_the_encoding_cannot_hold() -> None:
    with pytest.raises(SourceError, match="cannot be written in ascii"):
        encode(Source("", "ascii"), "é")


@pytest.mark.parametrize(
    "line",
    [
        'print "hello"',
        "    print x, y",
        'print ("%d") % 3',
        "except ValueError, e:",
        "raise ValueError, 'no'",
        "exec 'x = 1'",
        "if a <> b: pass",
        "x = `y`",
        "os.chmod(path, 0755)",
        "x = 10L",
        "s = ur'abc'",
    ],
)
def test_python_2_is_told_by_name(line: str) -> None:
    message = explain_syntax_error(f"import os\n{line}\n", 2, "invalid syntax")
    assert "line 2: looks like Python 2" in message
    assert "2to3" in message


def test_python_2_is_seen_above_the_line_where_the_parser_stopped() -> None:
    assert "line 1: looks like Python 2" in explain_syntax_error("print 'a'\nx = (\n", 2, "eof")


@pytest.mark.parametrize(
    "text",
    [
        "x = (1,\n",
        "def f(:\n",
        "print('a' 1)\n",
        "x = 0\ny = [\n",
        "print (a) if\n",
        "# print 'x'\nx = = 1\n",
        '"""Of `x`."""\ny = = 1\n',
        "s = '''\nprint it\n'''\nx = = 1\n",
    ],
)
def test_other_syntax_errors_are_not_called_python_2(text: str) -> None:
    line = text.count("\n")
    message = explain_syntax_error(text, line, "invalid syntax")
    assert message.startswith(f"line {line}: syntax error: invalid syntax")
    assert "Python 2" not in message
