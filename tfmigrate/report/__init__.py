"""One Result, many forms; each module has `render(result) -> str`."""
