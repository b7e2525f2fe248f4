# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type stubs have all names, and programs that use them pass mypy --strict and, where it is installed, pyright (strict)."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import fusec

SOURCE = os.environ.get("FUSEC_SOURCE", "")
PROGRAM = pathlib.Path(__file__).with_name("typed_program.py")
PACKAGE = pathlib.Path(fusec.__file__).parent


@pytest.mark.skipif(not SOURCE, reason="the sources are not here")
def test_names_are_those_of_the_package():
    r = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "python-stubs"), "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


def test_no_function_has_two_stubs():
    names = [re.findall(r"^def (\w+)", (PACKAGE / f).read_text(), re.M) for f in ("_ops.pyi", "_names.pyi")]
    assert set(names[0]) & set(names[1]) == set()
    assert all(hasattr(fusec, n) for part in names for n in part)


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.read_text().partition("# ---- with NumPy")[0])
    r = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(program)],
                       capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert r.returncode == 0, r.stdout + r.stderr


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.read_text())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"include": ["program.py"], "extraPaths": [str(PACKAGE.parent)],
                                                             "typeCheckingMode": "strict"}))
    r = subprocess.run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)], capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr
