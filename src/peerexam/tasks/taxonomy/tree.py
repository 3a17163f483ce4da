"""A taxonomy: the categories that domains are drawn from (examiner paper, §3.1).

Built in is the category tree of Google Trends, which the paper drew its 1,000 domains from. Any
other comes from a file: YAML, JSON, CSV, or a plain list (`taxonomy_trees`, `taxonomy_tables`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from pathlib import Path

from peerexam.errors import RecordFileError, SetupError
from peerexam.records import Domain
from peerexam.tasks.taxonomy.domain_names import clean_name, problem_of, quoted, same_name
from peerexam.tasks.taxonomy.nested import json_places, yaml_places
from peerexam.tasks.taxonomy.places import Place
from peerexam.tasks.taxonomy.tables import list_places, table_places

BUILT_IN = ("google-trends",)
"""Names of the taxonomies that come with the package."""

_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Category:
    """One category of a taxonomy.

    Attributes:
        name: Cleaned; no two categories have the same one (`domain_names.same_name`).
        paths: Its places, each from the first level down to the name; the first is its home.
        id: The file's, None where it gives none.
    """

    name: str
    paths: tuple[tuple[str, ...], ...]
    id: str | None = None

    @property
    def domain(self) -> Domain:
        """The category as a domain to ask about, with the path of its home."""
        return Domain(self.name, self.paths[0])

    @property
    def first_level(self) -> str:
        """The first-level category that it counts under, by its home."""
        return self.paths[0][0]


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Categories in the order of the file, the root not among them.

    Attributes:
        notes: What was cleaned, dropped or put together on reading, a sentence each.
    """

    name: str
    categories: tuple[Category, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.categories)

    def domains(self) -> tuple[Domain, ...]:
        """Every category as a domain, inner ones too."""
        return tuple(category.domain for category in self.categories)

    def sample(self, n: int, seed: int, stratified: bool = False) -> tuple[Domain, ...]:
        """Draw n domains without replacement; see `draw`."""
        return tuple(category.domain for category in self.draw(n, seed, stratified))

    def draw(self, n: int, seed: int, stratified: bool = False) -> tuple[Category, ...]:
        """Draw n categories without replacement, inner ones and leaves alike.

        The order of the draw is that of a hash of the seed and the name. So it does not depend on
        the order of the file, and the first k of n drawn are the k drawn: who raises the number
        keeps what was asked before. Stratified, the first-level categories, in such an order too,
        give one of theirs in turn. Each of them then gives equally many, as far as it has them;
        what cannot be shared equally goes to those that the seed puts first (all remainders of an
        equal share are alike, so the method of the largest remainder says the same).

        Args:
            n: How many.
            seed: The exam's.
            stratified: Draw by turns of the first level.

        Raises:
            SetupError: There are fewer than n, or n is not positive.
        """
        if n < 1:
            raise SetupError(f"a sample is 1 domain or more, not {n}")
        if n > len(self.categories):
            raise SetupError(
                f"the taxonomy {self.name} has {len(self.categories)} domains, and {n} are to be "
                "drawn: ask for fewer"
            )
        ordered = sorted(self.categories, key=lambda one: _lot(seed, one.name))
        return tuple((_by_turns(ordered, seed) if stratified else ordered)[:n])


def load_taxonomy(name_or_path: str | Path) -> Taxonomy:
    """A built-in taxonomy by its name, or one from a file.

    A name is cleaned of what has no shape, with a note (`domain_names.clean_name`). Where nothing
    that can be a name is left (it is empty, has no letter or digit, or more than 200 characters),
    it is dropped with a note, and what stands below it stands below its parent. A name that is
    there already is the same category in a further place, with a note unless an id says so.

    Args:
        name_or_path: `google-trends`, or a file: `.yaml`, `.yml`, `.json`, `.csv`, `.tsv`; any
            other is a plain list.

    Raises:
        RecordFileError: The file cannot be read; the message names the line and the mend.
        SetupError: There is no such taxonomy and no such file, or it holds no domain.
    """
    if str(name_or_path) in BUILT_IN:
        return _built_in(str(name_or_path))
    return _from_file(Path(name_or_path))


