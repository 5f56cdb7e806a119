"""Test releases of the Adult table, checked with plain Python and pandas."""

from __future__ import annotations

import csv
from collections import Counter

import pandas as pd
import pytest

import kohort
from kohort import datasets
from kohort.methods import METHODS

ROWS = 30_162
SENSITIVE = {"A": "relationship", "B": "occupation"}
QUASI = {"A": datasets.ADULT_A, "B": datasets.ADULT_B}


@pytest.fixture(scope="module", params=["A", "B"])
def adult(request, public_data):
    """The letter, the sample, the source as text, and per column the texts that each value may be published as."""
    letter = request.param
    sample = datasets.adult(QUASI[letter], [SENSITIVE[letter]])
    source = pd.read_csv(public_data / "adult" / "adult.csv.gz", dtype=str, keep_default_na=False)
    return letter, sample, source, {name: tree_of(public_data, name) for name in QUASI[letter] if name != "age"}


def tree_of(public_data, name):
    """Return for each value the value and the labels above it, from the file of the tree."""
    file = "salary-class" if name == "class" else name
    with (public_data / "adult" / "hierarchies" / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        return {row[0]: row for row in csv.reader(lines, delimiter=";")}


def read(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])


def ends(text):
    low, high = text.strip("[]").split(" - ") if text.startswith("[") else (text, text)
    return int(low), int(high)


def leaf_loss(published, trees):
    """Return the mean loss over rows and columns: the share of the range for ages, the share of leaves for categories."""
    ages = published["age"].map(ends)
    low, high = ages.map(min), ages.map(max)
    total = float((high - low).sum()) / (high.max() - low.min())
    for name, tree in trees.items():
        below = Counter(label for row in tree.values() for label in dict.fromkeys(row[1:]))
        cost = {label: count / len(tree) if count > 1 else 0 for label, count in below.items()}
        total += float(published[name].map(lambda text, cost=cost, tree=tree: 0 if text in tree else cost[text]).sum())
    return total / len(published) / (len(trees) + 1)


def written(adult, k, target, **settings):
    """Anonymize to a file and check it: no row is lost, no group is below k, every cell covers its original."""
    letter, sample, source, trees = adult
    quasi, sensitive = list(QUASI[letter]), SENSITIVE[letter]
    release = kohort.anonymize(sample.table, sample.job, k=k, keep_order=True, output=target, seed=7, **settings)
    published = read(target)
    assert len(published) == ROWS == len(source)
    assert list(published.columns) == [name for name in source.columns if name in {*quasi, sensitive}]
    sizes = published.groupby(quasi, dropna=False).size()
    assert sizes.sum() == ROWS
    assert sizes.min() >= k
    assert (release.evidence.k, release.evidence.classes) == (sizes.min(), len(sizes))
    assert release.loss.dm == (sizes**2).sum()
    # Every cell covers its original. The order of rows is kept, so rows can be compared one by one.
    for text, value in set(zip(published["age"], source["age"], strict=True)):
        low, high = ends(text)
        assert low <= int(value) <= high
    for name, tree in trees.items():
        assert all(text in tree[value] for text, value in set(zip(published[name], source[name], strict=True)))
    assert published[sensitive].tolist() == source[sensitive].tolist()
    assert release.loss.leaf == pytest.approx(leaf_loss(published, trees))
    return release


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("k", [10, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 5, 25, 50, 100))])
def test_release_file_of_mondrian(adult, k, relaxed, tmp_path):
    release = written(adult, k, tmp_path / "out.csv", method="mondrian", option={"relaxed": relaxed})
    if (adult[0], k, relaxed) == ("A", 10, False):
        assert release.loss.leaf <= 0.160


LONG = ("kmeans-adjusted", "kmeans-filled", "c-means")  # they are slow for small k, so `make bench` runs them


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "k"), [(name, k) for name in METHODS if name != "mondrian" for k in (5, 10) if k == 10 or name not in LONG]
)
def test_every_method_on_the_whole_table(adult, method, k, tmp_path):
    release = written(adult, k, tmp_path / "out.csv", method=method)
    assert release.summary()["blocks"] == 1
    if (adult[0], k, method) == ("A", 10, "k-member"):
        assert release.loss.leaf == pytest.approx(0.1118, rel=0.02)


def test_shuffled_release_has_the_same_rows(adult, tmp_path):
    """Without keep_order, the file has the same rows, including sensitive values, in another order."""
    letter, sample, source, _trees = adult
    for name, keep_order in (("kept.csv", True), ("shuffled.csv", False)):
        kohort.anonymize(sample.table, sample.job, k=10, seed=7, keep_order=keep_order, method="mondrian", output=tmp_path / name)
    kept, shuffled = read(tmp_path / "kept.csv"), read(tmp_path / "shuffled.csv")
    assert Counter(kept.itertuples(index=False)) == Counter(shuffled.itertuples(index=False))
    assert Counter(shuffled[SENSITIVE[letter]]) == Counter(source[SENSITIVE[letter]])
    assert (kept == shuffled).all(axis=1).mean() < 0.5


def test_missing_values_stay_missing_or_become_stars(public_data, tmp_path):
    """All 32,561 rows are published. `?` is missing; a group with missing and other values is published as `*`."""
    trees = {name: tree_of(public_data, name) for name in ("workclass", "native-country", "sex")}
    path = public_data / "adult" / "adult_with_missing.csv.gz"
    source = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=["?"])
    quasi = ["age", *trees]
    folder = public_data / "adult" / "hierarchies"
    release = kohort.anonymize(
        path,
        quasi=quasi,
        sensitive="occupation",
        drop=[name for name in source.columns if name not in {*quasi, "occupation"}],
        hierarchy={name: folder / f"{name}.csv" for name in trees},
        missing="?",
        method="mondrian",
        k=10,
        keep_order=True,
        output=tmp_path / "out.csv",
    )
    published = read(tmp_path / "out.csv")
    sizes = published.groupby(quasi, dropna=False).size()
    assert (len(published), sizes.sum(), sizes.min() >= 10) == (32_561, 32_561, True)
    assert release.evidence.classes == len(sizes)
    assert published["occupation"].isna().sum() == 0  # sensitive values are published unchanged, also `?`
    for name, tree in trees.items():
        pairs = Counter(zip(published[name].fillna(""), source[name].fillna(""), strict=True))
        assert all(text in (tree[value] if value else ("", "*")) for text, value in pairs)
    assert published["workclass"].isna().sum() > 0
