# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import builtins
from collections.abc import Callable, Sequence
from typing import Any, overload

from ._names import *
from ._ops import *
from . import dask as dask, fft as fft, linalg as linalg, nn as nn, numexpr as numexpr, pieces as pieces, random as random, torch as torch
from ._types import Array as Array, DType as DType, Operand as Operand

__version__: str
__array_api_version__: str

bool: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
float16: DType
bfloat16: DType
float32: DType
float64: DType
complex64: DType
complex128: DType

class Explanation:
    text: str
    kernels: list[dict[str, Any]]
    bytes: int
    floor: int
    reasons: list[str]
    source: str

class Jit:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def explain(self, *args: Any, **kwargs: Any) -> Explanation: ...
    def source(self, *args: Any, **kwargs: Any) -> str: ...
    def cache_clear(self) -> None: ...

@overload
def jit(f: Callable[..., Any], *, static_argnames: str | tuple[str, ...] = ...,
        static_argnums: int | tuple[int, ...] = ..., device: Any = ...,
        mode: str | tuple[str, ...] | None = ...) -> Jit: ...
@overload
def jit(f: None = ..., *, static_argnames: str | tuple[str, ...] = ...,
        static_argnums: int | tuple[int, ...] = ..., device: Any = ...,
        mode: str | tuple[str, ...] | None = ...) -> Callable[[Callable[..., Any]], Jit]: ...
class extern:
    name: str
    def __init__(self, name: str, dtypes: Any, result: Any, *, cuda: str | None = ..., pointer: Any = ...,
                 arrays: builtins.bool = ..., slots: int = ...) -> None: ...
    def __call__(self, *operands: Any) -> Array: ...
class elementwise:
    text: str
    results: int
    def __init__(self, text: str, params: str | Sequence[str] | None = ..., *, results: int = ...) -> None: ...
    def __call__(self, *operands: Any) -> Any: ...
class reduction:
    def __init__(self, map: str, join: str, finish: str | None = ..., *, start: float | None = ...,
                 params: str | Sequence[str] = ...) -> None: ...
    def __call__(self, *operands: Any, axis: Any = ..., keepdims: bool = ...) -> Array: ...

@overload
def where(condition: Operand, /) -> tuple[Array, ...]: ...
@overload
def where(condition: Operand, x: Operand, y: Operand, /) -> Array: ...
def eval(*arrays: Any) -> Any: ...
def explain(x: Operand) -> Explanation: ...
def evaluate(expression: str, local_dict: dict[str, Any] | None = ..., global_dict: dict[str, Any] | None = ...,
             out: Any = ...) -> Any: ...
def asarray(x: Any, /, dtype: Any = ..., *, device: Any = ..., copy: Any = ..., order: Any = ...) -> Array: ...
def array(x: Any, dtype: Any = ..., *, copy: Any = ..., device: Any = ..., order: Any = ..., ndmin: int = ...) -> Array: ...
def borrow(x: Any, /) -> Array: ...

class Config:
    device: str | None
    threads: int | None
    cache_dir: str | None
    mode: str | Sequence[str] | None
    tiers: str | None
    def __call__(self, **settings: Any) -> Config: ...
    def settings(self) -> dict[str, Any]: ...

config: Config

class use_device:
    def __init__(self, device: Any) -> None: ...
    def __enter__(self) -> use_device: ...
    def __exit__(self, *exception: Any) -> None: ...

pi: float
e: float
inf: float
nan: float
newaxis: None
