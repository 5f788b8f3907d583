"""How the pages are built: `make docs`. Everything is computed here; nothing is loaded from elsewhere."""

from __future__ import annotations

import hashlib
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent.resolve()
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent / "src")]

import gallery_images

with (HERE.parent / "pyproject.toml").open("rb") as file:
    release = tomllib.load(file)["project"]["version"]

# Pages run code: when the package or an extension changes, all of them are read again.
SOURCES = sorted([*(HERE / "extensions").glob("*.py"), *(HERE.parent / "src").rglob("*.py")])
code_digest = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()

project = "Eigenlens"
author = "The Eigenlens developers"
copyright = "The Eigenlens developers"
version = release

extensions = [
    "sphinx.ext.autodoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "mathml",
    "run_blocks",
    "live_reports",
    "docstrings",
    "plot_examples",
    "generated",
    "gallery_images",
    "excerpts",
    "see_also",
    "times",
]
exclude_patterns = [
    "build",
    "gallery",
    "**/sg_execution_times*",
    "sg_execution_times*",
    "generated/*.md",
    "generated/*.rst",
    "generated/**/*.ipynb",
    "generated/**/*.py",
    "generated/**/*.zip",
]
nitpicky = True  # without exceptions: a reference that names nothing fails the build
suppress_warnings = ["config.cache", "myst.header"]  # included parts begin with a heading of the second level
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}

myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

smartquotes = False  # quotes belong to code: missing="em"
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "Eigenlens"
html_static_path = ["_static"]
html_css_files = ["eigenlens.css"]
html_show_sourcelink = False
html_copy_source = False
html_search_scorer = str(HERE / "extensions" / "scorer.js")
html_theme_options = {
    "logo": {"text": "Eigenlens", "image_light": "_static/logo.svg", "image_dark": "_static/logo-dark.svg"},
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_favicon = "_static/logo.svg"
html_sidebars = {"index": [], "getting-started": [], "chooser": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
autodoc_class_signature = "mixed"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"/plot_",
    "image_scrapers": (gallery_images.scrape,),
    "reset_modules": (gallery_images.reset,),
    "reset_modules_order": "before",
    "min_reported_time": 1,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "subsection_order": ["gallery/pca", "gallery/kernel", "gallery/latent", "gallery/densities", "gallery/bayes", "*"],
    "within_subsection_order": "FileNameSortKey",
    "nested_sections": True,
    "copyfile_regex": r".*\.rst",
    "thumbnail_size": (480, 320),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib[text, axes]",
    "plot_gallery": "True",
    "parallel": False,
}
