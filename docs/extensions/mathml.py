"""Mathematics without a script and without a network: LaTeX becomes MathML when the page is built.

Browsers draw MathML themselves; a math font comes with the pages (see _static/fonts). What latex2mathml cannot read, or
reads into something that still holds a backslash, fails the build.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

SHORT = {
    r"\R": r"\mathbb{R}",
    r"\E": r"\mathbb{E}",
    r"\T": r"^{\mathsf{T}}",
    r"\tr": r"\operatorname{tr}",
    r"\diag": r"\operatorname{diag}",
    r"\arg\min": r"\operatorname*{argmin}",
    r"\arg\max": r"\operatorname*{argmax}",
    r"\argmin": r"\operatorname*{argmin}",
    r"\argmax": r"\operatorname*{argmax}",
    r"\Var": r"\operatorname{Var}",
    r"\Cov": r"\operatorname{Cov}",
    r"\norm": r"\mathcal{N}",
}
"""Commands of ours, written out before they are read."""

PRIMED = re.compile(r"([A-Za-z]|\\[A-Za-z]+)('+)\^")
"""f''^2, which TeX reads as one superscript and latex2mathml not at all."""

PAIRED = re.compile(r"\\[bB]igg?([lr])(?![A-Za-z])")
"""Large brackets in pairs, which browsers draw as tall as what they enclose."""

BIG = re.compile(r"\\[bB]igg?m?(?![A-Za-z])")
"""Other sizes of brackets, which browsers do not take alike on both sides."""

PUNCTUATION = re.compile(r"[.,;:!?)\]]+")

LEFT, RIGHT = (re.compile(rf"\\(?:{side}|[bB]igg?{side[0]})(?![a-z])") for side in ("left", "right"))

QUAD = re.compile(r"\\qquad(?![A-Za-z])")

SIDES = {"l": r"\left", "r": r"\right"}

BARS = re.compile(r"(?<!\\left)(?<!\\right)\\([lr])vert(?![A-Za-z])")
"""Bars of absolute values and determinants, which have no room inside, as others have."""

PRIME = re.compile(r"<msup>(<mi[^>]*>[^<]*</mi>)<m[io]>(&#x0203[2-4];)</m[io]></msup>")
"""Primes are raised by themselves, and too small as superscripts."""

BAR = re.compile(r"<mo>(&#x02016;|&#x02225;|&#x0007C;|\u2016|\u2225|\|)</mo>")
"""Bars of norms, of absolute values, and of "given"."""

FUNCTION = re.compile(
    r"(</m(?:i|n|sub|sup|subsup|row|frac)>|&#x00029;</mo>)?(?<!<msub>)(?<!<msup>)"
    r"<(mi|mo)>(?!max|min|sup|inf)([a-z]{2,})</\2>(?=(<m(?!o[ >]))?)"
)
"""The name of a function, after a factor or a bracket, or before an argument without brackets: there browsers leave no
room about an identifier, and before brackets too much about an operator."""

THIN = '<mspace width="0.167em"></mspace>'

LIMITS = re.compile(
    r"<msub><mo([^>]*)>((?:arg\u2009)?(?:max|min)|sup|inf|&#x02211;|&#x0220F;)</mo>(<mi>[^<]*</mi>|<mrow>.*?</mrow>)</msub>"
)
"""What stands below an operator in a displayed formula, also within brackets."""


def to_mathml(latex: str, display: str) -> str:
    """The <math> element of a formula; display is "inline" or "block"."""
    from latex2mathml.converter import convert

    for name, meaning in SHORT.items():
        latex = re.sub(re.escape(name) + r"(?![A-Za-z])", lambda _, meaning=meaning: meaning, latex)
    readable = PAIRED.sub(lambda found: SIDES[found[1]], PRIMED.sub(r"{\1\2}^", latex.strip()))
    readable = BARS.sub(lambda found: f"{SIDES[found[1]]}|", BIG.sub("", readable))
    made = convert(aligned(readable) if display == "block" else readable, display=display)
    made = made.replace(">argmax<", ">arg\u2009max<").replace(">argmin<", ">arg\u2009min<")
    if display == "block":
        made = LIMITS.sub(r"<munder><mo\1>\2</mo>\3</munder>", made)
    made = PRIME.sub(r'<mrow>\1<mo lspace="0" rspace="0">\2</mo></mrow>', made)
    made = FUNCTION.sub(_with_room, made)
    # A bar grows with its neighbours only where \left and \right ask for it, and then it says so itself.
    made = BAR.sub(r'<mo stretchy="false">\1</mo>', made)
    made = made.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")  # a relation, which has room about it
    made = made.replace('"negativethinmathspace"', '"-0.167em"')  # names of widths are gone from browsers
    if "\\" in made or ">&<" in made:
        raise ValueError(f"latex2mathml leaves something unread in {latex!r}")
    # The original for those who copy it, and for readers of the page's source.
    source = html.escape(latex.strip(), quote=True)
    return made.replace("<math ", f'<math data-latex="{source}" ', 1)


def _with_room(found: re.Match[str]) -> str:
    before, _, name, argument = found.groups()
    return f"{before + THIN if before else ''}<mi>{name}</mi>{THIN if argument else ''}"


def aligned(latex: str) -> str:
    """Sphinx lets lines be aligned by & and parted by \\\\ without an environment."""
    bare = r"\begin{" not in latex and (r"\\" in latex or "&" in latex)
    return rf"\begin{{align*}}{latex}\end{{align*}}" if bare else latex.replace("{aligned}", "{align*}")


def parts(latex: str) -> list[str]:
    r"""A displayed formula in the parts that \qquad separates; a narrow page draws them one below the other."""
    if r"\begin" in latex or r"\\" in latex:
        return [latex]
    found = [""]
    for piece in QUAD.split(latex):
        found[-1] += rf"\qquad{piece}" if found[-1] else piece
        if _is_balanced(found[-1]):
            found.append("")
    return [part.strip() for part in found if part.strip()]


def _is_balanced(latex: str) -> bool:
    return latex.count("{") == latex.count("}") and len(LEFT.findall(latex)) == len(RIGHT.findall(latex))


def converted(node: Any, display: str) -> str:
    try:
        pieces = parts(node.astext()) if display == "block" else [node.astext()]
        return "".join(to_mathml(piece, display) for piece in pieces)
    except Exception as error:
        logger.warning("no MathML of %r: %s", node.astext(), error, location=node)
        return f"<code>{html.escape(node.astext())}</code>"


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(converted(node, "inline"))
    raise nodes.SkipNode


def keep_together(app: Any, doctree: nodes.document, docname: str) -> None:
    """Put a formula and the punctuation after it into one piece, so that no line begins with the comma."""
    for node in list(doctree.findall(nodes.math)):
        after = node.next_node(descend=False, siblings=True)
        mark = PUNCTUATION.match(after.astext()) if isinstance(after, nodes.Text) else None
        if mark:
            kept = nodes.inline("", "", node.deepcopy(), nodes.Text(mark[0]), classes=["kept"])
            node.parent.replace(after, nodes.Text(after.astext()[mark.end() :]))
            node.parent.replace(node, kept)


def visit_block(self: Any, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    anchor = f' id="{html.escape(node["ids"][0])}"' if node.get("ids") else ""
    self.body.append(f'<div class="math-block"{anchor}>{converted(node, "block")}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("doctree-resolved", keep_together)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
