from __future__ import annotations

from pathlib import Path

import pytest

from peerexam.errors import ConfigError, SetupError
from peerexam.protocols.config.domains import chosen_domains, domain_count, domain_notes
from peerexam.protocols.config.loading import dump_config, load_config
from peerexam.protocols.config.models import ExamConfig, Questions
from peerexam.protocols.planning.plan import plan
from peerexam.protocols.run.runner import run
from peerexam.records import Domain
from peerexam.runfolder import RunFolder

EXAM = """\
agents:
  - {name: a, model: "sim/0.9"}
  - {name: b, model: "sim/0.5"}
  - {name: c, model: "sim/0.2"}
questions:
"""


def _load(folder: Path, questions: str, *overrides: str) -> ExamConfig:
    (folder / "EXAM.yaml").write_text(EXAM + questions, encoding="utf-8")
    return load_config(folder / "EXAM.yaml", environ={}, overrides=overrides)


def test_named_domains_are_cleaned_and_noted() -> None:
    questions = Questions(domains=("Physics", "Arts\u202e \x1b[2J", "../../etc"))
    domains = chosen_domains(questions, 0)
    assert domains[0] == Domain("Physics", ("Physics",))
    assert [one.name for one in domains] == ["Physics", "Arts [2J", "../../etc"]
    assert domain_count(questions) == 3
    (note,) = domain_notes(questions)
    assert note.isprintable()
    assert "'Arts [2J'" in note


@pytest.mark.parametrize("names", [("",), ("..",), ("x" * 10_000,), ("Physics", "PHYSICS ")])
def test_names_that_cannot_be_domains_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(SetupError):
        chosen_domains(Questions(domains=names), 0)


def test_a_draw_has_the_exam_s_seed() -> None:
    questions = Questions(taxonomy="google-trends", sample=20)
    assert chosen_domains(questions, 1) == chosen_domains(questions, 1)
    assert chosen_domains(questions, 1) != chosen_domains(questions, 2)
    assert domain_count(questions) == len(chosen_domains(questions, 1)) == 20


def test_a_stratified_draw_takes_from_every_first_level_alike() -> None:
    questions = Questions(taxonomy="google-trends", sample=25, stratified=True)
    assert len({domain.path[0] for domain in chosen_domains(questions, 1)}) == 25


def test_without_a_sample_a_taxonomy_is_asked_about_as_a_whole() -> None:
    questions = Questions(taxonomy="google-trends")
    assert domain_count(questions) == len(chosen_domains(questions, 0)) == 1131


def test_a_taxonomy_s_path_is_relative_to_the_config(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("Science: [Physics]\n", encoding="utf-8")
    config = _load(tmp_path, "  {taxonomy: own.yaml, per_domain: 1}\n")
    assert config.questions.taxonomy == str(tmp_path.resolve() / "own.yaml")
    assert [one.name for one in chosen_domains(config.questions, 0)] == ["Science", "Physics"]


def test_the_built_in_name_is_no_path_and_survives_a_dump(tmp_path: Path) -> None:
    config = _load(tmp_path, "  {taxonomy: google-trends, sample: 2}\n")
    assert config.questions.taxonomy == "google-trends"
    assert "taxonomy: google-trends" in dump_config(config)


@pytest.mark.parametrize(
    ("questions", "line", "message"),
    [
        ("  taxonomy: missing.yaml\n", 6, "there is no taxonomy and no file"),
        ("  taxonomy: broken.csv\n", 6, r"broken\.csv:2: .*own ancestor"),
        ("  taxonomy: google-trends\n  sample: 5000\n", 7, "1131 domains, and 5000"),
        ("  domains: [Physics, physics]\n", 6, "are one"),
        ("  domains:\n  - Physics\n  - '..'\n", 8, "no letter or digit"),
    ],
)
def test_a_bad_choice_of_domains_is_refused_when_the_config_is_loaded(
    tmp_path: Path, questions: str, line: int, message: str
) -> None:
    (tmp_path / "broken.csv").write_text("name,parent\nA,A\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"EXAM\.yaml:{line}: .*{message}"):
        _load(tmp_path, questions)


def test_a_plan_counts_drawn_domains(tmp_path: Path) -> None:
    config = _load(tmp_path, "  {taxonomy: google-trends, sample: 20, per_domain: 2}\n")
    planned = plan(config)
    assert planned.questions == 3 * 20 * 2
    setting = [line.calls for line in planned.lines if line.task == "questions"]
    assert [calls.expected for calls in setting] == [20, 20, 20]


def test_an_exam_asks_about_what_was_drawn_with_its_whole_path(tmp_path: Path) -> None:
    config = _load(tmp_path, "  {taxonomy: google-trends, sample: 4, per_domain: 1}\n", "seed=3")
    outcome = run(config, tmp_path / "run")
    expected = {(one.name, one.path) for one in chosen_domains(config.questions, 3)}
    asked = {(one.domain, one.domain_path) for one in RunFolder(outcome.folder).questions()}
    assert outcome.status == "complete"
    assert asked == expected


def test_what_became_of_a_taxonomy_s_names_is_in_the_manifest(tmp_path: Path) -> None:
    names = ["Physics", "physics", *("x" * (300 + at) for at in range(30))]
    (tmp_path / "own.txt").write_text("\n".join(names), encoding="utf-8")
    outcome = run(_load(tmp_path, "  {taxonomy: own.txt, per_domain: 1}\n"), tmp_path / "run")
    notes = RunFolder(outcome.folder).read_manifest()["notes"]
    assert "own.txt:2: 'physics' stands in line 1 already: one domain" in notes
    assert "and 11 more names like these" in notes
