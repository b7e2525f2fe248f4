"""What the compiler makes of a function, in words."""


class Explanation:
    """`print` it, or look at its parts: `kernels` is how many there are."""

    def __init__(self, program):
        self._program = program

    @property
    def kernels(self):
        return self._program.kernels

    @property
    def text(self):
        return f"{self.kernels} kernel{'' if self.kernels == 1 else 's'}"

    def __repr__(self):
        return self.text
