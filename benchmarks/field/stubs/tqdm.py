"""A progress bar that shows nothing."""


class tqdm:
    def __init__(self, iterable=(), *arguments, **keywords):
        self.iterable = iterable

    def __iter__(self):
        return iter(self.iterable)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return None

    def update(self, *arguments, **keywords):
        pass

    set_description = set_postfix = close = write = update


trange = lambda *arguments, **keywords: tqdm(range(*arguments))
tqdm_notebook = tqdm
