"""How Sphinx makes a site of these pages; `make docs` calls it."""

import importlib.resources
import inspect
import re
import sys
from pathlib import Path

from sphinx.util.inspect import stringify_signature

import admmbench

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "admmbench"
author = "The admmbench developers"
copyright = author
version = release = admmbench.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinxcontrib.autoprogram",
    "built_in",
    "combinations",
    "configuration_keys",
    "kept_reports",
    "leaderboard",
    "paper_figures",
]
exclude_patterns = ["_build", "jupyter_execute", "reports/*"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]

# Pages are Markdown that a code host shows as well: `$x$`, blocks of `math`, links to headings.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Notebooks run when the site is built, in a folder of their own; a cell that fails is a warning. What they make is in
# jupyter_execute/ beside this file.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_execution_timeout = 600

# Equations without a network: one file, which needs no fonts.
_MATHJAX = importlib.resources.files("sphinx-mathjax-offline") / "static/mathjax/tex-svg.js"
html_static_path = ["_static", str(_MATHJAX)]
mathjax_path = "tex-svg.js"

autosummary_generate = True
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
autodoc_preserve_defaults = True
default_role = "py:obj"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "admmbench"
html_css_files = ["site.css"]
html_js_files = ["sort.js"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "default",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}

# Files of the project's root are pages too.
_PAGES = {"README": "index", "CHANGELOG": "changelog", "CONTRIBUTING": "contributing"}
_LINKS = [
    (re.compile(rf"\]\((?:\.\./)*{name}\.md"), f"](/{page}.md") for name, page in _PAGES.items()
]
_LINKS += [(re.compile(r"\]\(docs/"), "](/"), (re.compile(r"\]\(CITATION"), "](../CITATION")]


def _link_pages(text):
    """Links between files of the repository, as links between pages of the site."""
    for pattern, replacement in _LINKS:
        text = pattern.sub(replacement, text)
    return text


def _read_source(app, name, content):
    content[0] = _link_pages(content[0])


def _read_included(app, path, parent, content):
    content[0] = _link_pages(content[0])


def _without_types(app, what, name, obj, options, signature, returned):
    """Parameters of a class alone: their types are ranges too, and make no signature that can be read."""
    if what == "class" and signature:
        plain = inspect.signature(obj).replace(return_annotation=inspect.Signature.empty)
        return stringify_signature(plain, show_annotation=False), None
    return None


def setup(app):
    app.connect("source-read", _read_source)
    app.connect("include-read", _read_included)
    app.connect("autodoc-process-signature", _without_types)
