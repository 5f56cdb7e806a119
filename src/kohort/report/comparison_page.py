"""Page of a comparison, one HTML file that loads no other file: the recommended method with reasons, charts, all numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from kohort.report.comparison_charts import against_k, loss_against_time, models_against_k, shown_in_colour
from kohort.report.comparison_rows import Entry

DEFAULT = "auto"  # recommended unless another method is better
NEAR = 1.05  # a loss or error up to this factor above the least one counts as equally good
WORTH_MENTIONING = 1.0  # CPU seconds; a faster method is mentioned only if it saves more than this
USABLE = 3.0  # a faster method is mentioned only if its loss is at most this factor above that of the recommended one

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d1d1d; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin: 2rem 0 .6rem }
.advice { border-left: .3rem solid #0072B2; background: #f2f7fb; padding: .7rem 1rem; }
.advice p { margin: .3rem 0 }
figure { margin: 0 } figure svg { max-width: 100%; height: auto } figcaption { font-size: .85rem; color: #444 }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(28rem, 1fr)); gap: 1.2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; width: 100% }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #e2e2e2; white-space: nowrap }
th:first-child, td:first-child { text-align: left } .wide { overflow-x: auto }
tr.taken td { font-weight: 600; background: #f2f7fb } td.refused { text-align: left; white-space: normal; color: #8a3b00 }
@media print { body { margin: 0 } .charts { grid-template-columns: 1fr 1fr } }
"""

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("leaf", "detail lost", ".1%"), ("total_il", "Total-IL", ",.0f"), ("square_error", "square error", ",.0f"),
    ("dm", "C_DM", ",.0f"), ("cavg", "C_AVG", ",.2f"), ("classes", "groups", ",d"), ("smallest_class", "smallest group", ",d"),
    ("query_error", "query error", ".1%"), ("pairs_off", "pairs changed", ".1%"), ("cpu_seconds", "CPU seconds", ",.2f"),
    ("clusterings_agree", "clusters agree", ".2f"), ("pmse", "pMSE", ".4f"),
)  # fmt: skip
"""Key in a row, title and format of each column. The table omits columns without any value."""


@dataclass(frozen=True)
class Advice:
    """The recommended method and the reasons, one sentence or two each."""

    method: str
    reasons: tuple[str, ...]


def advise(entries: Sequence[Entry]) -> Advice | None:
    """Recommend a method; None if no method could keep the promises at any k.

    Candidates are the methods whose mean loss over all k is at most 5 % above the least. Of these, methods with a query error
    more than 5 % above the least are dropped. The default is recommended if it remains, else the method with the least loss. A k
    that no method can keep is ignored.
    """
    ks = sorted({entry.k for entry in entries if not entry.refused})
    done = {
        method: {entry.k: entry for entry in entries if entry.method == method and not entry.refused}
        for method in dict.fromkeys(entry.method for entry in entries)
    }
    whole = {method: found for method, found in done.items() if len(found) == len(ks)}
    if not whole or not ks:
        return None
    loss = {method: _mean(found[k].loss["leaf"] for k in ks) for method, found in whole.items()}
    error = {method: _mean(found[k].query_error for k in ks) for method, found in whole.items()}
    seconds = {method: sum(found[k].seconds for k in ks) for method, found in whole.items()}
    least = min(loss.values())
    near = [method for method in whole if loss[method] <= NEAR * least]
    fewest = min(error[method] for method in near)
    equal = [method for method in near if not error[method] > NEAR * fewest]  # without queries the errors are nan: all remain
    taken = DEFAULT if DEFAULT in equal else min(equal, key=lambda method: (loss[method], seconds[method]))
    average = "" if len(ks) == 1 else " on average"
    reasons = [f"Detail lost: {_per_cent(loss[taken])}{average} ({_k_text(ks)}). {_others(taken, loss)}"]
    if math.isfinite(error[taken]):
        reasons.append(f"Mean relative error of queries on its release: {_per_cent(error[taken])}. {_others(taken, error)}")
    usable = [method for method in whole if loss[method] <= USABLE * loss[taken]]
    fastest = min(usable, key=lambda method: (seconds[method], loss[method]))
    if seconds[taken] - seconds[fastest] > WORTH_MENTIONING and loss[taken] > 0:
        reasons.append(
            f"A faster method: {fastest} took {seconds[fastest]:.2f} CPU seconds instead of {seconds[taken]:.2f}. It loses "
            f"{loss[fastest] / loss[taken]:.1f} times as much detail."
        )
    refused = [method for method in done if method not in whole]
    if refused:
        reasons.append(f"These methods made no release for at least one k: {', '.join(refused)}.")
    impossible = sorted({entry.k for entry in entries} - {*ks})
    if impossible:
        reasons.append(f"No method could keep the promises at {_k_text(impossible)}.")
    return Advice(taken, tuple(reasons))


