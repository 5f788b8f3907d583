"""The pages without building them: links, tables, and what is generated from the package."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from pathlib import Path

import check_links
import pytest

import architecture
import chooser
import command_line
import docstrings
import eigenlens
import public_names
import recording
import results
import see_also
import speed

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for folder in ("", "methods/", "howto/", "course/") for path in DOCS.glob(f"{folder}*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
SCRIPTS = sorted((DOCS / "gallery").rglob("plot_*.py"))
CODE = re.compile(r"^```(?:\{run\}|\{run-shell\}|python|sh|text)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```\{run\}\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def links(text: str) -> set[str]:
    """Targets of Markdown links outside code."""
    plain = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r"\]\(([^)\s]+)\)", plain))


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_links_lead_somewhere(path):
    for link in links(path.read_text(encoding="utf-8")):
        target = link.split("#")[0]
        script = re.search(r"generated/gallery/(\w+/plot_\w+)\.rst$", target)
        if script:
            assert (DOCS / "gallery" / f"{script[1]}.py").exists(), link
        elif target and not re.match(r"^(https?:|mailto:)", link) and not re.match(r"(\.\./)*generated/", target):
            assert (path.parent / target).exists(), link


def test_trees_name_pages_that_exist_and_every_page_is_in_one():
    listed = {"index"}
    for path in PAGES:
        for tree in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            listed |= {line for line in tree.splitlines() if line and not line.startswith(":")}
    missing = {name for name in listed if not name.startswith("generated/") and not (DOCS / f"{name}.md").exists()}
    assert not missing
    assert {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES} <= listed


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_blocks_are_python(path):
    for block in BLOCK.findall(path.read_text(encoding="utf-8")):
        ast.parse("\n".join(line for line in block.split("\n") if not re.match(r"^:[\w-]+:", line)))


def test_references_that_name_nothing_fail_the_build():
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert re.search(r"^nitpicky = True", settings, flags=re.MULTILINE)
    assert "nitpick_ignore" not in settings


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_blocks_use_names_that_the_page_has_made(path):
    blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
    assert not docstrings.unbound(re.sub(r"^:[\w-]+:.*$", "", block, flags=re.MULTILINE) for block in blocks)


def test_a_name_that_is_imported_too_late_is_found():
    assert docstrings.unbound(["x = np.ones(3)", "import numpy as np"]) == {"np"}
    assert not docstrings.unbound(["import numpy as np", "f = lambda a: np.sum([a * b for b in range(3)])"])


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_no_line_of_code_has_to_be_scrolled(path):
    for block in CODE.findall(path.read_text(encoding="utf-8")):
        lines = [line for line in block.split("\n") if not re.match(r"^:[\w-]+:", line)]
        assert max(map(len, lines)) <= 94, max(lines, key=len)


@pytest.mark.parametrize("path", SCRIPTS, ids=named)
def test_scripts_of_the_gallery_are_a_title_a_short_text_and_lines_that_fit(path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, rule, _, *text = ast.get_docstring(tree, clean=False).strip("\n").split("\n")
    assert len(title) == len(rule)
    paragraph = " ".join(text).split("  ")[0]
    assert 200 < len(paragraph) < 500
    code = [line for line in source.split("\n")[tree.body[0].end_lineno :] if not line.startswith("#")]
    assert max(map(len, code)) <= 104, max(code, key=len)


# ---- measured -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.stem for path in results.FOLDER.glob("*.json")))
def test_tables_of_the_benchmarks_are_made_of_their_files(name):
    page = results.README.read_text(encoding="utf-8")
    assert results.between(page, name) == results.markdown(results.read(name))


def test_every_kind_of_work_has_a_contestant_of_ours_first():
    for run in speed.runs().values():
        for race in speed.races(run):
            assert race.ours > 0.0
            assert not race.peer.startswith(speed.FOR_SCALE)


def test_records_of_accuracy_come_from_tests_that_exist():
    records = recording.read()
    assert len({(record["what"], record["system"]) for record in records}) == len(records) > 100
    for test in {record["test"] for record in records}:
        file, *names = test.split("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert all(re.search(rf"^\s*(def|class) {name}\b", source, flags=re.MULTILINE) for name in names), test
        assert "accuracy" in source


def test_a_comparison_that_is_not_on_the_page_fails(accuracy):
    with pytest.raises(AssertionError, match="record-accuracy"):
        recording.Accuracy("here", {}, known=set()).close("new", 1.0, 1.0, system="R", rtol=1e-9)
    with pytest.raises(AssertionError):
        recording.Accuracy("here", {}, known=None).close("wrong", 1.1, 1.0, system="R", rtol=1e-9)
    kept = {}
    recording.Accuracy("here", kept, known=None).close("right", [1.0, -3.0], [1.0, -3.003], system="R", rtol=1e-2)
    record = kept["right", "R"]
    assert (record.values, record.ours, record.reference) == (2, -3.0, -3.003)
    assert record.reached == pytest.approx(0.003 / 3.003)


# ---- generated ----------------------------------------------------------------------------------------------


def test_every_public_name_is_in_the_reference():
    text = "\n".join(public_names.pages().values())
    modules = {name: getattr(eigenlens, name) for name in ("densities", "plot", "datasets", "textbook")}
    for name in set(eigenlens.__all__) - set(modules):
        assert re.search(rf":: eigenlens\.{name}$", text, flags=re.MULTILINE), name
    for module, found in modules.items():
        for name in found.__all__:
            assert name.isupper() or re.search(rf":: eigenlens\.{module}\.{name}$", text, flags=re.MULTILINE), name


def test_every_command_and_option_is_in_the_reference():
    from eigenlens.cli import COMMANDS

    text = command_line.pages()["command-line.md"]
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")][-len(COMMANDS) :] == list(COMMANDS)
    for option in ("--standardize", "--report", "--rotation", "--max-memory"):
        assert f"{option}" in text
    assert (
        command_line.wrapped("a " * 40 + "-o file --report page.html")
        == "a " * 40 + "-o file \\\n    --report page.html"
    )
    assert command_line.wrapped("short --option") == "short --option"


def test_the_drawing_of_the_layers_is_the_same_twice_and_leads_down():
    first, second = architecture.pages(), architecture.pages()
    assert first == second
    assert 'class="arc"' in first["architecture.svg"]
    assert "upward" not in first["architecture.svg"]


def test_leaves_of_the_chooser_are_pages():
    for page in re.findall(r'href="(methods/[\w-]+)\.html"', chooser.pages()["chooser.svg"]):
        assert (DOCS / f"{page}.md").exists(), page


def test_docstrings_become_text_without_accidental_markup():
    text = """One of `x_`, a*b and |c|; see mean_.

    Attributes:
        mean_, scale_: (d,) each. noise_: of
            the rest.
        model_: the frozen value.

    >>> 1 + 1
    2
    """
    first, *rest = text.split("\n")
    found = docstrings.to_rest("\n".join([first, *(line[4:] for line in rest)]))
    assert found[0] == r"One of ``x_``, a\*b and \|c\|; see mean\_."
    assert [line for line in found if line.startswith("``")] == ["``mean_, scale_``", "``noise_``", "``model_``"]
    assert "    the rest." in found
    assert found[found.index(">>> 1 + 1") + 1] == "2"


def test_examples_of_the_reference_import_what_they_use():
    made = docstrings.with_imports("Means.\n\n    >>> model = PCA(1).fit(np.eye(3))\n    >>> Full(np.eye(2))")
    imports = "numpy as np", "PCA", "Full"
    assert [line.split(" import ")[-1].split("import ")[-1] for line in made.split("\n")[2:5]] == list(imports)
    for name, module in docstrings.public_names().items():
        found = getattr(importlib.import_module(module), name)
        for each in (found, *(vars(found).values() if inspect.isclass(found) else ())):
            text = docstrings.with_imports(inspect.getdoc(each) or "")
            examples = doctest.DocTestParser().get_examples(text)
            assert not docstrings.unbound(example.source for example in examples), (name, text)


def test_the_reference_shows_what_an_estimator_is_called_with():
    pytest.importorskip("sphinx")
    for name in eigenlens.catalogue.MODELS:
        model = getattr(eigenlens, name)
        text, _ = docstrings.signature(None, "class", name, model, None, "(*arguments, **options)", "")
        assert "*arguments" not in text
        assert all(option in text for option in model._get_param_names()), name


def test_links_of_built_pages_are_checked(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">b</a><a href="c.html">c</a><script src="//x.org/s.js"></script>'
    )
    far, image = '<a href="https://example.org">far</a>', '<img src="a.html" class="run-image" alt="">'
    (tmp_path / "b.html").write_text(f'<p id="there">{far}<img src="none.png" alt="">{image}')
    (tmp_path / "s.css").write_text("@font-face { src: url('https://x.org/f.woff2') } body { background: url(a.png) }")
    assert check_links.problems(tmp_path) == [
        "a.html: loads //x.org/s.js",
        "a.html: no anchor b.html#here",
        "a.html: no file c.html",
        "b.html: no description of the image a.html",
        "b.html: no file none.png",
        "s.css: loads https://x.org/f.woff2",
    ]


def test_dark_figures_turn_neutral_colours_and_keep_the_others():
    figures = pytest.importorskip("figures")
    black, white, blue = ((0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0), (0.0, 0.447, 0.698, 0.5))
    assert min(figures.for_dark(black)[:3]) > 0.85
    assert max(figures.for_dark(white)[:3]) < 0.15
    turned = figures.for_dark(blue)
    assert turned[3] == 0.5
    assert turned[2] > turned[1] > turned[0]


def test_markers_and_lines_are_turned_once():
    """The colour of a marker is "auto", that of its line: whichever is set first, both are read before."""
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    (line,) = ax.plot([0, 1], [0, 1], "o-", color="black")
    dots = ax.scatter([0, 1], [0, 1], color="black")
    figures.darken(figure)
    for colour in (line.get_color(), line.get_markerfacecolor(), line.get_markeredgecolor(), dots.get_facecolor()[0]):
        assert min(colour[:3]) > 0.85
    plt.close(figure)


def test_white_heat_maps_turn_with_their_text_and_photographs_stay():
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    assert [figures.on_paper(plt.get_cmap(name)) for name in ("RdBu_r", "gray_r", "Blues", "gray", "viridis")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    figure, (map_, photograph) = plt.subplots(1, 2)
    for ax, cmap in ((map_, "RdBu_r"), (photograph, "gray")):
        ax.imshow([[-1.0, 0.0, 1.0]], cmap=cmap)
        ax.text(1, 0, "0", color="black")
    figures.darken(figure)
    middle, red = map_.images[0].get_cmap()([0.5, 1.0])
    assert max(middle[:3]) < 0.2
    assert red[0] > red[2] > 0.5
    assert min(map_.texts[0].get_color()[:3]) > 0.85
    assert photograph.images[0].get_cmap().name == "gray"
    assert photograph.texts[0].get_color() == "black"
    plt.close(figure)


def test_text_on_a_turned_map_is_dark_on_its_bright_cells():
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2)
    for ax, origin in zip(panels, ("upper", "lower"), strict=True):
        ax.imshow([[0.0, 1.0], [0.1, -1.0]], cmap="RdBu_r", vmin=-1, vmax=1, origin=origin)
        for row in range(2):
            for column in range(2):
                ax.text(column, row, "0", color="black")
    figures.darken(figure)
    for ax in panels:
        assert [text.get_color()[0] > 0.85 for text in ax.texts] == [True, False, True, False]
        assert max(ax.texts[1].get_color()[:3]) < 0.15
    plt.close(figure)


def test_frames_without_edges_get_none():
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    frame = ax.text(0, 0, "0", bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8}).get_bbox_patch()
    figures.darken(figure)
    assert frame.get_edgecolor()[3] == 0.0
    assert max(frame.get_facecolor()[:3]) < 0.15
    plt.close(figure)


def test_contours_of_given_colours_turn():
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    lines = ax.contour([[0.0, 1.0], [1.0, 2.0]], levels=[0.5, 1.5], colors="black")
    figures.darken(figure)
    figure.draw_without_rendering()
    assert lines.get_edgecolor()[:, :3].min() > 0.85
    plt.close(figure)


def test_arrows_of_annotations_turn():
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    black = ax.annotate("", (1, 1), (0, 0), arrowprops={"arrowstyle": "-|>", "color": "black"}).arrow_patch
    orange = ax.annotate("", (1, 0), (0, 0), arrowprops={"arrowstyle": "-|>", "color": "#D55E00"}).arrow_patch
    figures.darken(figure)
    assert min(*black.get_edgecolor()[:3], *black.get_facecolor()[:3]) > 0.85
    assert orange.get_edgecolor() == pytest.approx((0xD5 / 255, 0x5E / 255, 0.0, 1.0), abs=0.01)
    plt.close(figure)


def test_panels_within_axes_let_the_page_through():
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    panel = ax.inset_axes((0.1, 0.1, 0.8, 0.8))
    figures.darken(figure)
    assert panel.patch.get_facecolor()[3] == 0.0
    plt.close(figure)


def test_text_over_colours_that_let_the_page_through_turns_with_the_page():
    figures = pytest.importorskip("figures")
    import matplotlib.pyplot as plt

    figure, (clear, opaque) = plt.subplots(1, 2)
    for ax, alpha in ((clear, 0.3), (opaque, 1.0)):
        ax.imshow([[[0.0, 0.45, 0.7, alpha]]])
        ax.text(0, 0, "0", color="black")
    clear.text(0, 0, "0", color="white")  # over a cell that hardly lets the page through
    figures.darken(figure)
    assert min(clear.texts[0].get_color()[:3]) > 0.85
    assert clear.texts[1].get_color() == "white"
    assert opaque.texts[0].get_color() == "black"
    plt.close(figure)


def test_figures_of_the_gallery_stand_above_the_code():
    pytest.importorskip("matplotlib")
    import gallery_images

    picture = "\n.. image:: /a.png\n   :alt: a\n   :class: only-light\n"
    page = f"Words.\n\n.. GENERATED FROM\n\n.. code-block:: Python\n\n    import numpy\n\n{picture}\nMore.\n"
    made = gallery_images.images_first(page)
    assert made.index("image") < made.index("GENERATED") < made.index("More")
    assert sorted(made) == sorted(page)
    assert gallery_images.images_first(made) == made


def test_the_longest_scripts_are_named(tmp_path):
    times = pytest.importorskip("times")
    for name, seconds in (("plot_a", 1.4), ("plot_b", 8.2)):
        (tmp_path / f"{name}.cost.json").write_text(f'{{"time": {seconds}, "memory": 0.0}}')
    said = times.line("scripts", times.of_gallery(tmp_path))
    assert said == "scripts: 2 in 10 s (longest: plot_b 8, plot_a 1)"


def test_excerpts_of_the_search_are_the_text_of_each_section():
    core = pytest.importorskip("docutils.core")
    import excerpts

    text = "One\n===\n\nCats & dogs.\n\nTwo\n---\n\nBirds.\n"
    made = excerpts.page(core.publish_doctree(text, settings_overrides={"doctitle_xform": False}))
    assert (
        made == '<div role="main"><section id="one">Cats &amp; dogs.</section> <section id="two">Birds.</section></div>'
    )


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml")
    import mathml

    made = mathml.to_mathml(r"\arg\max_v \frac{v^\top S v}{\lVert v \rVert^2}, \quad f''^2", "block")
    assert made.startswith("<math data-latex=")
    assert "<munder>" in made
    assert "<mfrac>" in made
    assert "\\" not in made.split(">", 1)[1]
    room = mathml.to_mathml(r"n \log n, \log_2 n, \log (n)", "inline")
    assert room.count("<mspace") == 2  # about the first alone
    after_brackets = mathml.to_mathml(r"(1 - a) \ln (1 - b)", "inline")
    assert after_brackets.index("&#x00029;") < after_brackets.index("<mspace") < after_brackets.index("<mi>ln")
    assert "<mi>var</mi><mspace" in mathml.to_mathml(r"\operatorname{var} \hat p(x)", "inline")
    assert "<mo>&#x0223C;</mo>" in mathml.to_mathml(r"z \sim N(0, 1)", "inline")
    assert "<mi>diag</mi><mo" in mathml.to_mathml(r"\operatorname{diag}(v)", "inline")  # as TeX sets it: no room
    assert "<mtr>" in mathml.to_mathml(r"a &= b \\ c &= d", "block")
    tall = mathml.to_mathml(r"\Bigl( \sum_i a_i \Bigr) + \ln \lvert C \rvert", "block")
    assert tall.count('stretchy="true"') == 4  # two brackets, as tall as the sum between them, and two bars
    assert "<munder><mo>&#x02211;</mo>" in tall
    assert mathml.parts(r"a = \{b\}, \qquad c = \left( d \qquad e \right)") == [
        r"a = \{b\},",
        r"c = \left( d \qquad e \right)",
    ]
    assert mathml.parts(r"\text{a \qquad b}") == [r"\text{a \qquad b}"]
    for unread in (r"\nosuchcommand x", r"\text{a\_b}", r"a & b"):
        with pytest.raises(Exception, match=r"unread|nosuch"):
            mathml.to_mathml(unread, "inline")


def test_no_line_begins_with_the_punctuation_after_a_formula():
    nodes = pytest.importorskip("docutils.nodes")
    utils = pytest.importorskip("docutils.utils")
    import mathml

    page = utils.new_document("page")
    page += nodes.paragraph(
        "", "", nodes.Text("Let "), nodes.math("", "x"), nodes.Text("), then "), nodes.math("", "y")
    )
    mathml.keep_together(None, page, "page")
    (kept,) = page.findall(nodes.inline)
    assert kept.astext() == "x),"
    assert page.astext() == "Let x), then y"


def test_the_page_of_tensors_runs():
    """PyTorch is not among what builds the pages, so its blocks are not run there."""
    pytest.importorskip("torch")
    page = (DOCS / "howto" / "tensors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) > 2
    exec("\n".join(blocks), {"__name__": "__main__"})


def test_every_script_of_the_gallery_is_linked_from_a_method_or_a_lecture():
    found = see_also.links_back(DOCS)
    assert {f"generated/gallery/{path.parent.name}/{path.stem}" for path in SCRIPTS} <= set(found)
    assert {f"generated/reference/{name}" for name in eigenlens.catalogue.MODELS} <= set(found)
    assert "/generated/gallery/kernel/plot_01_circles" in found["generated/reference/KernelPCA"]
    assert "/generated/gallery/densities/plot_06_bandwidth" in found["generated/reference/plot"]


def test_links_back_stand_below_code_and_below_titles():
    code = ".. code-block:: Python\n\n    import numpy\n"
    top = f".. DO NOT EDIT.\n.. MADE.\n\n:ref:`Go to the end <sphx_glr_download_a>`\n\nA\n=\n\n{code}"
    downloads = ".. _sphx_glr_download_a:\n\n.. only:: html\n"
    for time in ("", ".. rst-class:: sphx-glr-timing\n\n   3 s\n\n"):  # there is none for less than a second
        made = see_also.with_links(f"{top}\n\n{time}{downloads}", ["/methods/pca", "/course/pca"])
        line = "\n\n.. rst-class:: see-also\n\nSee also: :doc:`/methods/pca`, :doc:`/course/pca`.\n\n"
        assert made == f"{top}{line}{time}{downloads}"
    page = see_also.with_links("PCA\n===\n\n.. autoclass:: eigenlens.PCA\n", ["/methods/pca"])
    assert page.startswith("PCA\n===\n\n.. rst-class:: see-also\n\nSee also: :doc:`/methods/pca`.\n\n.. autoclass")


def test_times_in_the_readme_are_those_of_the_last_benchmarks():
    known = {race.work: race for run in speed.runs().values() for race in speed.races(run)}
    rows = re.findall(r"^\| (.+) \| ([\d.]+) s \| (.+) ([\d.]+) s \|$", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert len(rows) > 5
    for work, ours, peer, theirs in rows:
        (race,) = [race for name, race in known.items() if work.endswith(name)]
        assert (float(ours), peer, float(theirs)) == (race.ours, race.peer, race.theirs), work
