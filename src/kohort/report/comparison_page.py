"""A comparison as one self-contained HTML page: which method to use and why, charts, and all figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from kohort.report.comparison_charts import loss_by_time, measures_by_k, models_by_k, shown_in_colour
from kohort.report.comparison_rows import Entry

DEFAULT = "auto"  # recommended unless another method is better
NEAR = 1.05  # a loss or error up to this times the smallest one counts as equally good
FASTER_BY = 1.0  # CPU seconds that a faster method must save to be mentioned
USABLE = 3.0  # a faster method is mentioned if its loss is at most this times the smallest one

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
    ("leaf", "detail lost", ".2%"), ("total_il", "Total-IL", ",.0f"), ("square_error", "square error", ",.0f"),
    ("dm", "C_DM", ",.0f"), ("cavg", "C_AVG", ",.2f"), ("classes", "groups", ",d"), ("smallest_class", "smallest", ",d"),
    ("query_error", "query error", ".1%"), ("pairs_off", "pairs off", ".1%"), ("cpu_seconds", "CPU s", ",.2f"),
    ("clusterings_agree", "clusters agree", ".2f"), ("pmse", "pMSE", ".4f"),
)  # fmt: skip
"""Key in a row, title and format. Columns without any figure are not shown."""


@dataclass(frozen=True)
class Advice:
    """Which method to use, and why."""

    method: str
    reasons: tuple[str, ...]


def advise(entries: Sequence[Entry]) -> Advice | None:
    """Recommend a method, with reasons; None if no method made a release for every k.

    The method with the smallest loss over all k. Among methods with nearly the same loss: the one with the smallest query error.
    If the default method is among these, it is recommended. A k that no method can keep is ignored.
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
    equal = [method for method in near if not error[method] > NEAR * fewest]  # without queries (NaN) all are equal
    taken = DEFAULT if DEFAULT in equal else min(equal, key=lambda method: (loss[method], seconds[method]))
    text = f"k = {', '.join(f'{k:,}' for k in ks)}"
    reasons = [f"Detail lost: {_percent(loss[taken])} on average ({text}). {_next_best(taken, loss)}"]
    if math.isfinite(error[taken]):
        reasons.append(f"Error of the answers to queries: {_percent(error[taken])} on average. {_next_best(taken, error)}")
    usable = [method for method in whole if loss[method] <= USABLE * loss[taken]]
    fastest = min(usable, key=lambda method: (seconds[method], loss[method]))
    if seconds[taken] - seconds[fastest] > FASTER_BY and loss[taken] > 0:
        reasons.append(
            f"If time matters: {fastest} took {seconds[fastest]:.2f} CPU seconds instead of {seconds[taken]:.2f} and loses "
            f"{loss[fastest] / loss[taken]:.1f} times as much detail."
        )
    refused = [method for method in done if method not in whole]
    if refused:
        reasons.append(f"Without a release for some k: {', '.join(refused)}.")
    impossible = sorted({entry.k for entry in entries} - {*ks})
    if impossible:
        reasons.append(f"No method could keep the promises at k = {', '.join(f'{k:,}' for k in impossible)}.")
    return Advice(taken, tuple(reasons))


def _next_best(taken: str, figures: Mapping[str, float]) -> str:
    """Return a sentence with the figure of the best other method."""
    others = {method: figure for method, figure in figures.items() if method != taken and math.isfinite(figure)}
    if not others:
        return "No other method was compared."
    best = min(others, key=lambda method: others[method])
    nearly = " (a difference of at most 5 %)" if others[best] < figures[taken] <= NEAR * others[best] else ""
    return f"Best other method: {best} with {_percent(others[best])}{nearly}."


def _percent(share: float) -> str:
    """Return a share in per cent with two decimals.

    >>> _percent(0.1956), _percent(0)
    ('19.56 %', '0.00 %')
    """
    return f"{100 * share:.2f} %"


def _mean(figures: Iterable[float]) -> float:
    found = list(figures)
    return sum(found) / len(found)


