# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from collections.abc import Callable
from typing import Any

def apply(f: Callable[..., Any], *args: Any, axis: int = ...) -> Any: ...
