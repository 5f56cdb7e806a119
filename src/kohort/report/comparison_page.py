"""A comparison as one page that needs nothing else: which method to take and why, the papers' figures, every number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from kohort.report.comparison_charts import against_k, loss_against_time, models_against_k, shown_in_colour
from kohort.report.comparison_rows import Entry

DEFAULT = "auto"  # which is taken unless another is better
NEAR = 1.05  # times the least loss or error: as good
WORTH_TELLING = 1.0  # CPU seconds, from which haste is
USABLE = 3.0  # times the least loss: not good, but worth a word if it is much faster

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
    ("leaf", "leaf loss", ".4f"), ("total_il", "Total-IL", ",.0f"), ("square_error", "square error", ",.0f"),
    ("dm", "C_DM", ",.0f"), ("cavg", "C_AVG", ",.2f"), ("classes", "classes", ",d"), ("smallest_class", "smallest", ",d"),
    ("query_error", "query error", ".1%"), ("pairs_off", "pairs off", ".1%"), ("cpu_seconds", "CPU s", ",.2f"),
    ("clusterings_agree", "clusters agree", ".2f"), ("pmse", "pMSE", ".4f"),
)  # fmt: skip
"""Name in a row, title and form; those that nothing is known of are left out."""


@dataclass(frozen=True)
class Advice:
    """Which method to take, and why."""

    method: str
    reasons: tuple[str, ...]


def advise(entries: Sequence[Entry]) -> Advice | None:
    """The method that loses least over all k; of those nearly as good the one that answers queries best, the default if there is
    nothing in it; what haste costs. A k that no method can keep is not counted.
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
    equal = [method for method in near if not error[method] > NEAR * fewest]  # nobody asked: they are all equal
    taken = DEFAULT if DEFAULT in equal else min(equal, key=lambda method: (loss[method], seconds[method]))
    text = ", ".join(f"k={k:,}" for k in ks)
    reasons = [f"It loses {loss[taken]:.4f} of a cell on average ({text}){_extra(taken, loss, '.4f')}"]
    if math.isfinite(error[taken]):
        others = _extra(taken, error, ".2%")
        reasons.append(f"Its release answers queries with a mean relative error of {error[taken]:.2%}{others}")
    usable = [method for method in whole if loss[method] <= USABLE * loss[taken]]
    fastest = min(usable, key=lambda method: (seconds[method], loss[method]))
    if seconds[taken] - seconds[fastest] > WORTH_TELLING and loss[taken] > 0:
        reasons.append(
            f"If time matters: {fastest} took {seconds[fastest]:.2f} CPU seconds instead of {seconds[taken]:.2f} and loses "
            f"{loss[fastest] / loss[taken]:.1f} times as much."
        )
    refused = [method for method in done if method not in whole]
    if refused:
        reasons.append(f"Not for every k: {', '.join(refused)}.")
    impossible = sorted({entry.k for entry in entries} - {*ks})
    if impossible:
        reasons.append(f"No method could keep what is promised at {', '.join(f'k={k:,}' for k in impossible)}.")
    return Advice(taken, tuple(reasons))


def _extra(taken: str, figures: Mapping[str, float], form: str) -> str:
    """How the best of the others does, as the end of a sentence."""
    others = {method: figure for method, figure in figures.items() if method != taken and math.isfinite(figure)}
    if not others:
        return "; it was the only one."
    best = min(others, key=lambda method: others[method])
    nearly = ", nearly the least" if others[best] < figures[taken] <= NEAR * others[best] else ""
    return f"{nearly}; the best of the others, {best}, {others[best]:{form}}."


def _mean(figures: Iterable[float]) -> float:
    found = list(figures)
    return sum(found) / len(found)


def page(
    entries: Sequence[Entry], *, rows: int, quasi: Sequence[str], workload: str, boxes: str = "", boxes_told: str = ""
) -> str:
    """The whole page."""
    advice = advise(entries)
    taken = advice.method if advice else ""
    coloured = shown_in_colour(entries, taken)
    ks = sorted({entry.k for entry in entries})
    middle = ks[len(ks) // 2]
    against = f"at k={ks[0]:,}" if len(ks) == 1 else "against k"
    drawn = [*against_k(entries, coloured), *models_against_k(entries, coloured)]
    charts = "".join(_figure(svg, f"{title} {against}") for title, svg in drawn)
    charts += _figure(
        loss_against_time(entries, coloured, middle),
        f"Loss against time at k={middle:,}; along the dashed front no method is beaten in both",
    )
    rectangles = f"<h2>Two columns</h2>{_figure(boxes, boxes_told)}" if boxes else ""
    methods = len({entry.method for entry in entries})
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>kohort: methods compared</title><style>{STYLE}</style></head><body>
<h1>Methods compared</h1>
<p>{methods} methods, k = {", ".join(f"{k:,}" for k in ks)}; {rows:,} rows, quasi-identifiers {escape(", ".join(quasi))};
{escape(workload)}.
Every release was audited before it was measured.</p>
{_advice(advice)}
<h2>Figures</h2><div class="charts">{charts}</div>
{rectangles}
<h2>All numbers</h2>{_table(entries, taken)}
<p>Leaf loss: mean share of a cell that is lost, 0 to 1. C_DM and C_AVG are of classes as published. Seconds are of the CPU, for
the partition once compiled. Query error: |answer - truth| / truth (of 1, where that is 0), mean by weight. Pairs off: share of
the records that would have to change to give every pair of columns its distribution in the source, on average.
{_models_told(entries)}</p>
</body></html>
"""


def _advice(advice: Advice | None) -> str:
    if advice is None:
        return '<div class="advice"><p>No method could keep what is promised.</p></div>'
    reasons = "".join(f"<p>{escape(reason)}</p>" for reason in advice.reasons)
    return f'<div class="advice"><p><strong>Take {escape(advice.method)}.</strong></p>{reasons}</div>'


def _models_told(entries: Sequence[Entry]) -> str:
    if not any(entry.models for entry in entries):
        return ""
    return """ Models are trained on the release and tested on original rows of other folds. Clusters agree: adjusted Rand index
of k-means on source and release, 1 for the same, 0 for chance. pMSE: 0 if a model cannot tell the release from its source, 0.25
if it always can."""


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
    cells = ["" if row.get(name) is None else format(row[name], form) for name, _title, form in columns]
    mark = ' class="taken"' if is_taken else ""
    return f"<tr{mark}>{first}" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
