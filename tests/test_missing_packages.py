"""Tests that need what is not installed: skipped, counted in a line, and run once it is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"

TESTS = """
import pytest

def test_with_it():
    assert pytest.importorskip("some_extra_package").ANSWER == 42

def test_without_it():
    pass

@pytest.mark.skipif(True, reason="no full moon")
def test_at_another_time():
    pass

@pytest.mark.slow
def test_at_length():
    pass
"""

DOCTESTS = '''
import some_extra_package

def double(number):
    """
    >>> double(some_extra_package.ANSWER)
    84
    """
    return 2 * number
'''

SETTINGS = """
[pytest]
testpaths = src tests
addopts = --doctest-modules --import-mode=importlib
markers = slow
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "pytest.ini": SETTINGS,
        "src/double.py": DOCTESTS,
        "tests/test_double.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copy(CONFTEST, tmp_path)
    return tmp_path


def pytest_in(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(project / "extras"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )


def install(project: Path) -> None:
    (project / "extras").mkdir()
    (project / "extras" / "some_extra_package.py").write_text("ANSWER = 42\n")


in_one_and_in_two_processes = pytest.mark.parametrize("workers", ["0", "2"])


@in_one_and_in_two_processes
def test_a_missing_package_skips_its_tests_and_doctests_in_one_line(
    project: Path, workers: str
) -> None:
    done = pytest_in(project, "-p", "xdist", "-n", workers, "-m", "not slow")
    assert done.returncode == 0, done.stdout
    assert "skipped, since not installed: some_extra_package (2)" in done.stdout
    assert "skipped for other reasons: 1" in done.stdout
    assert "1 passed, 3 skipped" in done.stdout


@in_one_and_in_two_processes
def test_where_nothing_may_be_missing_the_run_fails(project: Path, workers: str) -> None:
    done = pytest_in(project, "-p", "xdist", "-n", workers, "--nothing-missing")
    assert done.returncode == 1
    assert "nothing may be missing, and is: some_extra_package" in done.stdout


@in_one_and_in_two_processes
def test_what_was_skipped_runs_by_itself_once_it_can(project: Path, workers: str) -> None:
    parallel = ("-p", "xdist", "-n", workers)
    pytest_in(project, *parallel, "-m", "not slow")
    install(project)
    done = pytest_in(project, *parallel, "--only-skipped", "--nothing-missing")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
    done = pytest_in(project, *parallel, "--only-skipped", "--and-slow", "--nothing-missing")
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


@in_one_and_in_two_processes
def test_where_nothing_was_skipped_nothing_is_left_to_run(project: Path, workers: str) -> None:
    install(project)
    pytest_in(project)
    done = pytest_in(project, "-p", "xdist", "-n", workers, "--only-skipped", "--nothing-missing")
    assert done.returncode == 0, done.stdout


def test_what_was_skipped_is_known_only_after_a_run(project: Path) -> None:
    done = pytest_in(project, "--only-skipped")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "needs an earlier run of all tests" in done.stdout + done.stderr


def test_a_module_of_ours_that_is_missing_is_no_optional_package(project: Path) -> None:
    (project / "src" / "double.py").write_text("import peerexam.no_such_module\n")
    assert pytest_in(project).returncode != 0
