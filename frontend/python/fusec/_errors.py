# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions: one base class, and for each kind of failure a class that is also a built-in one.

`e.slug` is the short name of the library (`fusec help SLUG` explains it), `e.help` one sentence.
"""

__all__ = [
    "AxisError", "CompilerError", "DeviceError", "DtypeError", "Error", "GradientError", "IndexRangeError",
    "InternalError", "NotYetError", "OutOfMemoryError", "PerformanceWarning", "ShapeError",
    "TraceError",
]


class Error(Exception):
    """Everything that fusec raises by itself. `slug` names the kind, `help` says what to do."""

    slug = "invalid"

    def __init__(self, message="", slug=None):
        super().__init__(message)
        if slug is not None:
            self.slug = slug

    @property
    def help(self):
        return _HELP.get(self.slug, "The message says what was expected and what was found.")

    def __reduce__(self):
        return type(self), (self.args[0] if self.args else "", self.slug)


class ValueProblem(Error, ValueError):
    """An argument that can't be taken."""


class ShapeError(Error, ValueError):
    """Shapes that do not go together."""


class DtypeError(Error, TypeError):
    """A dtype that an operation does not take."""


class AxisError(Error, ValueError, IndexError):
    """An axis that does not exist."""


class IndexRangeError(Error, IndexError):
    """An index or a slice outside its array."""


class RangeError(Error, OverflowError):
    """A number that does not fit its dtype."""


class UnknownNameError(Error, NameError):
    """A name that nothing defines."""


class SyntaxProblem(Error, ValueError):
    """An expression that can't be read."""


class NotYetError(Error, NotImplementedError):
    """What this version does not do."""


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""


class FileError(Error, OSError):
    """A file could not be read or written."""

    def __reduce__(self):
        return Error.__reduce__(self)


class DeviceError(Error, RuntimeError):
    """No usable device, or a driver that fails."""


class InternalError(Error, RuntimeError):
    """A fault in fusec or in the compiler behind it."""


CompilerError = InternalError


class TraceError(Error, TypeError):
    """A function that can't be compiled because its course depends on elements."""

    slug = "trace"


class CancelledError(Error, RuntimeError):
    """The computation was stopped."""


class GradientError(Error, TypeError):
    """Something that has no derivative."""


class ValueNeeded(TraceError):
    """Inside a trace: the elements of a traced array are asked for."""


class IndexNeeded(ValueNeeded):
    """A whole number that is an argument is used as an index, an axis or a length."""


class SizeNeeded(Exception):
    """Inside a trace: the length of an axis decides something, so it can't stay a name."""


class PerformanceWarning(UserWarning):
    """Something is missing that would make fusec faster."""


_CLASSES = {
    "shape-mismatch": ShapeError, "input-shape": ShapeError, "result-shape": ShapeError,
    "empty-reduction": ValueProblem, "dtype-mismatch": DtypeError, "input-dtype": DtypeError,
    "result-dtype": DtypeError, "not-bool": DtypeError, "bad-axis": AxisError,
    "bad-slice": IndexRangeError, "slice-range": IndexRangeError,
    "index-out-of-range": IndexRangeError, "literal-range": RangeError,
    "unknown-name": UnknownNameError, "syntax": SyntaxProblem, "not-yet": NotYetError,
    "out-of-memory": OutOfMemoryError, "io": FileError, "no-gpu": DeviceError, "device": DeviceError,
    "no-llvm": DeviceError, "no-code": DeviceError, "call-failed": DeviceError, "nvrtc-setup": DeviceError, "driver": DeviceError,
    "llvm": InternalError, "nvrtc": InternalError, "compiler": InternalError,
    "internal": InternalError, "cancelled": CancelledError, "no-gradient": GradientError, "trace": TraceError, "invalid": ValueProblem, "limit": ValueProblem,
}

_HELP = {
    "shape-mismatch": "Axes align from the right; equal lengths or a length of 1 go together. "
                      "Reshape, or add axes with x[:, None].",
    "dtype-mismatch": "Convert with x.astype(dtype).",
    "result-dtype": "Give out= an array of the dtype of the result, or convert it with astype.",
    "result-shape": "Give out= an array of the shape of the result.",
    "bad-axis": "Axes count from 0, negative ones from the end.",
    "literal-range": "The number does not fit the dtype of the array: convert the array first.",
    "empty-reduction": "There is no smallest or largest of no elements: test x.size first.",
    "trace": "Write fx.where(condition, a, b) for an `if` on elements, or name the argument in "
             "static_argnames if it is a setting.",
    "not-yet": "docs/python.md lists what goes through NumPy and what is missing.",
    "no-llvm": "Install LLVM 15 or newer (apt install libllvm19), or set FUSEC_LLVM_PATH.",
}


def make(slug, message):
    """The exception for a status of the library, called by the extension."""
    tail = f" [{slug}]"
    text = message[: -len(tail)] if message.endswith(tail) else message
    return _CLASSES.get(slug, Error)(text, slug)
