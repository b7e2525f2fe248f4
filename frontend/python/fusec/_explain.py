# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler makes of a function or a value, in words and as data."""


class Explanation:
    """What is computed, and how. `print` it, or look at its parts: `kernels`, a list of dicts (name,
    what it makes, schedule, bytes_read, bytes_written, bytes_floor, ops, why, ...); `bytes`, all that is
    moved; `floor`, the least that has to be; `reasons` for several kernels; `source`, the code."""

    def __init__(self, explain, source=None):
        import json  # which most programs never need

        self.text, self.data = explain(False), json.loads(explain(True))
        self.kernels = self.data["kernels"]
        self._source = source

    @property
    def bytes(self):
        return sum(k["bytes_read"] + k["bytes_written"] for k in self.kernels)

    @property
    def floor(self):
        return sum(k["bytes_floor"] for k in self.kernels)

    @property
    def reasons(self):
        return [k["why"] for k in self.kernels if k["why"]]

    @property
    def source(self):
        """The code of the kernels: LLVM IR, or the interpreter's listing."""
        if self._source is None:
            raise TypeError("the code belongs to compiled functions: use fx.jit and f.source(...)")
        return "\n".join(self._source(i) for i in range(len(self.kernels)))

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        columns = ("name", "makes", "schedule", "bytes_read", "bytes_written", "ops", "why")
        head = "".join(f"<th>{c}</th>" for c in columns)
        rows = "".join("<tr>" + "".join(f"<td>{escape(k[c])}</td>" for c in columns) + "</tr>"
                       for k in self.kernels)
        return f"<table><tr>{head}</tr>{rows}</table>"


class Computed(Explanation):
    """Of a value that is there: no kernels."""

    def __init__(self, text):
        self.text, self.data, self.kernels, self._source = text, {"kernels": []}, [], None

    def _repr_html_(self):
        return f"<pre>{escape(self.text)}</pre>"


def escape(x):
    return str(x).replace("&", "&amp;").replace("<", "&lt;")
