from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerexam.errors import SetupError
from peerexam.records import Domain
from peerexam.tasks.taxonomy.domain_names import same_name
from peerexam.tasks.taxonomy.tree import Category, Taxonomy, load_taxonomy

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"

TREES = st.dictionaries(
    st.sampled_from("abcdef"), st.integers(min_value=1, max_value=9), min_size=1
).map(
    lambda sizes: Taxonomy(
        "made",
        tuple(
            Category(f"{top}{at}", ((top, f"{top}{at}"),))
            for top, size in sizes.items()
            for at in range(size)
        ),
    )
)
"""Up to six first-level categories of different sizes."""


def test_the_built_in_taxonomy_has_the_published_shape() -> None:
    # 1132 ids with the root, 1426 positions with the root, 25 first-level domains, depth 6:
    # PMassicotte/gtrendsR, inst/extdata/categories.json.
    taxonomy = load_taxonomy("google-trends")
    paths = [path for one in taxonomy.categories for path in one.paths]
    assert len(taxonomy) == len({one.id for one in taxonomy.categories}) == 1131
    assert len(paths) == len(set(paths)) == 1425
    assert len({path[0] for path in paths}) == 25
    assert max(map(len, paths)) == 6
    assert not taxonomy.notes


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data here")
def test_the_built_in_taxonomy_is_google_trends_place_by_place() -> None:
    path = SHARED / "google_trends_categories" / "categories.json"
    read = {one.id: one for one in load_taxonomy(path).categories}
    homes: dict[str, tuple[str, ...]] = {}

    def note_homes(node: dict[str, object], above: tuple[str, ...]) -> None:
        children = node.get("children", [])
        assert isinstance(children, list)
        for child in children:
            here = (*above, child["name"])
            if child.get("prime"):  # every id is `prime` in just one of its places
                homes[str(child["id"])] = here
            note_homes(child, here)

    note_homes(json.loads(path.read_text(encoding="utf-8")), ())
    built_in = {one.id: one for one in load_taxonomy("google-trends").categories}
    assert {id_: set(one.paths) for id_, one in read.items()} == {
        id_: set(one.paths) for id_, one in built_in.items()
    }
    assert homes == {id_: one.paths[0] for id_, one in built_in.items()}


def test_a_drawn_domain_has_its_path_from_the_first_level_down() -> None:
    (domain,) = Taxonomy("t", (Category("Jazz", (("Arts", "Music", "Jazz"),)),)).sample(1, 0)
    assert domain == Domain("Jazz", ("Arts", "Music", "Jazz"))


@given(TREES, st.integers(), st.booleans(), st.data())
def test_a_draw_is_without_replacement_and_repeats_itself(
    taxonomy: Taxonomy, seed: int, stratified: bool, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(taxonomy)))
    drawn = taxonomy.draw(n, seed, stratified)
    assert len({one.name for one in drawn}) == n
    assert set(drawn) <= set(taxonomy.categories)
    turned = Taxonomy("made", taxonomy.categories[::-1])
    assert turned.draw(n, seed, stratified) == drawn


@given(TREES, st.integers(), st.booleans(), st.data())
def test_a_larger_draw_keeps_the_smaller_one(
    taxonomy: Taxonomy, seed: int, stratified: bool, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(taxonomy)))
    whole = taxonomy.draw(len(taxonomy), seed, stratified)
    assert taxonomy.draw(n, seed, stratified) == whole[:n]


@given(TREES, st.integers(), st.data())
def test_a_stratified_draw_is_as_equal_as_the_sizes_allow(
    taxonomy: Taxonomy, seed: int, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(taxonomy)))
    sizes = Counter(one.first_level for one in taxonomy.categories)
    drawn = Counter(one.first_level for one in taxonomy.draw(n, seed, stratified=True))
    most = max(drawn.values())
    # Whoever gives less than the most gives all it has, or one less than the most.
    assert all(drawn[top] in (sizes[top], most, most - 1) for top in sizes)


def test_another_seed_draws_others() -> None:
    taxonomy = load_taxonomy("google-trends")
    draws = {taxonomy.sample(20, seed) for seed in range(20)}
    assert len(draws) == 20


def test_every_category_is_as_likely_as_any_other() -> None:
    taxonomy = Taxonomy("t", tuple(Category(name, ((name,),)) for name in "abcde"))
    counts = Counter(taxonomy.sample(1, seed)[0].name for seed in range(2000))
    # Binomial(2000, 1/5): 400 ± 18; five standard deviations.
    assert all(310 < counts[name] < 490 for name in "abcde")


def test_two_hundred_of_the_paper_s_taxonomy_come_eight_from_each_first_level() -> None:
    drawn = load_taxonomy("google-trends").draw(200, 1, stratified=True)
    assert set(Counter(same_name(one.first_level) for one in drawn).values()) == {8}


def test_more_than_there_are_is_refused_with_both_numbers() -> None:
    taxonomy = load_taxonomy("google-trends")
    with pytest.raises(SetupError, match=r"1131 domains, and 1132"):
        taxonomy.sample(1132, 0)
    with pytest.raises(SetupError, match="not 0"):
        taxonomy.sample(0, 0)
