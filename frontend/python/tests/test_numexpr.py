# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""numexpr's own tests, from its wheel, run against fusec.numexpr; and what they do not say."""

import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fusec.numexpr as ne

# Each that fails, and why.
EXPECTED = {
    "strings": [
        *(f"{c}::test_str_contains_{n}" for c in ("test_numexpr", "test_numexpr2") for n in (
            "basic0", "basic1", "basic2", "basic3", "basic4", "basic5", "listproduct", "long_needle",
            "withemptystr1", "withemptystr2")),
        *(f"test_strings::test_{n}" for n in (
            "add_numeric_array", "add_string_array", "compare_array", "compare_constant",
            "compare_copy", "compare_prefix", "compare_variable", "empty_string1", "empty_string2",
            "null_chars"))],
    "strings, among others": ["test_evaluate::test_sanitize"],
    "instructions of numexpr's machine": [
        "test_numexpr::test_r0_reuse", "test_numexpr2::test_r0_reuse", "test_numexpr::test_reductions",
        "test_numexpr2::test_reductions", "test_evaluate::test_disassemble"],
}

ALL = os.environ.get("FUSEC_TESTS") == "all"  # scripts/campaign python
PART = 16  # else every 16th of them
SOME = f"def pytest_collection_modifyitems(items):\n    items[:] = items[::{PART}]\n"

RUN = """
import sys
import fusec.numexpr
fusec.numexpr.install()
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.skipif(importlib.util.find_spec("numexpr") is None, reason="numexpr is not installed")
def test_its_own_suite(tmp_path):
    spec = importlib.util.find_spec("numexpr")
    suite = os.path.join(os.path.dirname(spec.origin), "tests", "test_numexpr.py")
    own = tmp_path / "test_numexpr.py"
    own.write_text(open(suite).read())
    if not ALL:
        (tmp_path / "conftest.py").write_text(SOME)
    shim = tmp_path / "path" / "numexpr"  # for the processes that its tests start
    shim.mkdir(parents=True)
    (shim / "__init__.py").write_text("import fusec.numexpr\nfusec.numexpr.install()\n")
    path = os.pathsep.join([str(shim.parent), *filter(None, sys.path)])
    r = subprocess.run([sys.executable, "-c", RUN, "-q", "--no-header", "--tb=no", "-p",
                        "no:cacheprovider", "-W", "ignore", "-rf", str(own)], cwd=tmp_path,
                       env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    failed = set(re.findall(r"^FAILED test_numexpr\.py::(\S+)", r.stdout, re.M))
    expected = {name for names in EXPECTED.values() for name in names}
    counts = {k: int(n) for n, k in re.findall(r"(\d+) (passed|failed|skipped)", r.stdout)}
    print(counts)
    assert failed <= expected, sorted(failed - expected)
    assert counts["passed"] >= (6000 if ALL else 6000 // PART), r.stdout[-2000:]


def test_dtypes_are_numexprs():
    a32, f32 = np.arange(3, dtype="i4"), np.ones(3, "f4")
    for text, dtype in (("a32 + 1", "i4"), ("a32 * 2.0", "f8"), ("f32 * 2.0", "f8"), ("f32 + a32", "f4"),
                        ("sin(a32)", "f8"), ("sin(f32)", "f4"), ("a32 > 1", "?"), ("a32 / 2", "f8"),
                        ("where(a32 > 1, a32, f32)", "f4"), ("2**40", "i8"), ("sum(f32 > 0)", "i8")):
        assert ne.evaluate(text).dtype == dtype, text


def test_names_and_errors():
    a = np.arange(4.0)
    np.testing.assert_array_equal(ne.evaluate("a * k", {"a": a}, {"k": 3}), a * 3)
    with pytest.raises(KeyError):
        ne.evaluate("a * missing")
    for bad, error in (("a if a else a", TypeError), ("a < a < a", TypeError), ("a.sum()", ValueError),
                       ("[a]", TypeError), ("a[0]", ValueError), ("f(a)", TypeError), ("a @ a", TypeError),
                       ("__import__('os')", ValueError), ("a +", SyntaxError), ("(" * 1000, Exception),
                       ("a" + "+a" * 5000, ValueError), ("sin(a, a)", TypeError), ("~a", NotImplementedError),
                       ("1j * a > a", NotImplementedError), ("a == 'x'", NotImplementedError)):
        with pytest.raises(error):
            ne.evaluate(bad)
    out = np.zeros(4, np.int32)
    with pytest.raises(TypeError):
        ne.evaluate("a * 2", out=out)
    assert ne.evaluate("a * 2", out=out, casting="unsafe") is out and out.tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError):
        ne.evaluate("a * 2", out=np.zeros(3))
    big = np.zeros((2, 4))
    np.testing.assert_array_equal(ne.evaluate("a + 1", out=big), [a + 1, a + 1])


def test_trees_that_pytables_reads():
    """Conditions as tables/conditions.py takes them apart. With this module PyTables' tests of expressions pass but for one of
    strings."""
    types = {"a": np.double, "b": np.int32, "n": np.int64, "t": bool, "f": float}
    tree = lambda text: ne.necompiler.stringToExpression(text, types, {})
    t = tree("(a > -10) & ~t")
    assert (t.astType, t.value, t.astKind) == ("op", "and", "bool")
    more, never = t.children
    assert (more.value, more.children[0].astType, more.children[0].value) == ("gt", "variable", "a")
    assert (more.children[1].astType, more.children[1].value) == ("constant", -10)
    assert (never.value, never.children[0].astKind) == ("invert", "bool")
    for text, kind in (("b + 1", "int"), ("b + n", "long"), ("f * b", "float"), ("sin(b)", "double"), ("where(t, f, a)", "double")):
        assert tree(text).astKind == kind
        assert ne.necompiler.typeCompileAst(ne.necompiler.expressionToAST(tree(text))).astKind == kind
    a, b = np.array([-11.0, 1, 2]), np.array([False, True, False])
    assert ne.necompiler.NumExpr(t, [("t", bool), ("a", np.double)])(b, a).tolist() == [False, False, True]
    class Rows(list):  # an array of a file is a sequence to NumPy
        pass

    assert ne.NumExpr("a * 2", [("a", np.double)])(Rows([1.5])).tolist() == [3]
    for bad, error in (("t > 1j", NotImplementedError), ("s == a", NotImplementedError), ("a &", SyntaxError)):
        with pytest.raises(error):
            ne.necompiler.stringToExpression(bad, {**types, "s": str}, {})
    settings = {"optimization": "none"}
    assert ne.necompiler.getContext(settings)["optimization"] == "none" and not settings
    with pytest.raises(ValueError):
        ne.necompiler.getContext({"speed": 3})


def test_evaluate_by_numpys_rules():
    import fusec as fx

    x, y = np.linspace(0, 1, 5, dtype="f4"), np.arange(5)
    np.testing.assert_allclose(fx.evaluate("sin(x*2) + y"), np.sin(x * 2) + y, rtol=1e-6)
    assert fx.evaluate("x*2.0").dtype == np.float32
    np.testing.assert_array_equal(fx.evaluate("x[1:] - x[:-1]"), x[1:] - x[:-1])
    np.testing.assert_allclose(fx.evaluate("sum(x*y, axis=0) + mean(y)"), (x * y).sum() + y.mean())
    with pytest.raises(NameError):
        fx.evaluate("x + nothing")
    for bad in ("open('x')", "x.__class__", "(lambda: 1)()", "[k for k in x]", "x.tolist()"):
        with pytest.raises((ValueError, TypeError, NameError)):
            fx.evaluate(bad)