@lru_cache(maxsize=len(BUILT_IN))
def _built_in(name: str) -> Taxonomy:
    file = resources.files("peerexam.tasks") / "taxonomies" / f"{name}.csv"
    path = Path(f"{name}.csv")
    return _gathered(name, table_places(file.read_text(encoding="utf-8"), path), path)


def _from_file(path: Path) -> Taxonomy:
    read = _READERS.get(path.suffix.lower(), list_places)
    taxonomy = _gathered(path.name, read(_text_of(path), path), path)
    if not taxonomy.categories:
        raise SetupError("\n".join([f"{path} holds no domain", *taxonomy.notes[:5]]))
    return taxonomy


_READERS: Mapping[str, Callable[[str, Path], Iterator[Place]]] = {
    ".yaml": yaml_places,
    ".yml": yaml_places,
    ".json": json_places,
    ".csv": table_places,
    ".tsv": table_places,
}


def _text_of(path: Path) -> str:
    try:
        if not path.is_file():
            known = ", ".join(BUILT_IN)
            raise SetupError(
                f"there is no taxonomy and no file {path}: name {known}, or a file of domains"
            )
        if path.stat().st_size > _MOST_BYTES:
            raise SetupError(f"{path} is larger than {_MOST_BYTES >> 20} MiB: no taxonomy is")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, SetupError):
            raise
        raise SetupError(f"{path} cannot be read: {error}") from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordFileError("not UTF-8 text; save the file as UTF-8", path, line) from None


class _Gathering:
    """Categories as their places come in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._clean: dict[str, str | None] = {}
        self._first: dict[str, tuple[Place, str]] = {}
        self._paths: dict[str, dict[tuple[str, ...], None]] = {}
        self._key_of_id: dict[str, str] = {}
        self.notes: list[str] = []

    def add(self, place: Place) -> None:
        names = [self._cleaned(raw, place) for raw in place.path]
        name = names[-1]
        if name is None:
            return
        key = same_name(name)
        self._check_id(place, key)
        where = tuple(one for one in names if one is not None)
        if key not in self._first:
            self._first[key] = (place, name)
        elif place.id is None or place.id != self._first[key][0].id:
            first = self._first[key][0]
            self._note(place, f"{quoted(name)} stands in line {first.where} already: one domain")
        self._paths.setdefault(key, {})[where] = None

    def categories(self) -> Iterator[Category]:
        for key, (place, name) in self._first.items():
            yield Category(name, tuple(self._paths[key]), place.id)

    def _cleaned(self, raw: str, place: Place) -> str | None:
        if raw not in self._clean:
            name = clean_name(raw)
            problem = problem_of(name)
            if problem:
                self._note(place, f"{quoted(raw)} {problem}: dropped")
            elif name != raw.strip(" "):
                self._note(place, f"{quoted(raw)} is taken as {quoted(name)}")
            self._clean[raw] = None if problem else name
        return self._clean[raw]

    def _check_id(self, place: Place, key: str) -> None:
        if place.id is None:
            return
        other = self._key_of_id.setdefault(place.id, key)
        if other != key:
            first, name = self._first[other]
            here = "" if place.at is None else f" ({place.at})"
            raise RecordFileError(
                f"the id {quoted(place.id)} is {quoted(name)}'s in line {first.where}; give "
                f"{quoted(place.path[-1])}{here} another",
                self._path,
                place.line,
            )

    def _note(self, place: Place, text: str) -> None:
        self.notes.append(f"{self._path.name}:{place.where}: {text}")


def _gathered(name: str, places: Iterable[Place], path: Path) -> Taxonomy:
    gathering = _Gathering(path)
    for place in places:
        gathering.add(place)
    return Taxonomy(name, tuple(gathering.categories()), tuple(gathering.notes))


def _lot(seed: int, name: str) -> bytes:
    return sha256(f"{seed}\0{same_name(name)}".encode()).digest()


def _by_turns(ordered: Iterable[Category], seed: int) -> list[Category]:
    strata: dict[str, list[Category]] = {}
    for category in ordered:
        strata.setdefault(same_name(category.first_level), []).append(category)
    turns = sorted(strata, key=lambda name: _lot(seed, f"first level {name}"))
    longest = max(len(members) for members in strata.values())
    return [
        strata[name][turn] for turn in range(longest) for name in turns if turn < len(strata[name])
    ]
