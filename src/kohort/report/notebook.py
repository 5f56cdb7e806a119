"""What a notebook shows of a release and of its evidence: HTML without scripts, styled in place.

Colours are those of the notebook, light or dark, and shades of them. Nothing is said by style alone: where styles are
stripped (GitHub, mail), what is left is the same text in plain tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

from kohort.auditor.evidence import Check, Evidence
from kohort.report.homogeneity_text import MOST_ALPHAS, alike, counted, extremes, label, left_out_alphas, share
from kohort.report.release_charts import Panels, largest_first, left_out, percent

__all__ = ["Panels", "evidence_html", "homogeneity_curves", "homogeneity_graph", "html_table", "inspection_html", "release_html"]

LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.35)"
CELL = f"{LINE};padding:.2em .8em .2em .3em;text-align:left;vertical-align:top;background:none"
BAR = "linear-gradient(to right,rgba(0,114,178,.4) {0}%,rgba(128,128,128,.12) {0}%)"
LONG = "overflow-wrap:anywhere;max-width:30em"  # names and paths break rather than push the rest out of sight
WHOLE = "white-space:nowrap"
ALARM = "border-left:.4em solid #D55E00;padding-left:.5em"


class Losses(Protocol):
    """What is shown of `utility.loss.Loss`. Named by its shape: the auditor's Evidence shows itself through this file, and
    the auditor may not import, even by a detour, what made the release.
    """

    @property
    def leaf(self) -> float: ...

    @property
    def per_column(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class HtmlCell:
    """One cell of a table. Its text is escaped where it is written; its style is ours."""

    text: str
    style: str = ""


def evidence_html(evidence: Evidence) -> str:
    """What an audit found: the verdict, the figures, every check, and what the sensitive columns show."""
    return _page(_verdict(evidence), _figures(_counts(evidence)), _checks(evidence.checks), *_homogeneity(evidence))


def homogeneity_graph(evidence: Evidence) -> Panels:
    """The bipartite graph of sensitive values and classes."""
    from kohort.report.graph_chart import graph_figure

    return graph_figure(evidence)


def homogeneity_curves(evidence: Evidence) -> Panels:
    """How the number of classes to expect alike moves with n and k."""
    from kohort.report.homogeneity_chart import curves_figure

    return curves_figure(evidence)


def release_html(evidence: Evidence, loss: Losses, axes: Mapping[str, str], *, output: str | None, method: str, k: int) -> str:
    """A release at a glance: the verdict, the figures, what each column lost, and the checks, folded if all is well.

    `axes` says what was applied to each quasi-identifier; `method` and `k` are what was asked for.
    """
    figures: dict[str, str | HtmlCell] = {
        **_counts(evidence),
        "k asked": f"{k:,}",
        "mean loss": percent(loss.leaf),
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
    """What `inspect` found, from its plain figures: who stands alone, then every column with its role and the reason."""
    risk = facts["risk"]
    alone = (
        f"{risk['unique']:,} of {risk['total']:,} {risk['counted_in']} are alone with their quasi-identifiers (k = {risk['k']:,})"
    )
    worst = "; ".join(f"by {' and '.join(one['columns'])}: {percent(one['unique_share'])}" for one in risk["singling_out"])
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
    headings = ["column", "type", "distinct", "alone", "missing", "suggested role", "why", "tree"]
    return _page(
        f"<div><strong>As it stands</strong>: {escape(alone)}. {escape(worst)}</div>",
        html_table(headings, rows),
        "<div>Every role is a guess to be reviewed.</div>",
    )


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str | HtmlCell]]) -> str:
    """A table of texts, all of them escaped."""
    head = "".join(f'<th scope="col" style="{CELL};font-weight:bold">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    style = "border-collapse:collapse;border:0;margin:.4em 0"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(cell: str | HtmlCell) -> str:
    text, style = (cell.text, cell.style) if isinstance(cell, HtmlCell) else (cell, "")
    return f'<td style="{CELL};{style}">{escape(text)}</td>'


def _page(*parts: str) -> str:
    # The classes keep MathJax, which notebooks run over all output, from reading $ in a name as mathematics.
    return f'<div class="tex2jax_ignore mathjax_ignore" style="max-width:70em;line-height:1.4">{"".join(parts)}</div>'


def _verdict(evidence: Evidence) -> str:
    if evidence.passed:
        warnings = sum(check.verdict == "warn" for check in evidence.checks)
        but = f" with {warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""
        return f"<div><strong>Audit passed{but}</strong>: every row looks like at least {evidence.k - 1:,} others.</div>"
    failed = ", ".join(check.name for check in evidence.failures())
    return f'<div style="{ALARM}"><strong>Audit FAILED</strong>: {escape(failed)}. Do not publish this table.</div>'


def _counts(evidence: Evidence) -> dict[str, str]:
    return {"k found": f"{evidence.k:,}", "rows": f"{evidence.rows:,}", "classes": f"{evidence.classes:,}"}


def _figures(figures: Mapping[str, str | HtmlCell]) -> str:
    return html_table(list(figures), [list(figures.values())])


def _losses(per_column: Mapping[str, float], axes: Mapping[str, str]) -> str:
    shown, rest = largest_first(per_column)
    rows: list[list[str | HtmlCell]] = [
        [HtmlCell(name, LONG), HtmlCell(percent(loss), _bar(loss)), axes.get(name, "")] for name, loss in shown
    ]
    more = f"<div>{escape(left_out(rest))}</div>" if rest else ""
    return html_table(["column", "lost", "treated as"], rows) + more


def _bar(share: float) -> str:
    return f"min-width:9em;background:{BAR.format(round(100 * min(max(share, 0), 1), 1))}"


def _checks(checks: Iterable[Check]) -> str:
    rows: list[list[str | HtmlCell]] = [
        [
            HtmlCell(check.verdict.upper() if check.verdict == "fail" else check.verdict, _weight(check)),
            check.name,
            _told(check.required),
            _told(check.found),
            check.meaning,
        ]
        for check in checks
    ]
    return html_table(["verdict", "check", "required", "found", "meaning"], rows)


def _weight(check: Check) -> str:
    return WHOLE + (f";font-weight:bold;{ALARM}" if check.verdict == "fail" else "")


def _told(figure: float | str | None) -> str:
    if figure is None:
        return "-"
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:.6g}" if isinstance(figure, float) else figure


def _homogeneity(evidence: Evidence) -> Iterable[str]:
    """A table of alphas for each sensitive column, and below it what they come to; then all columns at once."""
    for found in evidence.homogeneity:
        rows: list[list[str | HtmlCell]] = [
            [HtmlCell(label(one), LONG), HtmlCell(share(one.alpha), _bar(one.alpha)), f"{one.rows:,}"]
            for one in found.alphas[:MOST_ALPHAS]
        ]
        yield f"<div><strong>{escape(found.column)}</strong>: {counted(found.values, 'value')}</div>"
        yield html_table(["value", "alpha", "records"], rows)
        yield f"<div>{escape(left_out_alphas(found))}</div>"
        yield _facts({**extremes(found), **alike(found)})
    if evidence.homogeneity_all is not None:
        yield f"<div><strong>{escape(', '.join(evidence.homogeneity_all.columns))}</strong>: all at once</div>"
        yield _facts(alike(evidence.homogeneity_all))


def _facts(facts: Mapping[str, str]) -> str:
    return html_table(["", ""], [[HtmlCell(what, WHOLE), text] for what, text in facts.items()])
