"""The homogeneity analysis in plain sentences, for the terminal and for notebooks.

Each block answers first: how many groups reveal the sensitive value. Then come the figures, then what to do.
"""

from __future__ import annotations

import shlex

from kohort.auditor.evidence import Evidence
from kohort.auditor.homogeneity import Alpha, Homogeneity, JointHomogeneity
from kohort.wording import counted, percent

MOST_ALPHAS = 12  # values listed for each column
MOST_LETTERS = 60  # length of a value on a line
TOO_CERTAIN = 0.5  # share of a value in a group from which a limit is suggested


def lines(evidence: Evidence) -> list[str]:
    """Return a block of lines for each sensitive column, and one for all of them together."""
    text_lines: list[str] = []
    for found in evidence.homogeneity:
        first, *rest = answer(found)
        text_lines += ["", first, *(f"  {sentence}" for sentence in rest)]
        text_lines += [f"  {shares_title(found)}"]
        text_lines += [f"    {percent(one.alpha):>8}  {counted(one.rows, 'row'):>12}  {label(one)}" for one in listed(found)]
        text_lines += [f"    {more}"] if (more := left_out_alphas(found)) else []
        text_lines += [f"  {sentence}" for sentence in expectation(found)]
    if evidence.homogeneity_all is not None:
        first, *rest = answer(evidence.homogeneity_all)
        text_lines += ["", first]
        text_lines += [f"  {sentence}" for sentence in (*rest, *expectation(evidence.homogeneity_all))]
    return text_lines


def answer(found: Homogeneity | JointHomogeneity) -> list[str]:
    """Return sentences: how many groups reveal the value, the figures, and what to do."""
    groups, rows = found.se.classes, round(found.alike_share * found.se.rows)
    if isinstance(found, JointHomogeneity):
        name, value, same = f"Columns {', '.join(map(repr, found.columns))} together", "values", "the same value in each column"
    else:
        name, value, same = f"Column {found.column!r}", "value", "the same value"
    if found.alike_classes:
        share = f"{rows:,} of {counted(found.se.rows, 'row')} ({percent(found.alike_share)})"
        reveal = "reveals" if found.alike_classes == 1 else "reveal"
        sentences = [
            f"{name}: {found.alike_classes:,} of {counted(groups, 'group')} {reveal} the {value}.",
            f"{share} are in such a group, where all rows have {same}.",
            f"Anyone who knows that a person is in such a group knows the person's {value}.",
        ]
    elif isinstance(found, JointHomogeneity):
        sentences = [f"{name}: no group reveals all of them. Groups checked: {groups:,}."]
    else:
        sentences = [f"{name}: no group reveals the value. Each of the {groups:,} groups has at least 2 different values."]
        if groups == 1:
            sentences = [f"{name}: the only group does not reveal the value. It has at least 2 different values."]
    if isinstance(found, Homogeneity):
        sentences.append(f"In the worst group, {percent(found.max)} of the rows have the same value.")
    sentences.append(f"In the whole table, the most frequent value has {percent(found.base_rate)} of the rows.")
    return [*sentences, *remedy(found)]


def remedy(found: Homogeneity | JointHomogeneity) -> list[str]:
    """Return what to do, or nothing if no value has a large share in a group."""
    if isinstance(found, JointHomogeneity):
        return ["What to do: see the columns above."] if found.alike_classes else []
    printable = "".join(sign if sign.isprintable() else "?" for sign in found.column)
    if found.values == 1:
        return [f"What to do: the column has only one value. Leave it out: set drop (--drop {shlex.quote(printable)})."]
    if found.alike_classes:
        return ["What to do: require at least 2 different values in each group. Set l (--l 2) and anonymize the source again."]
    if found.max > TOO_CERTAIN > found.base_rate:  # a lower limit than the share in the whole table cannot be kept
        return ["What to do if this is too high: limit the share of a value. Set alpha (--alpha 0.5) and anonymize again."]
    return []


def expectation(found: Homogeneity | JointHomogeneity) -> list[str]:
    """Return sentences that compare the number of groups with a single value to the number expected by chance."""
    se = found.se
    values = " x ".join(f"{values:,}" for values in se.values)
    given = f"n = {counted(se.rows, 'row')}, k = {se.k:,}, K = {values} {'value' if set(se.values) == {1} else 'values'}"
    return [
        f"Groups with only one value: {se.observed:,} found, {number(se.predicted)} expected by chance.",
        f"If all values were equally frequent: {number(se.unequal)} expected.",
        f"By the formula of Mohapatra and Patra ({given}): {number(se.formula)} expected.",
    ]


def shares_title(found: Homogeneity) -> str:
    """Return the heading of the list of shares."""
    shares = percent(found.max) if found.max == found.min else f"from {percent(found.min)} to {percent(found.max)}"
    return f"For each value, its share in the group where it is most frequent (alpha), {shares}:"


def listed(found: Homogeneity) -> tuple[Alpha, ...]:
    """Return the values that have a line of their own."""
    return found.alphas[:MOST_ALPHAS]


def label(one: Alpha) -> str:
    """Return a value on one line, without characters that a terminal could take for a command."""
    if one.value.visibility == "pooled":
        return f"{counted(one.values, 'value')} {one.value.label}"
    text = "".join(sign if sign.isprintable() else "?" for sign in one.value.label)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def left_out_alphas(found: Homogeneity) -> str:
    """Return a sentence about the values that are not listed."""
    rest = found.alphas[MOST_ALPHAS:]
    if not rest:
        return ""
    pooled = any(one.value.visibility == "pooled" for one in rest)  # only the largest alpha of pooled values is listed
    least = found.min if pooled else rest[-1].alpha
    return f"and {counted(sum(one.values for one in rest), 'more value')}, from {percent(least)} to {percent(rest[0].alpha)}"


def number(figure: float) -> str:
    """Return a figure with few digits and without an exponent.

    >>> number(15000.0), number(148.148), number(0.111111), number(6e-6), number(0), number(3.0)
    ('15,000', '148.1', '0.11', 'less than 0.001', '0', '3')
    """
    if figure >= 1000 or figure == int(figure):
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if figure >= 1 else f"{figure:.2g}" if figure >= 0.001 else "less than 0.001"
