# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pack.py VERSION LIBRARY LICENSE FOLDER: the wheel fusec-llvm, a package that holds one shared object."""

import base64
import hashlib
import os
import sys
import zipfile

version, library, license, folder = sys.argv[1:]
TAG = "py3-none-manylinux_2_28_x86_64"
INIT = '"""The part of LLVM that fusec compiles with; fusec looks for it beside itself."""\n'
METADATA = f"""Metadata-Version: 2.4
Name: fusec-llvm
Version: {version}
Summary: The part of LLVM that fusec needs to compile for the CPU
License-Expression: Apache-2.0 WITH LLVM-exception
License-File: LICENSE
Requires-Python: >=3.8
"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: fusec\nRoot-Is-Purelib: false\nTag: {TAG}\n"

info = f"fusec_llvm-{version}.dist-info"
files = {"fusec_llvm/__init__.py": INIT.encode(), f"fusec_llvm/{os.path.basename(library)}": open(library, "rb").read(),
         f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": WHEEL.encode(),
         f"{info}/licenses/LICENSE": open(license, "rb").read()}
record = ""
path = os.path.join(folder, f"fusec_llvm-{version}-{TAG}.whl")
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
    for name, data in files.items():
        item = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
        item.external_attr = (0o755 if ".so" in name else 0o644) << 16
        item.compress_type = zipfile.ZIP_DEFLATED
        z.writestr(item, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    z.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB")
