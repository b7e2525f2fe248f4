# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The anchor of a heading, as GitHub makes it: the pages' links are written for that."""

import re


def slug(title):
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
