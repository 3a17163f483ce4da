"""What is not installed here: the tests that need it are skipped, counted in one line, found again.

Such a skip is no failure where somebody works without the package or program, and is one where all
is said to be installed (`--nothing-missing`). `--only-skipped` runs what the last run of the whole
suite had to leave out; with `--and-slow`, also what `make test` leaves out or does in part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

import pytest

_KEPT = "peerexam/skipped"
_LACKING = re.compile(r"could not import '([\w.]+)'|\b([\w-]+) is not installed")
_BY_CHOICE = frozenset({"gemma", "uvloop"})
"""Not having them is never a failure: a licence to accept, and a package some systems lack."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the three options."""
    group = parser.getgroup("peerexam")
    group.addoption(
        "--only-skipped",
        action="store_true",
        help="run what the last run of all tests skipped for want of a package or a program",
    )
    group.addoption(
        "--and-slow",
        action="store_true",
        help="with --only-skipped: also what is marked slow, and what tries generated examples",
    )
    group.addoption(
        "--nothing-missing", action="store_true", help="such a skip is a failure of the run"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registered as a plug-in, so that its hooks see doctests of src/ and tests alike."""
    config.pluginmanager.register(_Missing(config), "peerexam-missing")


class _Missing:
    """Counts skips by what they lack, over tests and whole modules."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # By node: two workers both report a module that is skipped whole.
        self._lacked: dict[str, str | None] = {}
        self._kept: list[str] | None = None
        if config.getoption("--only-skipped"):
            self._kept = None if config.cache is None else config.cache.get(_KEPT, None)
            if self._kept is None:
                raise pytest.UsageError("--only-skipped needs an earlier run of all tests")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Skip the doctests of a module that needs an optional package, as its tests are."""
        report = yield
        package = _package_lacked(report)
        if report.failed and package is not None:
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"could not import '{package}'")
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a module that is skipped whole."""
        self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that is skipped."""
        self._note(report)

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        # An expected failure is reported as skipped, too.
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        found = _LACKING.search(str(why))
        name = None if found is None else (found[1] or found[2]).split(".")[0]
        self._lacked[report.nodeid] = name

    @pytest.hookimpl(trylast=True)  # Hypothesis marks its tests in the same hook
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what was skipped, a test by itself or with its module."""
        if self._kept is None:
            return
        kept = set(self._kept)
        marks = {"slow", "hypothesis"} if self._config.getoption("--and-slow") else set()
        chosen: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            wanted = kept & {item.nodeid, item.nodeid.split("::")[0]}
            wanted |= marks & {mark.name for mark in item.iter_markers()}
            (chosen if wanted else others).append(item)
        self._config.hook.pytest_deselected(items=others)
        items[:] = chosen

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep what was skipped for the next run, and say whether that is a failure."""
        if hasattr(self._config, "workerinput"):
            return  # one of several workers, which sees a part; their reports come together
        whole = self._config.args_source is pytest.Config.ArgsSource.TESTPATHS
        if whole and self._kept is None and self._config.cache is not None:
            lacking = [node for node, name in self._lacked.items() if name is not None]
            self._config.cache.set(_KEPT, lacking)
        if self._kept == [] and session.exitstatus is pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
        if self._failures() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name in one line what is missing and how much it skipped."""
        times = Counter(self._lacked.values())
        others = times.pop(None, 0)
        if times:
            parts = [f"{name} ({times[name]})" for name in self._lacking()]
            how = "" if self._config.getoption("--nothing-missing") else "; `make test-rest` has it"
            terminalreporter.write_line(f"skipped, since not installed: {', '.join(parts)}{how}")
        if others:
            terminalreporter.write_line(f"skipped for other reasons: {others} (pytest -rs)")
        if self._failures():
            names = ", ".join(self._failures())
            terminalreporter.write_line(f"FAILED: nothing may be missing, and is: {names}")

    def _failures(self) -> Sequence[str]:
        if not self._config.getoption("--nothing-missing"):
            return ()
        return [name for name in self._lacking() if name not in _BY_CHOICE]

    def _lacking(self) -> list[str]:
        return sorted({name for name in self._lacked.values() if name is not None})


def _package_lacked(report: pytest.CollectReport) -> str | None:
    """The package that a module of ours could not import, None where it is one of ours."""
    call = getattr(report, "call", None)
    error = None if call is None or call.excinfo is None else call.excinfo.value
    cause = error if isinstance(error, ModuleNotFoundError) else getattr(error, "__cause__", None)
    name = cause.name if isinstance(cause, ModuleNotFoundError) else None
    return None if name is None or name.split(".")[0] == "peerexam" else name
