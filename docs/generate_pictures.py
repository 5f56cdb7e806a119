"""Draw the pictures of README and tutorial from a real release: `make pictures`."""

from __future__ import annotations

from html import escape
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa

import kohort as kh

FOLDER = Path(__file__).parent / "images"
BEFORE = ("name", "age", "sex", "zip", "occupation", "diagnosis")
AFTER = ("age", "sex", "zip", "occupation", "diagnosis")
OCHRE, BLUE, INK, LINE, PAPER = "#a85400", "#1b6097", "#18212b", "#dcd9d0", "#ffffff"
LINE_HEIGHT, LETTER, GAP, MARGIN = 26, 7.6, 22, 24  # pixels
GROUP_SIZE = 5


def main() -> None:
    """Draw every picture."""
    FOLDER.mkdir(exist_ok=True)
    sample = kh.datasets.hospital(rows=2000)
    release = kh.anonymize(sample.table, sample.job, k=GROUP_SIZE, seed=7)
    before, after = release.preview(_example_group(release))
    (FOLDER / "before-after.svg").write_text(before_after(before.select(BEFORE), after.select(AFTER)), encoding="utf-8")
    with mpl.rc_context({"svg.hashsalt": "kohort", "svg.fonttype": "none"}):  # the same bytes every time
        axes = release.plot()
        axes[0].figure.savefig(FOLDER / "release.svg", metadata={"Date": None}, bbox_inches="tight")


def _example_group(release: kh.Release) -> np.ndarray:
    """Return the rows of the first group of five in which every column but sex was generalised, and none to `*`."""
    for label in range(int(release.labels.max()) + 1):
        rows = np.flatnonzero(release.labels == label)
        before, after = release.preview(rows)
        changed = [before[name].to_pylist() != after[name].to_pylist() for name in ("age", "zip", "occupation")]
        texts = [after[name][0].as_py() for name in AFTER[:-1]]
        if len(rows) == GROUP_SIZE and all(changed) and "*" not in texts and not any(text.startswith("*") for text in texts):
            return rows
    message = "no group shows every change"
    raise LookupError(message)


def before_after(before: pa.Table, after: pa.Table) -> str:
    """Return an SVG picture of the same rows before and after, one below the other."""
    blocks = [_table("Before", before, OCHRE, 0), _table("After", after, BLUE, LINE_HEIGHT * (before.num_rows + 3.5))]
    width = max(block[1] for block in blocks)
    height = LINE_HEIGHT * (before.num_rows + after.num_rows + 6)
    text = "Each of the five rows has the same age range, sex, zip code and occupation after, and no name."
    font = "font-family='system-ui, sans-serif' font-size='14'"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}' role='img' {font}>\n"
        f"<title>Five patients before and after</title>\n<desc>{text}</desc>\n"
        f"<rect width='100%' height='100%' fill='{PAPER}'/>\n{''.join(block[0] for block in blocks)}</svg>\n"
    )


def _table(title: str, table: pa.Table, colour: str, top: float) -> tuple[str, float]:
    """Return the SVG of one table and its width."""
    cells = {name: ["" if value is None else str(value) for value in table[name].to_pylist()] for name in table.column_names}
    line = top + MARGIN + 8
    shown = [f"<text x='{MARGIN}' y='{line}' fill='{colour}' font-weight='bold' font-size='17'>{title}</text>\n"]
    at = float(MARGIN)
    for name, values in cells.items():
        for row, value in enumerate([name, *values]):
            style = f"fill='{colour}' font-weight='bold'" if row == 0 else f"fill='{INK}'"
            shown.append(f"<text x='{at:.0f}' y='{line + LINE_HEIGHT * (row + 1.1):.0f}' {style}>{escape(value)}</text>\n")
        at += LETTER * max(map(len, [name, *values])) + GAP
    for row in range(table.num_rows + 1):
        y = line + LINE_HEIGHT * (row + 1.45)
        shown.append(f"<path d='M{MARGIN} {y:.0f}H{at - GAP:.0f}' stroke='{colour if row == 0 else LINE}'/>\n")
    return "".join(shown), at - GAP + MARGIN


if __name__ == "__main__":
    main()
