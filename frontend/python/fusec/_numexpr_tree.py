# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions as numexpr's trees, with the kind of each part: what PyTables reads of conditions to find
columns that have an index (astType, astKind, value, children)."""

from . import numexpr as _ne

_NAMES = {ours: name for name, ours in _ne.OPERATORS.items()}
_AST_TYPES = {"name": "variable", "constant": "constant"}


class TypedNode(_ne.ExpressionNode):
    """A part of an expression whose kind is known."""

    __slots__ = ("astKind",)

    def __init__(self, node, children, kind):
        super().__init__(node.kind, _NAMES.get(node.value, node.value) if node.kind == "call" else node.value, children,
                         node.keywords)
        self.astKind = kind

    @property
    def astType(self):
        return _AST_TYPES.get(self.kind, "op")


def _typed(n, values):
    """(the node with kinds, what it is of operands without elements)"""
    parts = [_typed(c, values) for c in n.children]
    v = _ne.part_value(n, [v for _, v in parts], values)
    if v.array is None and n.kind != "constant":
        n, parts = _ne.ConstantNode(v.constant), []
    return TypedNode(n, tuple(c for c, _ in parts), v.kind), v


def stringToExpression(s, types, context, sanitize=True):
    """The tree of an expression; `types` says of each name bool, int, numpy.int64, float, numpy.double, ..."""
    tree = _ne.read(s, sanitize)
    return _typed(tree, {name: _ne.without_elements(name, types.get(name, _ne.double)) for name in tree.names(set())})[0]


def expressionToAST(ex):
    return ex


def typeCompileAst(ast):
    """The tree itself: operations that its kinds lack were found when it was made."""
    return ast


def getContext(kwargs, _frame_depth=1):
    """Takes numexpr's settings out of keyword arguments; they change nothing here."""
    context = {"optimization": kwargs.pop("optimization", "aggressive"), "truediv": kwargs.pop("truediv", False)}
    if kwargs:
        raise ValueError(f"Unknown keyword argument '{next(iter(kwargs))}'")
    return context
