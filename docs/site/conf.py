# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sphinx's settings for the pages of docs/; scripts/docs runs it on a copy of them."""

import re
from pathlib import Path

header = (Path(__file__).parent / "include/fusec/fusec.h").read_text()
version = release = ".".join(re.findall(r"^#define FUSEC_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)", header, re.M))

project = "fusec"
author = copyright = "The fusec authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["docs/site/*"]
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
# GitHub gives "a:b" and "a's" the same anchors as Sphinx does with this.
myst_heading_slug_func = "conf_slug.slug"
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]  # the language is close to Python, not Python
html_theme = "furo"
html_title = f"fusec {release}"
html_copy_source = False
html_show_sourcelink = False
