"""Result of an audit: a list of checks, each with the required figure and the figure found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kohort.auditor.homogeneity import Homogeneity, JointHomogeneity

if TYPE_CHECKING:
    from kohort.report.notebook import Panels

Verdict = Literal["pass", "warn", "fail", "not run"]


@dataclass(frozen=True)
class Check:
    """One check of an audit: what was required, what was found, and the verdict.

    Parameters
    ----------
    name
        Short name that programs can rely on, such as ``"k"`` or ``"l diagnosis"``.
    required
        The required figure, or None if there is none.
    found
        The figure found in the release, or None if the check was not run.
    verdict
        ``"pass"``, ``"warn"``, ``"fail"`` or ``"not run"``.
    meaning
        What the figure means, in plain words.
    sql
        The SQL queries that produced the figure.

    Examples
    --------
    >>> from kohort import Check
    >>> check = Check("k", required=5, found=7, verdict="pass", meaning="Smallest group.")
    >>> check.found >= check.required
    True

    """

    name: str
    required: int | float | str | None
    found: int | float | str | None
    verdict: Verdict
    meaning: str
    sql: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the check as a dictionary for JSON, without the SQL.

        Returns
        -------
        dict
            The keys are `name`, `required`, `found`, `verdict` and `meaning`.

        Examples
        --------
        >>> Check("rows", 100, 100, "pass", "Rows in the release.").to_dict()
        {'name': 'rows', 'required': 100, 'found': 100, 'verdict': 'pass', 'meaning': 'Rows in the release.'}

        """
        facts = {"name": self.name, "required": self.required, "found": self.found, "verdict": self.verdict}
        return {**facts, "meaning": self.meaning}


@dataclass(frozen=True, repr=False)
class Evidence:
    """Result of an audit: all checks and the figures behind them, counted in the release itself.

    `kohort.audit` returns it, and `Release.evidence` holds it.

    Parameters
    ----------
    rows
        Number of rows in the release.
    classes
        Number of groups (equivalence classes): sets of rows with the same published quasi-identifiers.
    k
        Size of the smallest group, in rows or, if a unit column is given, in people.
    dm
        Discernibility: the sum of the squared group sizes.
    checks
        All checks, in the order in which they were run.
    columns
        Column names by their alias in the SQL: q1, q2, ... quasi-identifiers, s1, ... sensitive columns, o1, ... other columns.
    homogeneity
        For each sensitive column, how much a person's group reveals about the value. Filled by `kohort.audit`.
    homogeneity_all
        The same for all sensitive columns together, if there are several.

    Examples
    --------
    >>> import kohort as kh
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["[20 - 30]"] * 3 + ["[40 - 50]"] * 4, "disease": list("abaabbb")})
    >>> evidence = kh.audit(table, quasi="age", sensitive="disease", k=3)
    >>> evidence
    Evidence(7 rows, 2 groups, k=3, audit passed)
    >>> evidence.rows, evidence.classes, evidence.k, evidence.dm
    (7, 2, 3, 25)
    >>> for check in evidence.checks[:2]:
    ...     print(check.verdict, check.name, check.found, check.meaning)
    pass k 3 Smallest group of rows with the same published quasi-identifiers. An empty cell counts as a value.
    pass wildcard 3 Smallest group if `*` and empty cells may match any value.
    >>> evidence.columns
    {'q1': 'age', 's1': 'disease'}
    >>> evidence.homogeneity[0].max  # in the second group, 3 of 4 rows have the same disease
    0.75
    >>> evidence.homogeneity_all is None
    True

    """

    rows: int
    classes: int
    k: int
    dm: int
    checks: tuple[Check, ...]
    columns: Mapping[str, str]
    homogeneity: tuple[Homogeneity, ...] = ()
    homogeneity_all: JointHomogeneity | None = None

    @property
    def passed(self) -> bool:
        """Whether no check failed.

        Examples
        --------
        >>> import kohort as kh
        >>> import pyarrow as pa
        >>> kh.audit(pa.table({"age": [20, 20, 30]}), quasi="age", k=2).passed  # one group has a single row
        False

        """
        return all(check.verdict != "fail" for check in self.checks)

    def __repr__(self) -> str:
        failed = ", ".join(check.name for check in self.failures())
        verdict = f"FAILED: {failed}" if failed else "passed"
        return f"Evidence({self.rows:,} rows, {self.classes:,} groups, k={self.k}, audit {verdict})"

    def failures(self) -> list[Check]:
        """Return the checks that failed.

        Returns
        -------
        list of Check
            Empty if the audit passed.

        Examples
        --------
        >>> import kohort as kh
        >>> import pyarrow as pa
        >>> evidence = kh.audit(pa.table({"age": [20, 20, 30]}), quasi="age", k=2)
        >>> [(check.name, check.required, check.found) for check in evidence.failures()]
        [('k', 2, 1), ('wildcard', 2, 1)]

        """
        return [check for check in self.checks if check.verdict == "fail"]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict and all checks as a dictionary for JSON.

        Returns
        -------
        dict
            The keys are `passed` and `checks`.

        Examples
        --------
        >>> import kohort as kh
        >>> import pyarrow as pa
        >>> facts = kh.audit(pa.table({"age": [20, 20, 30, 30]}), quasi="age", k=2).to_dict()
        >>> facts["passed"], facts["checks"][0]["name"]
        (True, 'k')

        """
        return {"passed": self.passed, "checks": [check.to_dict() for check in self.checks]}

    def graph(self) -> Panels:
        """Draw which groups have which sensitive values. Only for small tables.

        Returns
        -------
        Panels
            An array with one matplotlib axes for each sensitive column. A notebook shows it as a picture.

        Raises
        ------
        RequestError
            If no sensitive column was named, or if there are too many values or groups for a readable picture.

        Examples
        --------
        >>> import kohort as kh
        >>> import pyarrow as pa
        >>> table = pa.table({"age": ["[20 - 30]"] * 3, "disease": list("aba")})
        >>> panels = kh.audit(table, quasi="age", sensitive="disease", k=3).graph()
        >>> len(panels)
        1

        """
        from kohort.report.notebook import homogeneity_graph

        return homogeneity_graph(self)

    def curves(self) -> Panels:
        """Draw how many groups with a single sensitive value to expect, by the number of rows and by k.

        Returns
        -------
        Panels
            An array with two matplotlib axes. A notebook shows it as a picture.

        Raises
        ------
        RequestError
            If no sensitive column was named, or if the table has no rows.

        Examples
        --------
        >>> import kohort as kh
        >>> import pyarrow as pa
        >>> table = pa.table({"age": ["[20 - 30]"] * 3, "disease": list("aba")})
        >>> panels = kh.audit(table, quasi="age", sensitive="disease", k=3).curves()
        >>> [axes.get_title("left") for axes in panels]
        ['More rows: more such groups', 'Larger k: fewer such groups']

        """
        from kohort.report.notebook import homogeneity_curves

        return homogeneity_curves(self)

    def _repr_html_(self) -> str:
        from kohort.report.notebook import evidence_html  # imported here: the auditor does not depend on how it is displayed

        return evidence_html(self)