def _others(taken: str, figures: Mapping[str, float]) -> str:
    """Return a sentence that compares the recommended method with the best of the others."""
    others = {method: figure for method, figure in figures.items() if method != taken and math.isfinite(figure)}
    if not others:
        return "There is no other method to compare with."
    best = min(others, key=lambda method: others[method])
    if others[best] < figures[taken] <= NEAR * others[best]:
        return f"This is nearly the least, {_per_cent(others[best])} with {best}."
    return f"The best other method, {best}: {_per_cent(others[best])}."


def _k_text(ks: Sequence[int]) -> str:
    return f"k = {', '.join(f'{k:,}' for k in ks)}"


def _per_cent(share: float) -> str:
    """Return a share in per cent, with two decimals so that methods can be compared.

    >>> _per_cent(0.0512)
    '5.12 %'
    """
    return f"{100 * share:,.2f} %"


def _mean(figures: Iterable[float]) -> float:
    found = list(figures)
    return sum(found) / len(found)


def page(
    entries: Sequence[Entry], *, rows: int, quasi: Sequence[str], workload: str, boxes: str = "", boxes_caption: str = ""
) -> str:
    """Return the whole page as HTML."""
    advice = advise(entries)
    taken = advice.method if advice else ""
    coloured = shown_in_colour(entries, taken)
    ks = sorted({entry.k for entry in entries})
    middle = ks[len(ks) // 2]
    against = f"at k = {ks[0]:,}" if len(ks) == 1 else "by k"
    drawn = [*against_k(entries, coloured), *models_against_k(entries, coloured)]
    charts = "".join(_figure(svg, f"{title} {against}") for title, svg in drawn)
    charts += _figure(
        loss_against_time(entries, coloured, middle),
        f"Detail lost and time at k = {middle:,}. No other method is better in both than the methods on the dashed line.",
    )
    rectangles = f"<h2>Groups on two columns</h2>{_figure(boxes, boxes_caption)}" if boxes else ""
    methods = len({entry.method for entry in entries})
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>kohort: comparison of methods</title><style>{STYLE}</style></head><body>
<h1>Comparison of methods</h1>
<p>{methods} {"method" if methods == 1 else "methods"}, {_k_text(ks)}; {rows:,} rows;
quasi-identifiers: {escape(", ".join(quasi))}; {escape(workload)}.
kohort audited every release before it measured the figures.</p>
{_advice(advice)}
<h2>Charts</h2><div class="charts">{charts}</div>
{rectangles}
<h2>All numbers</h2>{_table(entries, taken)}
<p>Detail lost: mean leaf loss of all cells of the quasi-identifiers. 0 % is the original, 100 % means that nothing is left.
A group has all published rows with the same quasi-identifiers (equivalence class). C_DM and C_AVG are computed from these groups.
CPU seconds: time to form the groups, without compiling. Query error: |answer - truth| / truth, mean weighted by query; if the
truth is 0, the divisor is 1. Pairs changed: share of the rows that would have to change so that two columns together have the
same distribution as in the original, mean of all pairs of columns.{_models_text(entries)}</p>
</body></html>
"""


def _advice(advice: Advice | None) -> str:
    if advice is None:
        return '<div class="advice"><p>No method could keep the promises. Lower k or the other promises.</p></div>'
    reasons = "".join(f"<p>{escape(reason)}</p>" for reason in advice.reasons)
    return f'<div class="advice"><p><strong>Recommended method: {escape(advice.method)}.</strong></p>{reasons}</div>'


def _models_text(entries: Sequence[Entry]) -> str:
    if not any(entry.models for entry in entries):
        return ""
    return """
Models are trained on the release and tested on original rows of other folds. Clusters agree: adjusted Rand index of k-means on
the original and on the release; 1 means the same clusters, 0 means agreement by chance. pMSE: 0 if a model cannot distinguish the
release from the original, 0.25 if it always can."""


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(entries: Sequence[Entry], taken: str) -> str:
    rows = [entry.row() for entry in entries]
    models = dict.fromkeys(name for row in rows for name in row if name.endswith(("_accuracy", "_r2")))
    known = [
        column
        for column in (*COLUMNS, *((name, name.replace("_", " "), ".3f") for name in models))
        if any(row.get(column[0]) is not None for row in rows)
    ]
    head = "".join(f"<th>{escape(title)}</th>" for title in ("method", "k", *(title for _name, title, _form in known)))
    body = "".join(_line(row, known, is_taken=row["method"] == taken) for row in rows)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _line(row: Mapping[str, Any], columns: Sequence[tuple[str, str, str]], *, is_taken: bool) -> str:
    first = f"<td>{escape(row['method'])}</td><td>{row['k']:,}</td>"
    if row["refused"]:
        return f'<tr>{first}<td class="refused" colspan="{len(columns)}">{escape(row["refused"])}</td></tr>'
    cells = ["" if row.get(name) is None else _formatted(row[name], form) for name, _title, form in columns]
    mark = ' class="taken"' if is_taken else ""
    return f"<tr{mark}>{first}" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _formatted(figure: float, form: str) -> str:
    return format(figure, form).replace("%", " %")
