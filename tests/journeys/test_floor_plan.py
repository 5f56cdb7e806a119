"""The floor plan: every module has a test file, no file name is used twice, every package has a docstring."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "src" / "kohort"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

# Key: a module, or a whole folder if it ends with a slash. Value: the test file that covers it, and what that file tests.
TESTED_ELSEWHERE = {
    "__init__.py": "journeys/test_imports.py: what an import of the package loads",
    "__main__.py": "journeys/test_imports.py: starts the command line in a separate process",
    "auditor/dates.py": "schema/test_date_formats.py: the auditor reads published dates",
    "auditor/evidence.py": "auditor/test_release_checks.py: what an audit returns",
    "auditor/value_class_graph.py": "auditor/test_homogeneity.py: the graph holds the same counts",
    "cli/": "cli/test_commands.py: every command is called",
    "constraints/kernel_rules.py": "constraints/test_constraints.py: the rules of kernels are compared with plain counts",
    "datasets.py": "journeys/test_adult.py: reads the public tables",
    "encoding/date_axis.py": "encoding/test_axes.py: one test for axes of all types",
    "encoding/points.py": "encoding/test_encode.py: a table is turned into points",
    "encoding/tree_axis.py": "encoding/test_axes.py: one test for axes of all types",
    "encoding/groups.py": "methods/test_run.py: groups of every method",
    "engines/base.py": "journeys/test_contracts.py: the steps of every engine",
    "engines/memory.py": "journeys/test_contracts.py: other engines are compared with this one",
    "engines/disk/": "engines/disk/test_engine.py: releases of the whole engine are compared with those in memory",
    "engines/shared/": "journeys/test_contracts.py: releases of all engines are compared",
    "engines/spark/": "engines/spark/test_engine.py: releases of the whole engine are compared with those in memory",
    "errors.py": "cli/test_commands.py: exit codes and messages",
    "job/files.py": "job/test_job.py: jobs are saved and loaded",
    "job/validation.py": "job/test_job.py: every mistake of a job",
    "kernels/": "kernels/test_kernels.py: kernels are tested through methods/, against tests/oracles, label by label",
    "methods/method.py": "journeys/test_contracts.py: what every method must have",
    "methods/c_means.py": "methods/search/test_kmeans_clusters.py: one test for all methods that move centroids",
    "methods/feature_options.py": "methods/search/test_kmeans_clusters.py: options of methods that move centroids",
    "methods/gccg.py": "methods/search/test_grow_groups.py: one test for all methods that grow groups",
    "methods/k_member.py": "methods/search/test_grow_groups.py: one test for all methods that grow groups",
    "methods/k_members.py": "methods/search/test_grow_groups.py: one test for all methods that grow groups",
    "methods/kaca.py": "methods/search/test_grow_groups.py: one test for all methods that grow groups",
    "methods/kmeans_adjusted.py": "methods/search/test_kmeans_clusters.py: one test for all methods that move centroids",
    "methods/kmeans_filled.py": "methods/search/test_kmeans_clusters.py: one test for all methods that move centroids",
    "methods/kmeans_then_adjusted.py": "methods/search/test_kmeans_clusters.py: one test for all methods that move centroids",
    "methods/oka.py": "methods/search/test_kmeans_clusters.py: one test for all methods that move centroids",
    "methods/threshold.py": "methods/search/test_grow_groups.py: one test for all methods that grow groups",
    "methods/search/centroid_features.py": "methods/search/test_kmeans_clusters.py: features are compared with the plain version",
    "publishing/boxes.py": "utility/test_loss.py: published text of given groups",
    "publishing/published_rows.py": "tables/frames/test_arrow_table.py: cells of other rows are removed",
    "publishing/texts.py": "utility/test_loss.py: published text of given groups",
    "report/audit_figures.py": "report/test_homogeneity_text.py: figures that an audit prints",
    "report/comparison_rows.py": "report/test_comparison_page.py: rows of a comparison's table",
    "schema/promises/": "schema/promises/test_promises.py: every promise, and constraints/test_constraints.py: its fast check",
    "schema/setting_texts.py": "test_api.py: every setting has a text, and the text has the true default",
    "wording.py": "cli/test_commands.py: results have per cents and counts; its own doctests",
    "schema/presets.py": "job/test_job.py: a preset is a lower limit",
    "tables/frames/frame_library.py": "tables/frames/test_frames.py: what all libraries share",
    "tables/cell_text.py": "auditor/test_release_checks.py: cells are compared as text",
    "tables/files/csv_file.py": "tables/files/test_csv_reader.py: each part of the CSV code has a test",
    "tables/files/whole_table.py": "tables/files/test_registry.py: a format that is read as a whole",
    "tables/source.py": "tables/files/test_registry.py: a file is detected once",
    "tables/locations.py": "tables/test_staging.py: where files are written",
    "testing/": "journeys/test_contracts.py: runs every contract",
    "utility/aligned.py": "utility/test_structure.py: rows of a release with the rows of its source",
    "utility/bins.py": "utility/test_column_distances.py: bins are compared with loops over rows",
    "utility/queries/predicates.py": "utility/queries/test_answers.py: predicates are compared with plain counts",
    "utility/queries/value_domains.py": "utility/queries/test_answers.py: the values that a published cell can mean",
    "verification/expected.py": "auditor/test_release_checks.py: what the auditor compares a release with",
    "verification/verify.py": "auditor/test_release_checks.py: releases that were changed are refused",
}


def own_test(module: str) -> Path:
    """Return the test file of a module: tests/<package>/test_<module>.py. For a package it is test_<package>.py in its folder."""
    path = Path(module)
    name = (path.parent.name or "kohort") if path.stem == "__init__" else path.stem
    return TESTS / path.parent / f"test_{name}.py"


def syntax(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


def holds_code(module: str) -> bool:
    return any(isinstance(statement, ast.FunctionDef | ast.ClassDef) for statement in syntax(module).body)


def covering_key(module: str) -> str | None:
    """Return the key of TESTED_ELSEWHERE that covers a module: the module itself, or the nearest folder that contains it."""
    folders = [f"{folder.as_posix()}/" for folder in Path(module).parents]
    return next((key for key in (module, *folders) if key in TESTED_ELSEWHERE), None)


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_test_file(module):
    if not module.endswith("__init__.py") or holds_code(module):
        assert own_test(module).is_file() or covering_key(module), (
            f"{module} has no test: write {own_test(module).relative_to(TESTS.parent)}, "
            "or name the test that covers it in TESTED_ELSEWHERE."
        )


def test_reasons_for_no_test_file_are_still_true():
    """The named test file exists, and the module still has no test file of its own."""
    for module, reason in TESTED_ELSEWHERE.items():
        assert (PACKAGE / module).exists(), f"{module} does not exist: remove it from TESTED_ELSEWHERE"
        assert (TESTS / reason.partition(": ")[0]).is_file(), reason
        assert module.endswith("/") or not own_test(module).is_file(), (
            f"{module} has its own test: remove it from TESTED_ELSEWHERE"
        )


def test_no_file_name_is_used_twice():
    """Allowed are a kernel and the method or search step that it serves, and corresponding parts of engines."""
    areas_of = defaultdict(list)
    for module in MODULES:
        path = Path(module)
        engine = path.parts[0] == "engines" and len(path.parts) > 2 and path.parts[1] != "shared"
        area = "kernels" if path.parts[0] == "kernels" else "engines" if engine else module
        if path.stem != "__init__":
            areas_of[path.stem].append(area)
    twice = set()
    for name, areas in areas_of.items():
        served = [area for area in areas if area.startswith("methods/")]
        others = set(areas) - {"kernels"} if len(served) == 1 else set(areas)
        if len(others) > 1 or (areas.count("kernels") > 1):
            twice.add(name)
    assert not twice


@pytest.mark.parametrize("module", [module for module in MODULES if module.endswith("__init__.py")])
def test_every_package_has_a_docstring(module):
    assert ast.get_docstring(syntax(module)), f"{module} must start with a docstring"
