"""Every name of pyplot is there, and draws nothing."""


class Nothing:
    def __getattr__(self, name):
        return self

    def __call__(self, *arguments, **keywords):
        return self

    def __getitem__(self, index):
        return self

    def __iter__(self):  # `figure, axes = pyplot.subplots()`
        return iter((self, self))


def __getattr__(name):
    return Nothing()
