"""The homogeneity analysis in words, for the terminal and for notebooks."""

from __future__ import annotations

from kohort.auditor.evidence import Evidence
from kohort.auditor.homogeneity import Alpha, Homogeneity, Together
from kohort.report.release_charts import percent

MOST_ALPHAS = 12  # lines a column
MOST_LETTERS = 60  # of a value on a line


def lines(evidence: Evidence) -> list[str]:
    """A block for each sensitive column, and one for all at once."""
    text_lines: list[str] = []
    for found in evidence.homogeneity:
        text_lines += [
            "",
            f"{found.column}: {counted(found.values, 'value')}",
            "  alpha   records  value (alpha: its largest share of a class)",
        ]
        text_lines += [f"  {share(one.alpha):<6} {one.rows:>8,}  {label(one)}" for one in found.alphas[:MOST_ALPHAS]]
        text_lines += [f"  {rest}"] if (rest := left_out_alphas(found)) else []
        text_lines += [f"  {what}: {text}" for what, text in {**extremes(found), **alike(found)}.items()]
    if evidence.homogeneity_all is not None:
        text_lines += ["", f"{', '.join(evidence.homogeneity_all.columns)}: all at once"]
        text_lines += [f"  {what}: {text}" for what, text in alike(evidence.homogeneity_all).items()]
    return text_lines


def extremes(found: Homogeneity) -> dict[str, str]:
    """The figures by which the paper judges the alphas: they should be small, and equal."""
    return {"alpha": f"max {share(found.max)}, min {share(found.min)}, spread {share(found.spread)}"}


def alike(found: Homogeneity | Together) -> dict[str, str]:
    """How many classes are alike, beside what a guess without the class reaches, and beside what was to be expected."""
    se = found.se
    those = f"{found.alike_classes:,} of {counted(se.classes, 'class')}, {percent(found.alike_share)} of the records"
    given = f"n = {se.rows:,}, k = {se.k:,}, K = {' x '.join(f'{values:,}' for values in se.values)}"
    refined = f"{number(se.unequal)} with the sizes of the classes, {number(se.predicted)} with the frequencies of the values too"
    return {
        "all alike": f"{those}; a guess without the class is right for {percent(found.base_rate)}",
        "SE": f"{number(se.formula)} classes alike to expect by the formula, for {given}",
        "SE here": f"{refined}; {se.observed:,} observed",
    }


def label(one: Alpha) -> str:
    """A value on one line, without what a terminal would take for a command."""
    if one.value.visibility == "pooled":
        return f"{counted(one.values, 'value')} {one.value.label}"
    text = "".join(sign if sign.isprintable() else "?" for sign in one.value.label)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def left_out_alphas(found: Homogeneity) -> str:
    """What is said of the alphas for which there is no line."""
    rest = found.alphas[MOST_ALPHAS:]
    if not rest:
        return ""
    pooled = any(one.value.visibility == "pooled" for one in rest)  # of these only the largest alpha is listed
    least = found.min if pooled else rest[-1].alpha
    return f"... and {sum(one.values for one in rest):,} more between {share(least)} and {share(rest[0].alpha)}"


def share(part: float) -> str:
    """Four decimals; what is not nothing or everything does not look like it.

    >>> share(0), share(0.00001), share(0.25), share(0.99999), share(1)
    ('0.0000', '<.0001', '0.2500', '>.9999', '1.0000')
    """
    return "<.0001" if 0 < part < 0.00005 else ">.9999" if 0.99995 <= part < 1 else f"{part:.4f}"


def number(figure: float) -> str:
    """Few digits, no exponent where none is needed.

    >>> number(15000.0), number(148.148), number(0.111111), number(6e-6), number(0)
    ('15,000', '148.1', '0.1111', '6e-06', '0')
    """
    return f"{figure:,.0f}" if figure >= 1000 else f"{figure:.4g}" if figure >= 1e-4 else f"{figure:.2g}"


def counted(count: int, what: str) -> str:
    plural = what if count == 1 else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{count:,} {plural}"
