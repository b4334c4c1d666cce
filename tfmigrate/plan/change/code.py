"""Text that is to be written, put together without touching the user's code in it."""

from __future__ import annotations

import libcst as cst


def block(head: str, body: str, indent: str) -> str:
    """`head:` over statements that stand deeper; the lines of a string in them stay where they are."""
    config = cst.PartialParserConfig(default_indent=indent)
    compound = cst.parse_statement(f"{head}:\n{indent}pass\n", config)
    statements = cst.parse_module(body, config).body
    indented = compound.with_changes(body=cst.IndentedBlock(statements))
    return cst.Module([], default_indent=indent).code_for_node(indented).rstrip("\n")
