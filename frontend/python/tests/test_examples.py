# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs in examples/python run."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("FUSEC_SOURCE", pathlib.Path(__file__).parents[3]))
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path):
    r = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout, r.stderr


def test_there_are_some():
    assert len(EXAMPLES) >= 3


def test_tutorial_notebook_shows_what_it_says():
    r = subprocess.run([sys.executable, str(ROOT / "scripts" / "notebook"), "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