def page(
    entries: Sequence[Entry], *, rows: int, quasi: Sequence[str], workload: str, boxes: str = "", boxes_caption: str = ""
) -> str:
    """Return the whole page. `boxes_caption` is the caption of the picture `boxes`."""
    advice = advise(entries)
    taken = advice.method if advice else ""
    coloured = shown_in_colour(entries, taken)
    ks = sorted({entry.k for entry in entries})
    middle = ks[len(ks) // 2]
    only = f" (k = {ks[0]:,})" if len(ks) == 1 else ""
    drawn = [*measures_by_k(entries, coloured), *models_by_k(entries, coloured)]
    charts = "".join(_figure(svg, f"{title}{only}") for title, svg in drawn)
    charts += _figure(
        loss_by_time(entries, coloured, middle),
        f"Which method loses little detail in little time? (k = {middle:,}). No method is both faster and better than those on "
        "the dashed line.",
    )
    rectangles = f"<h2>Groups on two columns</h2>{_figure(boxes, boxes_caption)}" if boxes else ""
    methods = len({entry.method for entry in entries})
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>kohort: comparison of methods</title><style>{STYLE}</style></head><body>
<h1>Which method to use</h1>
{_advice(advice)}
<p>Compared: {methods} {"method" if methods == 1 else "methods"}, k = {", ".join(f"{k:,}" for k in ks)}, on {rows:,} rows.
Quasi-identifiers: {escape(", ".join(quasi))}. Queries: {escape(workload)}.
Every release passed the audit before it was measured.</p>
<h2>Charts</h2><div class="charts">{charts}</div>
{rectangles}
<h2>All figures</h2>{_table(entries, taken)}
<p>Detail lost: mean leaf loss of all cells; 0 % is unchanged, 100 % is nothing left. Total-IL: sum of the height loss of all
cells. C_DM: discernibility, the sum of the squared sizes of the published groups. C_AVG: mean size of the published groups,
divided by k. Smallest: size of the smallest group. CPU s: CPU seconds of the partition, without compilation. Query error:
|answer - truth| / truth (divided by 1 if the truth is 0), mean by weight. Pairs off: share of the rows that must change so that
a pair of columns has the same distribution as in the source, mean of all pairs.{_models_text(entries)}</p>
</body></html>
"""


def _advice(advice: Advice | None) -> str:
    if advice is None:
        return '<div class="advice"><p>No method could keep the promises.</p></div>'
    reasons = "".join(f"<p>{escape(reason)}</p>" for reason in advice.reasons)
    return f'<div class="advice"><p><strong>Use {escape(advice.method)}.</strong></p>{reasons}</div>'


def _models_text(entries: Sequence[Entry]) -> str:
    if not any(entry.models for entry in entries):
        return ""
    return """ Models are trained on the release and tested on original rows that they were not trained on. Clusters agree:
adjusted Rand index between the k-means clusters of source and release; 1 is identical, 0 is chance. pMSE: 0 if a model cannot
distinguish the release from its source, 0.25 if it always can."""


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(entries: Sequence[Entry], taken: str) -> str:
    rows = [entry.row() for entry in entries]
    models = dict.fromkeys(name for row in rows for name in row if name.endswith(("_accuracy", "_r2")))
    known = [
        column
        for column in (
            *COLUMNS,
            *((name, name.replace("_", " "), ".1%" if name.endswith("_accuracy") else ".3f") for name in models),
        )
        if any(row.get(column[0]) is not None for row in rows)
    ]
    head = "".join(f"<th>{escape(title)}</th>" for title in ("method", "k", *(title for _name, title, _form in known)))
    body = "".join(_line(row, known, is_taken=row["method"] == taken) for row in rows)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _line(row: Mapping[str, Any], columns: Sequence[tuple[str, str, str]], *, is_taken: bool) -> str:
    first = f"<td>{escape(row['method'])}</td><td>{row['k']:,}</td>"
    if row["refused"]:
        return f'<tr>{first}<td class="refused" colspan="{len(columns)}">{escape(row["refused"])}</td></tr>'
    cells = ["" if row.get(name) is None else format(row[name], form).replace("%", " %") for name, _title, form in columns]
    mark = ' class="taken"' if is_taken else ""
    return f"<tr{mark}>{first}" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
