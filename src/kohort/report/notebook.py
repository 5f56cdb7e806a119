"""HTML views of a release, of an audit and of an inspection for notebooks. No scripts, only inline styles.

The views use the colours of the notebook, light or dark, and shades of them. Styles carry no information of their own: if they
are removed (GitHub, mail), the same text remains in plain tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

from kohort.auditor.evidence import Check, Evidence
from kohort.report.homogeneity_text import answer, expectation, label, left_out_alphas, listed, shares_title
from kohort.report.release_charts import Panels, largest_first, left_out
from kohort.wording import percent

__all__ = ["Panels", "evidence_html", "homogeneity_curves", "homogeneity_graph", "html_table", "inspection_html", "release_html"]

LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.35)"
CELL = f"{LINE};padding:.2em .8em .2em .3em;text-align:left;vertical-align:top;background:none"
BAR = "linear-gradient(to right,rgba(0,114,178,.4) {0}%,rgba(128,128,128,.12) {0}%)"
LONG = "overflow-wrap:anywhere;max-width:30em"  # long names and paths wrap, so that the other columns stay visible
WHOLE = "white-space:nowrap"
ALARM = "border-left:.4em solid #D55E00;padding-left:.5em"


class Losses(Protocol):
    """The part of `utility.loss.Loss` that the views show.

    A protocol, because the auditor uses this file to show its `Evidence`, and the auditor must not import, not even indirectly,
    code that makes a release.
    """

    @property
    def leaf(self) -> float:
        """Share of detail lost, as the mean over all cells."""
        ...

    @property
    def per_column(self) -> Mapping[str, float]:
        """Share of detail lost in each column."""
        ...


@dataclass(frozen=True)
class HtmlCell:
    """One cell of a table. Its text is escaped when it is written; its style is trusted."""

    text: str
    style: str = ""


def evidence_html(evidence: Evidence) -> str:
    """Return the view of an audit: verdict, figures, all checks, and how much the groups reveal about sensitive columns."""
    return _page(_verdict(evidence), _figures(_counts(evidence)), _checks(evidence.checks), *_homogeneity(evidence))


def homogeneity_graph(evidence: Evidence) -> Panels:
    """Draw the bipartite graph of sensitive values and groups."""
    from kohort.report.graph_chart import graph_figure

    return graph_figure(evidence)


def homogeneity_curves(evidence: Evidence) -> Panels:
    """Draw the expected number of groups with a single value, by n and by k."""
    from kohort.report.homogeneity_chart import curves_figure

    return curves_figure(evidence)


def release_html(evidence: Evidence, loss: Losses, axes: Mapping[str, str], *, output: str | None, method: str, k: int) -> str:
    """Return the view of a release: verdict, figures, detail lost in each column, and the checks, folded if all passed.

    `axes` describes how each quasi-identifier was generalised. `method` and `k` are the requested ones.
    """
    figures: dict[str, str | HtmlCell] = {
        **_counts(evidence),
        "k requested": f"{k:,}",
        "detail lost": percent(loss.leaf),
        "method": method,
        "written to": HtmlCell(output, LONG) if output else "no file",
    }
    verdicts = Counter(check.verdict for check in evidence.checks)
    unfold = " open" if verdicts["fail"] or verdicts["warn"] else ""
    summary = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    return _page(
        _verdict(evidence),
        _figures(figures),
        _losses(loss.per_column, axes),
        f"<details{unfold}><summary>Checks: {escape(summary)}</summary>{_checks(evidence.checks)}</details>",
    )


def inspection_html(facts: Mapping[str, Any]) -> str:
    """Return the view of an inspection: how many rows are unique, then every column with its suggested role and the reason."""
    risk = facts["risk"]
    many, one = ("rows", "row") if risk["counted_in"] == "rows" else ("people", "person")
    unique = f"{risk['unique']:,} of {risk['total']:,} {many} are unique"
    rest = f": no other {one} has the same quasi-identifiers (k = {risk['k']:,})."
    worst = " ".join(
        f"Unique by {' and '.join(few['columns'])} alone: {percent(few['unique_share'])}." for few in risk["singling_out"]
    )
    rows: list[list[str | HtmlCell]] = [
        [
            HtmlCell(column["name"], f"{LONG};min-width:9em"),
            column["type"],
            f"{column['distinct']:,}",
            HtmlCell(percent(column["unique_share"]), WHOLE),
            HtmlCell(percent(column["missing"] / max(facts["rows"], 1)), WHOLE),
            HtmlCell(column["role"], "font-weight:bold"),
            column["reason"],
            column["tree"] or "",
        ]
        for column in facts["columns"]
    ]
    headings = ["column", "type", "distinct", "unique", "missing", "suggested role", "why", "tree"]
    return _page(
        f"<div><strong>{escape(unique)}</strong>{escape(rest)} {escape(worst)}</div>",
        html_table(headings, rows),
        "<div>Every role is a suggestion. Check each one.</div>",
    )


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str | HtmlCell]]) -> str:
    """Return an HTML table. All texts are escaped."""
    head = "".join(f'<th scope="col" style="{CELL};font-weight:bold">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    style = "border-collapse:collapse;border:0;margin:.4em 0"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(cell: str | HtmlCell) -> str:
    text, style = (cell.text, cell.style) if isinstance(cell, HtmlCell) else (cell, "")
    return f'<td style="{CELL};{style}">{escape(text)}</td>'


def _page(*parts: str) -> str:
    # Notebooks run MathJax on all output. These classes stop it from reading a $ in a name as mathematics.
    return f'<div class="tex2jax_ignore mathjax_ignore" style="max-width:70em;line-height:1.4">{"".join(parts)}</div>'


def _verdict(evidence: Evidence) -> str:
    if evidence.passed:
        warnings = sum(check.verdict == "warn" for check in evidence.checks)
        but = f" with {warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""
        text = f"every row has the same quasi-identifiers as at least {evidence.k - 1:,} other rows"
        return f"<div><strong>Audit passed{but}</strong>: {text}.</div>"
    failed = ", ".join(check.name for check in evidence.failures())
    return f'<div style="{ALARM}"><strong>Audit FAILED</strong>: {escape(failed)}. Do not publish this table.</div>'


def _counts(evidence: Evidence) -> dict[str, str]:
    return {"k found": f"{evidence.k:,}", "rows": f"{evidence.rows:,}", "groups": f"{evidence.classes:,}"}


def _figures(figures: Mapping[str, str | HtmlCell]) -> str:
    return html_table(list(figures), [list(figures.values())])


def _losses(per_column: Mapping[str, float], axes: Mapping[str, str]) -> str:
    shown, rest = largest_first(per_column)
    rows: list[list[str | HtmlCell]] = [
        [HtmlCell(name, LONG), HtmlCell(percent(loss), _bar(loss)), axes.get(name, "")] for name, loss in shown
    ]
    more = f"<div>{escape(left_out(rest))}</div>" if rest else ""
    return html_table(["column", "detail lost", "treated as"], rows) + more


def _bar(share: float) -> str:
    return f"min-width:9em;background:{BAR.format(round(100 * min(max(share, 0), 1), 1))}"


def _checks(checks: Iterable[Check]) -> str:
    rows: list[list[str | HtmlCell]] = [
        [
            HtmlCell(check.verdict.upper() if check.verdict == "fail" else check.verdict, _weight(check)),
            check.name,
            _figure(check.required),
            _figure(check.found),
            check.meaning,
        ]
        for check in checks
    ]
    return html_table(["verdict", "check", "required", "found", "meaning"], rows)


def _weight(check: Check) -> str:
    return WHOLE + (f";font-weight:bold;{ALARM}" if check.verdict == "fail" else "")


def _figure(figure: float | str | None) -> str:
    if figure is None:
        return "-"
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:.6g}" if isinstance(figure, float) else figure


def _homogeneity(evidence: Evidence) -> Iterable[str]:
    """Yield, for each sensitive column, the answer, a table of its values and the figures; then all columns together."""
    for found in evidence.homogeneity:
        rows: list[list[str | HtmlCell]] = [
            [HtmlCell(label(one), LONG), HtmlCell(percent(one.alpha), _bar(one.alpha)), f"{one.rows:,}"] for one in listed(found)
        ]
        yield _answer(answer(found))
        yield f"<div>{escape(shares_title(found))}</div>"
        yield html_table(["value", "largest share", "rows"], rows)
        yield f"<div>{escape(left_out_alphas(found))}</div>"
        yield _sentences(expectation(found))
    if evidence.homogeneity_all is not None:
        yield _answer(answer(evidence.homogeneity_all))
        yield _sentences(expectation(evidence.homogeneity_all))


def _answer(sentences: Sequence[str]) -> str:
    """Return the first sentence in bold, and the others below it."""
    return f'<div style="margin-top:1em"><strong>{escape(sentences[0])}</strong></div>{_sentences(sentences[1:])}'


def _sentences(sentences: Iterable[str]) -> str:
    return "".join(f"<div>{escape(sentence)}</div>" for sentence in sentences)
