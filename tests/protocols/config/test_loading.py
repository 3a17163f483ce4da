"""What a user may write in EXAM.yaml, and what is said where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import ConfigError
from peerexam.protocols.config.loading import dump_config, load_agents, load_config
from peerexam.protocols.config.models import ExamConfig
from peerexam.protocols.config.own_answers import own_answers

TWO = """\
agents:
  - {name: a, model: sim/a}
  - {name: b, model: sim/b}
questions: {domains: [geography]}
"""


def write(folder: Path, text: str, name: str = "EXAM.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def load(path: Path, *overrides: str, **environ: str) -> ExamConfig:
    return load_config(path, environ=environ, overrides=overrides)


def refusal(path: Path, *overrides: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, *overrides, **environ)
    return str(caught.value).splitlines()


def test_flags_beat_the_environment_and_the_environment_beats_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, TWO + "seed: 1\n")
    assert load(path).seed == 1
    assert load(path, PEEREXAM_SEED="2").seed == 2
    assert load(path, "seed=3", PEEREXAM_SEED="2").seed == 3


def test_any_setting_can_come_from_the_environment(tmp_path: Path) -> None:
    path = write(tmp_path, TWO)
    assert load(path, PEEREXAM_SET__limits__concurrency="8").limits.concurrency == 8
    problem = refusal(path, PEEREXAM_SET__limits__concurrency="0")
    assert problem == [
        "PEEREXAM_SET__limits__concurrency: 'limits.concurrency' must be at least 1; it is 0"
    ]


def test_an_agent_is_overridden_by_name_and_by_place(tmp_path: Path) -> None:
    path = write(tmp_path, TWO.replace("name: b", "name: b.1"))
    config = load(path, "agents.b.1.temperature=0.5", "agents.0.roles=[examinee, judge]")
    assert config.agents[1].temperature == 0.5
    assert config.agents[0].roles == ("examinee", "judge")
    assert refusal(path, "agents.c.seed=1") == [
        "--set agents.c.seed: no entry 'c' in the list; it has a, b.1"
    ]


@pytest.mark.parametrize("setting", ["seed", "=1", "a..b=1"])
def test_a_setting_that_is_none_says_how_to_write_one(tmp_path: Path, setting: str) -> None:
    assert "write it as key.path=value" in refusal(write(tmp_path, TWO), setting)[0]


def test_every_problem_is_reported_at_once_each_with_its_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "sed: 1\n"
        "agents:\n"
        "  - name: no\n"
        "    model: sim/a\n"
        "  - name: b\n"
        "    model: sim/b\n"
        "    limits: {concurrency: 0}\n"
        "questions:\n"
        "  domains: geography\n"
        "judging: {ranking: merge-sort}\n",
    )
    lines = refusal(path)
    assert [line.split(":")[1] for line in lines] == ["1", "3", "7", "9", "10"]
    assert "unknown key 'sed'; did you mean 'seed'?" in lines[0]
    assert "in quotes" in lines[1]  # YAML reads a bare no as false
    assert "at least 1; it is 0" in lines[2]
    assert "must be a list" in lines[3]
    assert "did you mean 'merge_sort'?" in lines[4]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("name: a\n\tseed: 1\n", 2, "spaces, never with tabs"),
        ("name: a: b\n", 1, "put a text that holds ': ' in quotes"),
        ("name: a\nname: b\n", 2, "written twice (first in line 1)"),
        ("name: [a\nseed: 1\n", 2, "close the bracket"),
        ("name: *nobody\n", 1, "text that starts with *"),
        ("a: &x [*x]\n", 1, "holds itself"),
        ("a: 1\n---\nb: 2\n", 2, "one document"),
        ("a: !!python/object:os.system x\n", 1, "leave out the !tag"),
        ("name: a\nseed: \x00\n", 2, "delete it"),
    ],
)
def test_broken_yaml_names_line_and_mend(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = write(tmp_path, text)
    problem = refusal(path)[0]
    assert problem.startswith(f"{path}:{line}: ")
    assert said in problem


def test_aliases_that_unfold_without_end_are_refused(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "unfold to too much" in refusal(write(tmp_path, "\n".join(levels)))[0]


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "text\n"])
def test_a_file_that_is_no_mapping_points_to_init(tmp_path: Path, text: str) -> None:
    assert "peerexam init" in refusal(write(tmp_path, text))[0]


def test_files_that_cannot_be_read_are_config_errors(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "none.yaml")[0]
    assert "folder" in refusal(tmp_path)[0]
    (tmp_path / "latin.yaml").write_bytes(b"name: x\nexam: caf\xe9\n")
    assert ":2: not UTF-8" in refusal(tmp_path / "latin.yaml")[0]


def test_json_and_toml_are_read_and_their_lines_named(tmp_path: Path) -> None:
    toml = (
        'name = "x"\n[[agents]]\nname = "a"\nmodel = "sim/a"\n'
        '[[agents]]\nname = "b"\nmodel = "sim/b"\n[questions]\ndomains = ["g"]\n'
    )
    assert load(write(tmp_path, toml, "e.toml")).agents[1].name == "b"
    wrong = write(tmp_path, toml.replace('"sim/b"', '"sim/b"\nseeds = 1'), "w.toml")
    assert refusal(wrong)[0].startswith(f"{wrong}:8: unknown key 'agents.1.seeds'")
    body = '{"agents": [{"name": "a", "model": "sim/a"},\n {"name": "b", "model": "sim/b"}],\n'
    assert load(write(tmp_path, body + '"questions": {"domains": ["g"]}}', "e.json")).seed == 0
    twice = write(tmp_path, '{"seed": 1, "seed": 2}', "d.json")
    assert "written twice" in refusal(twice)[0]
    broken = write(tmp_path, body + "oops", "b.json")
    assert refusal(broken)[0].startswith(f"{broken}:3: JSON")


@pytest.mark.parametrize(
    "agent",
    [
        "{name: a, model: openai/m, api_key: abcdefgh}",
        "{name: a, model: openai/m, api_key_env: sk-abcdefgh}",
        "{name: a, model: openai/m, options: {headers: {Authorization: Bearer abcdefghijk}}}",
        "{name: a, model: openai/m, options: {headers: {X-Api-Key: abcdefgh}}}",
        "{name: a, model: openai/m, options: {extra_body: {token: abcdefgh}}}",
        "{name: a, model: 'openai/m?api_key=abcdefgh'}",
        "{name: a, model: 'openai/m', base_url: 'https://me:abcdefgh@host/v1'}",
        "{name: a, model: openai/m, system: my key is sk-abcdefgh1234}",
    ],
)
def test_a_key_in_the_file_is_refused_and_never_repeated(tmp_path: Path, agent: str) -> None:
    path = write(tmp_path, f"agents:\n  - {agent}\n  - {{name: b, model: sim/b}}\n")
    problems = refusal(path)
    assert problems[0].startswith(f"{path}:2: ")
    assert "api_key_env: OPENAI_API_KEY" in problems[0]
    assert "abcdefgh" not in "\n".join(problems)


def test_relative_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    for name in ("q.jsonl", "answers.jsonl"):
        (tmp_path / name).write_text("{}\n")
    (tmp_path / "compare.j2").write_text("{{ question }} {{ response_1 }} {{ response_2 }}")
    text = TWO.replace("sim/a", "file/answers.jsonl").replace(
        "{domains: [geography]}", "{file: q.jsonl}"
    )
    config = load(write(tmp_path, text + "prompts: {compare: compare.j2}\noutput: out\n"))
    assert config.questions.file == tmp_path / "q.jsonl"
    assert config.prompts == {"compare": tmp_path / "compare.j2"}
    assert config.output == tmp_path / "out"
    assert config.agents[0].model == f"file/{tmp_path / 'answers.jsonl'}"


@pytest.mark.parametrize(
    ("model", "resolved"),
    [
        ("hf/./tiny", "hf/{there}/tiny"),
        ("hf/../exams/tiny?dtype=float32", "hf/{there}/../exams/tiny?dtype=float32"),
        ("hf/{there}/tiny", "hf/{there}/tiny"),
        ("hf/tiny.gguf", "hf/{there}/tiny.gguf"),
        ("hf/deep/er.gguf?threads=1", "hf/{there}/deep/er.gguf?threads=1"),
        ("gguf/tiny.gguf", "gguf/{there}/tiny.gguf"),
        ("hf/google/flan-t5-small", "hf/google/flan-t5-small"),
        ("hf/gpt2", "hf/gpt2"),
    ],
)
def test_weights_are_looked_for_from_the_files_folder_and_the_hubs_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, resolved: str
) -> None:
    there = tmp_path / "exams"
    for folder in (there / "tiny", there / "deep", there / "google" / "flan-t5-small"):
        folder.mkdir(parents=True)
    for name in ("tiny.gguf", "deep/er.gguf"):
        (there / name).touch()
    monkeypatch.chdir(tmp_path)
    path = write(there, TWO.replace("sim/a", f"'{model.format(there=there)}'"))
    assert load(path).agents[0].model == resolved.format(there=there)


def test_paths_in_flags_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exams").mkdir()
    path = write(tmp_path / "exams", TWO)
    monkeypatch.chdir(tmp_path)
    assert load(path, "output=out").output == tmp_path / "out"
    assert load(path, PEEREXAM_OUTPUT="elsewhere").output == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("sim/b", "opanai/b"), "no provider 'opanai'; did you mean 'openai'?"),
        (("sim/b", "gpt-4o"), "is not a model name"),
        (("sim/b", "file/none.jsonl"), "no such file"),
        (("sim/b", "hf/none.gguf"), "no such file"),
        (("sim/b", "hf/./none"), "no such folder"),
        (("sim/b", "hf/./EXAM.yaml"), "this is a file, not a folder"),
        (("sim/b", "'sim/b?abilty=1'"), "has no 'abilty'"),
        (("sim/b", "openai/b, judge: {by: likelihood}"), "or a local/, gguf/ or hf/ model"),
        (("agents", "prompts: {compar: x}\nagents"), "did you mean 'compare'?"),
        (("agents", "judging: {rubric: none.yaml}\nagents"), "no such file"),
        (("agents", "judging: {quorum: 3}\nagents"), "is never met"),
        (("sim/b", "sim/b, roles: [judge]"), "a ranking needs two"),
        (("[geography]", "[geography, geography]"), "'geography' is listed twice"),
        (
            ("sim/b}", "sim/b, roles: [examiner, examinee]}\njudging: {panel: author}"),
            "'b' alone would judge its questions",
        ),
        (("agents", "judging: {marks: false}\nfollow_ups: {rounds: 1}\nagents"), "full mark"),
        (("name: b", "name: a"), "two agents are called 'a'"),
    ],
)
def test_what_needs_no_model_to_be_known_wrong_is_found_at_once(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    assert said in "\n".join(refusal(write(tmp_path, TWO.replace(*change))))


@pytest.mark.parametrize(
    "other",
    [
        "model: openai/m@http://h/v1/",
        "model: openai/m, base_url: http://h/v1",
        "model: openai/m@http://h/v1, api_key_env: ANOTHER_KEY",
        "model: 'openai/m@http://h/v1?temperature=0.5', seed: 7",
    ],
)
def test_one_agent_is_known_under_another_name_however_it_is_written(
    tmp_path: Path, other: str
) -> None:
    text = TWO.replace("model: sim/a", "model: openai/m@http://h/v1, temperature: 0.5, seed: 7")
    if "temperature" not in other:
        other += ", temperature: 0.5, seed: 7"
    twin = write(tmp_path, text.replace("model: sim/b", other))
    assert "are the same model" in refusal(twin)[0]
    # A judge that is apart from it by its roles alone may not judge its answers.
    apart = text.replace("seed: 7}", "seed: 7, roles: [examinee]}").replace(
        "model: sim/b", f"{other}, roles: [examiner, judge]"
    )
    config = load(write(tmp_path, apart), "judging.ranking=none")
    assert own_answers(config) == {"b": frozenset({"a"})}


def test_an_agent_without_a_role_stays_without_one(tmp_path: Path) -> None:
    spectator = TWO.replace("questions:", "  - {name: c, model: sim/c, roles: []}\nquestions:")
    config = load(write(tmp_path, spectator))
    assert config.agents[2].roles == ()
    assert load(write(tmp_path, dump_config(config))) == config


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name: x\n" + TWO.replace("name: b", "name: a"), 4),
        ("name: x\n" + TWO + "examiner: c\n", 6),
        ("name: x\n" + TWO + "protocol: exam\n", 6),
        ("name: x\n" + TWO.replace("{domains: [geography]}", "{per_domain: 2}"), 5),
    ],
)
def test_settings_that_do_not_fit_together_name_the_line_to_change(
    tmp_path: Path, text: str, line: int
) -> None:
    path = write(tmp_path, text)
    assert refusal(path)[0].startswith(f"{path}:{line}: ")


def test_a_flag_that_does_not_fit_the_file_is_named(tmp_path: Path) -> None:
    problem = refusal(write(tmp_path, TWO), "examiner=c")[0]
    assert problem == "--set examiner: examiner 'c' is not among the agents: a, b"


def test_twins_are_refused_unless_an_option_or_their_roles_differ(tmp_path: Path) -> None:
    twins = TWO.replace("sim/a", "openai/m").replace("sim/b", "openai/m")
    problem = refusal(write(tmp_path, twins))[0]
    assert "'b' and 'a' are the same model with the same settings" in problem
    assert load(write(tmp_path, twins), "agents.b.temperature=1").agents[1].temperature == 1
    apart = ("agents.a.roles=[examiner, examinee]", "agents.b.roles=[judge]")
    assert load(write(tmp_path, twins), *apart, "judging.ranking=none").agents[1].roles == (
        "judge",
    )


def test_a_model_may_answer_with_and_without_examples(tmp_path: Path) -> None:
    twins = TWO.replace("sim/a", "openai/m").replace("sim/b", "openai/m")
    answering = ("agents.b.roles=[examinee]", "agents.a.shots=0", "agents.b.shots=5")
    config = load(write(tmp_path, twins), *answering)
    assert [agent.shots for agent in config.agents] == [0, 5]
    again = load(write(tmp_path, dump_config(config), "again.yaml"))
    assert again == config
    # As judges they are one and the same: examples are shown to examinees alone.
    judging = ("agents.b.roles=[examinee, judge]", *answering[1:])
    assert "same settings, and both are judge" in refusal(write(tmp_path, twins), *judging)[0]


def test_simulated_players_may_be_equal(tmp_path: Path) -> None:
    text = TWO.replace("sim/a", "sim/x").replace("sim/b", "sim/x")
    assert len(load(write(tmp_path, text)).agents) == 2


def test_a_dumped_config_loads_as_the_same_config(tmp_path: Path) -> None:
    text = (
        "protocol: exam\nexaminer: a\n"
        + TWO.replace("sim/a", "sim/a, options: {noise: 1.0}}\n  - {name: c, model: sim/c")
        + "limits: {budget: {usd: 0.5}}\n"
    )
    config = load(write(tmp_path, text))
    again = load(write(tmp_path, dump_config(config), "again.yaml"))
    assert again == config
    for role in ("examiner", "examinee", "judge"):
        assert [a.name for a in again.agents_in(role)] == [a.name for a in config.agents_in(role)]


@given(
    system=st.text(max_size=40).filter(lambda text: "\x00" not in text),
    temperature=st.none() | st.floats(0, 2),
    seed=st.integers(0, 2**40),
)
def test_any_settings_survive_dumping(
    tmp_path_factory: pytest.TempPathFactory, system: str, temperature: float | None, seed: int
) -> None:
    body = yaml.safe_load(TWO)
    body["agents"][0] |= {"system": system, "temperature": temperature}
    config = ExamConfig.model_validate({**body, "seed": seed})
    path = write(tmp_path_factory.mktemp("dump"), dump_config(config))
    assert load(path) == config


def test_agents_are_read_from_an_exam_a_list_or_one_entry(tmp_path: Path) -> None:
    listed = "- {name: a, model: sim/a}\n- {name: b, model: sim/b}\n"
    assert [a.name for a in load_agents(write(tmp_path, TWO))] == ["a", "b"]
    assert [a.name for a in load_agents(write(tmp_path, listed))] == ["a", "b"]
    assert [a.name for a in load_agents(write(tmp_path, "name: c\nmodel: sim/c\n"))] == ["c"]
    path = write(tmp_path, listed.replace("model: sim/b", "mdel: sim/b"))
    with pytest.raises(ConfigError, match=r":2: .*did you mean 'model'"):
        load_agents(path)


def test_a_variant_is_one_of_an_agent_of_the_exam(tmp_path: Path) -> None:
    path = tmp_path / "EXAM.yaml"
    path.write_text(
        "agents:\n"
        "  - {name: a, model: sim/a}\n"
        "  - name: b\n"
        "    model: sim/b\n"
        "    variant_of: aa\n"
        "questions: {domains: [rivers]}\n"
    )
    with pytest.raises(ConfigError, match=r"EXAM\.yaml:5: .*variant of 'aa'"):
        load_config(path, environ={})


def test_local_weights_that_do_not_exist_are_found_before_a_run(tmp_path: Path) -> None:
    path = tmp_path / "EXAM.yaml"
    path.write_text(
        "agents:\n  - name: a\n    model: local/smollm3\nquestions: {domains: [rivers]}\n"
    )
    with pytest.raises(ConfigError, match=r"EXAM\.yaml:3: .*smollm3.*smollm2"):
        load_config(path, environ={})
