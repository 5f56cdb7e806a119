"""Every setting of a job in one line: the help, the reference and the docstrings all take their words from here.

A setting has the same name as keyword argument, command-line flag and key of the job file. This module imports nothing
heavy, because `kohort --help` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass

WHAT_TO_PUBLISH = "What to publish"
PROMISES = "Promises"
METHOD = "Method"
VALUES_AND_TREES = "Values and trees"
OUTPUT = "Output"
RUNNING = "Running"
SECTIONS = (WHAT_TO_PUBLISH, PROMISES, METHOD, VALUES_AND_TREES, OUTPUT, RUNNING)


@dataclass(frozen=True)
class Setting:
    """One setting, in the words that people read."""

    name: str
    section: str
    example: str
    """A value as it is typed after the flag, or its choices; empty for a switch."""
    text: str
    """What it means, in one or two short sentences."""
    default: str = ""
    """What holds where the setting is not given, in words; empty where the text says it."""

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def line(self) -> str:
        """The text with its default, as the help prints it."""
        return f"{self.text} [default: {self.default}]" if self.default else self.text


_TABLE = (
    # --- what to publish: one role for each column
    Setting(
        "quasi",
        WHAT_TO_PUBLISH,
        "A,B",
        "Columns that other people may know (quasi-identifiers): age, sex, zip code. kohort generalises them.",
    ),
    Setting(
        "sensitive",
        WHAT_TO_PUBLISH,
        "A,B",
        "Columns that nobody should learn about a person, such as a diagnosis. Published unchanged: protect them with --l.",
    ),
    Setting(
        "identifier", WHAT_TO_PUBLISH, "A,B", "Columns that identify a person: name, address, insurance number. Never published."
    ),
    Setting(
        "unit",
        WHAT_TO_PUBLISH,
        "COL",
        "The patient number, if people have several rows: another for each person. kohort then counts people. Never published.",
    ),
    Setting("other", WHAT_TO_PUBLISH, "A,B", "Columns to publish unchanged that are neither known to others nor sensitive."),
    Setting("drop", WHAT_TO_PUBLISH, "A,B", "Columns that the recipient does not need. Not published."),
    Setting(
        "allow",
        WHAT_TO_PUBLISH,
        "COL",
        "Publish this `other` column although it looks like free text, or nearly every row has a different value.",
    ),
    # --- promises
    Setting(
        "preset",
        PROMISES,
        "NAME",
        "Sets k for a recipient; refuses less. internal: 3, trusted: 5, public: 11, high-risk: 20 (last two: also round ranges).",
    ),
    Setting(
        "k",
        PROMISES,
        "5",
        "Every row has the same quasi-identifiers as at least k-1 others. So a group has k rows or more (with --unit: k people).",
        "5",
    ),
    Setting(
        "l",
        PROMISES,
        "3",
        "Every group has at least this many different values in each sensitive column. A missing value counts as one.",
    ),
    Setting(
        "alpha",
        PROMISES,
        "0.5",
        "Largest share of a group (0.5: half) that may have the same sensitive value. HIV=0.2: a limit for the value HIV only.",
    ),
    Setting(
        "entropy_l",
        PROMISES,
        "3",
        "Like l, but by entropy: every group is at least as mixed as this many equally frequent values.",
    ),
    Setting(
        "recursive_l",
        PROMISES,
        "L,C",
        "In every group: rows of the most frequent value < C x (rows of the L-th most frequent value and of all rarer ones).",
    ),
    Setting(
        "t",
        PROMISES,
        "0.2",
        "Largest distance (more than 0, less than 1) between the distribution of values in a group and in the whole release.",
    ),
    Setting(
        "t_distance",
        PROMISES,
        "equal|ordered|tree",
        "Distance between two values for t: all the same, by their order, or by their tree.",
        "equal",
    ),
    Setting("beta", PROMISES, "1", "In no group may a value be more than (1 + beta) times as frequent as in the whole release."),
    Setting("beta_kind", PROMISES, "enhanced|basic", "With enhanced, frequent values have a stricter limit.", "enhanced"),
    Setting(
        "delta",
        PROMISES,
        "1",
        "Every value occurs in every group, between 1/2^delta and 2^delta times as often as in the release (1: half to twice).",
    ),
    Setting(
        "suppress",
        PROMISES,
        "0.02",
        "Largest share of the rows (0.02: 2 %) that may be suppressed, to lose less detail or to keep a promise.",
        "0",
    ),
    Setting(
        "suppressed",
        PROMISES,
        "leave|star",
        "With leave, suppressed rows are removed. With star, they stay as one group of `*`, if that group keeps the promises.",
        "leave",
    ),
    # --- method
    Setting("method", METHOD, "NAME", "How to form groups. `kohort methods` lists all.", "auto"),
    Setting(
        "effort",
        METHOD,
        "1",
        "Rounds in which kohort improves the groups. More rounds: less detail lost, slower.",
        "1 for auto, merge and top-down, else 0",
    ),
    Setting(
        "objective",
        METHOD,
        "leaf|height|square-error|class",
        "Which kind of loss to keep small (see the glossary). class: keep rows with the same --label together, to train a model.",
        "leaf",
    ),
    Setting("label", METHOD, "COL", "With objective class: the column whose equal values should stay together."),
    Setting(
        "weight",
        METHOD,
        "COL=2",
        "Importance of a column: detail lost in it counts this many times. For more columns, repeat the flag.",
        "1",
    ),
    Setting("workload", METHOD, "FILE", "Queries (TOML) to optimise the release for; see docs/how-to/workloads.md."),
    Setting(
        "option", METHOD, "NAME=VALUE", "Option of the method. `kohort methods NAME` lists them. For several, repeat the flag."
    ),
    Setting(
        "block",
        METHOD,
        "20000",
        "Rows in a block. Most methods divide a table of more than two blocks and form groups inside each. 0: do not divide.",
        "20000",
    ),
    Setting(
        "seed",
        METHOD,
        "7",
        "Start of the random choices. The same table, job and seed give the same rows.",
        "random, saved with the job",
    ),
    Setting(
        "row_order",
        METHOD,
        "canonical|given",
        "Order in which the method reads rows: sorted (canonical) or as in the file (given).",
        "canonical",
    ),
    # --- values and trees
    Setting("hierarchies", VALUES_AND_TREES, "DIR", "Folder with tree files. The file zip.csv is the tree of the column zip."),
    Setting(
        "hierarchy",
        VALUES_AND_TREES,
        "COL=TREE",
        "Tree of a column: a file (lines value;level1;...;*) or a rule: prefix:3,2, interval:5,10, date, order, rare, flat.",
    ),
    Setting(
        "type",
        VALUES_AND_TREES,
        "COL=TYPE",
        "Type: integer, decimal, boolean (yes/no), date, timestamp (date and time) or text. For more columns, repeat the flag.",
        "detected",
    ),
    Setting(
        "format",
        VALUES_AND_TREES,
        "COL=DD.MM.YYYY",
        "How dates are written: DD (day), MM (month as 03) or MON (Mar), YYYY (year). For more columns, repeat the flag.",
        "detected",
    ),
    Setting(
        "missing",
        VALUES_AND_TREES,
        "'?'",
        "Text that means a missing value, in addition to the empty cell. For several, repeat the flag.",
    ),
    Setting("encoding", VALUES_AND_TREES, "latin-1", "Encoding of a text file.", "UTF-8; UTF-16 is detected"),
    Setting(
        "statistic",
        VALUES_AND_TREES,
        "COL=both",
        "For a number: publish its range, its mean in the group (as COL.mean), or both. For several, repeat the flag.",
        "range",
    ),
    Setting(
        "ranges",
        VALUES_AND_TREES,
        "tight|grid",
        "Ranges begin and end at values of people in the group (tight), or at multiples of a step (grid).",
        "tight",
    ),
    Setting(
        "step",
        VALUES_AND_TREES,
        "COL=5",
        "With ranges grid: the step of a column of numbers. For several, repeat the flag.",
        "5 for integers, 1 for decimals",
    ),
    # --- output
    Setting(
        "keep_order", OUTPUT, "", "Keep the order of the rows, which may reveal who is who. Without it kohort shuffles them."
    ),
    # --- running
    Setting(
        "engine",
        RUNNING,
        "auto|memory|disk|spark",
        "Where to process rows. With auto: in memory if the table fits, else on disk.",
        "auto",
    ),
    Setting(
        "memory",
        RUNNING,
        "2GiB",
        "Memory limit, at least 512MiB. Tables that need more are processed on disk within this limit.",
        "2GiB",
    ),
    Setting(
        "master",
        RUNNING,
        "URL",
        "For Spark: the master to start a session on, such as local[4] or spark://host:7077.",
        "as Spark is set up",
    ),
    Setting("threads", RUNNING, "N", "Threads to use.", "all cores"),
)

SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _TABLE}
"""Every setting by name, in the order in which people read them."""
