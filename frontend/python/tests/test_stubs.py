# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type stubs have all names, and programs that use them pass mypy --strict."""

import importlib.util
import os
import subprocess
import sys

import pytest

SOURCE = os.environ.get("FUSEC_SOURCE", "")
PROGRAM = """
import fusec as fx

x: fx.Array = fx.asarray([1.0, 2.0], device="cpu")
y = fx.exp(fx.sin(x) * 2 + 1).sum(axis=0, keepdims=True)
z: list[float] = (y @ y).tolist()

@fx.jit
def softmax(x: fx.Array) -> fx.Array:
    e = fx.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def use() -> str:
    with fx.use_device("cpu"):
        w = fx.arctan2(fx.zeros((3,)), fx.linspace(0, fx.pi, 3))
    try:
        softmax(w)
    except fx.ShapeError as error:
        print(error.slug, error.help)
    return str(fx.fft.fft(w).real.to_device("cpu").device) + str(softmax.explain(x).kernels)
"""


@pytest.mark.skipif(not SOURCE, reason="the sources are not here")
def test_names_are_those_of_the_package():
    r = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "python-stubs"), "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    import fusec

    r = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(program)],
                       capture_output=True, text=True, env={**os.environ, "MYPYPATH": os.path.dirname(os.path.dirname(fusec.__file__))})
    assert r.returncode == 0, r.stdout + r.stderr
