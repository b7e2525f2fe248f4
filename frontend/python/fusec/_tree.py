# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested tuples, lists and dicts of leaves, taken apart and put together again."""


def flatten(x, leaves):
    """Appends the leaves of x; gives its structure, which can be compared and hashed."""
    t = type(x)
    if t is tuple:
        return ("t", *[flatten(k, leaves) for k in x])
    if t is list:
        return ("l", *[flatten(k, leaves) for k in x])
    if t is dict:
        try:
            keys = sorted(x)
        except TypeError:
            keys = list(x)
        return ("d", tuple(keys), *[flatten(x[k], leaves) for k in keys])
    if isinstance(x, tuple) and hasattr(t, "_fields"):
        return ("n", t, *[flatten(k, leaves) for k in x])
    leaves.append(x)
    return "x"


def unflatten(structure, leaves):
    """The inverse; `leaves` is an iterator."""
    if structure == "x":
        return next(leaves)
    kind = structure[0]
    if kind == "t":
        return tuple([unflatten(s, leaves) for s in structure[1:]])
    if kind == "l":
        return [unflatten(s, leaves) for s in structure[1:]]
    if kind == "n":
        return structure[1](*[unflatten(s, leaves) for s in structure[2:]])
    return {k: unflatten(s, leaves) for k, s in zip(structure[1], structure[2:])}
