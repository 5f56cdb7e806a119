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
    Setting("sensitive", WHAT_TO_PUBLISH, "A,B", "Columns to protect, such as a diagnosis. Published unchanged."),
    Setting(
        "identifier", WHAT_TO_PUBLISH, "A,B", "Columns that identify a person: name, address, insurance number. Never published."
    ),
    Setting(
        "unit",
        WHAT_TO_PUBLISH,
        "COL",
        "Column that tells people apart if a person has several rows. kohort then counts people. Never published.",
    ),
    Setting("other", WHAT_TO_PUBLISH, "A,B", "Columns to publish unchanged that are neither known to others nor sensitive."),
    Setting("drop", WHAT_TO_PUBLISH, "A,B", "Columns to leave out."),
    Setting(
        "allow",
        WHAT_TO_PUBLISH,
        "COL",
        "Publish this `other` column although it looks like free text, or has a different value in each row.",
    ),
    # --- promises
    Setting(
        "preset",
        PROMISES,
        "NAME",
        "Minimum promise for a kind of recipient: internal, trusted, public or high-risk. Weaker settings are refused.",
    ),
    Setting("k", PROMISES, "5", "Every row is identical to at least k-1 others in its quasi-identifiers.", "5"),
    Setting("l", PROMISES, "3", "Every group has at least this many different sensitive values."),
    Setting(
        "alpha", PROMISES, "0.5", "No sensitive value may exceed this share of a group. VALUE=0.2 sets the limit for one value."
    ),
    Setting(
        "entropy_l", PROMISES, "3", "Sensitive values of every group are as mixed as this many equally frequent values (entropy)."
    ),
    Setting(
        "recursive_l",
        PROMISES,
        "L,C",
        "In every group the most frequent value has fewer rows than C times all values from the L-th most frequent on.",
    ),
    Setting(
        "t",
        PROMISES,
        "0.2",
        "In every group sensitive values are distributed as in the whole table, up to this distance (0 to 1).",
    ),
    Setting(
        "t_distance",
        PROMISES,
        "equal|ordered|tree",
        "Distance between two values for t: all equally far, by their order, or by their tree.",
        "equal",
    ),
    Setting("beta", PROMISES, "1", "In no group may a value be more than (1 + beta) times as frequent as in the whole table."),
    Setting("beta_kind", PROMISES, "enhanced|basic", "With enhanced, frequent values have a stricter limit.", "enhanced"),
    Setting(
        "delta",
        PROMISES,
        "1",
        "In every group each value occurs, and is less than 2^delta times more or less frequent than in the whole table.",
    ),
    Setting(
        "suppress", PROMISES, "0.02", "Share of the rows that kohort may leave out if that keeps more detail in the others.", "0"
    ),
    Setting("suppressed", PROMISES, "leave|star", "Drop suppressed rows, or publish them as one group of `*`.", "leave"),
    # --- method
    Setting("method", METHOD, "NAME", "How to form groups. `kohort methods` lists all.", "auto"),
    Setting("effort", METHOD, "1", "Rounds of improvement; 0 for none.", "1 for auto, merge and top-down, else 0"),
    Setting(
        "objective",
        METHOD,
        "leaf|height|square-error|class",
        "What to keep low: detail lost by tree leaves or by tree height, squared error, or mixed labels in a group.",
        "leaf",
    ),
    Setting("label", METHOD, "COL", "With objective class: the column whose values should stay together in a group."),
    Setting("weight", METHOD, "COL=2", "Importance of a column. Detail lost in it counts this many times.", "1"),
    Setting("workload", METHOD, "FILE", "Queries (TOML) to optimise the release for."),
    Setting("option", METHOD, "NAME=VALUE", "Option of the method. `kohort methods NAME` lists them."),
    Setting("block", METHOD, "20000", "Slow methods work on parts of this many rows; 0 for the whole table at once.", "20000"),
    Setting("seed", METHOD, "7", "Start of the random numbers. Same job and seed, same release.", "random, saved with the job"),
    Setting(
        "row_order",
        METHOD,
        "canonical|given",
        "Order in which the method sees rows. With given, results depend on the file's order.",
        "canonical",
    ),
    # --- values and trees
    Setting("hierarchies", VALUES_AND_TREES, "DIR", "Folder of tree files, one for a column: zip.csv is the tree of zip."),
    Setting(
        "hierarchy",
        VALUES_AND_TREES,
        "COL=TREE",
        "Tree of one column: a file with lines value;level1;...;* or a rule: prefix:3,2 or interval:5,10.",
    ),
    Setting(
        "type", VALUES_AND_TREES, "COL=TYPE", "Type of a column: integer, decimal, boolean, date, timestamp or text.", "detected"
    ),
    Setting("format", VALUES_AND_TREES, "COL=DD.MM.YYYY", "How dates are written.", "detected"),
    Setting("missing", VALUES_AND_TREES, "'?'", "Text that means a missing value, in addition to the empty cell."),
    Setting("encoding", VALUES_AND_TREES, "latin-1", "Encoding of a text file.", "UTF-8; UTF-16 is detected"),
    Setting("statistic", VALUES_AND_TREES, "COL=both", "Publish a number's range, its mean in the group, or both.", "range"),
    Setting(
        "ranges",
        VALUES_AND_TREES,
        "tight|grid",
        "Ranges begin and end at values of the group (tight), or at multiples of a step (grid).",
        "tight",
    ),
    Setting(
        "step",
        VALUES_AND_TREES,
        "COL=5",
        "With ranges grid: the step of one column.",
        "5 for integers, 1 for decimals, months for dates",
    ),
    # --- output
    Setting("keep_order", OUTPUT, "", "Keep the order of the rows. Without it kohort shuffles them."),
    # --- running
    Setting(
        "engine",
        RUNNING,
        "auto|memory|disk|spark",
        "Where to process rows. With auto: in memory if the table fits, else on disk.",
        "auto",
    ),
    Setting("memory", RUNNING, "2GiB", "Memory limit. Larger tables are processed on disk within this limit.", "2GiB"),
    Setting("master", RUNNING, "URL", "Spark master to start a session on: local[4] or spark://host:7077.", "as Spark is set up"),
    Setting("threads", RUNNING, "N", "Threads to use.", "all cores"),
)

SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _TABLE}
"""Every setting by name, in the order in which people read them."""
