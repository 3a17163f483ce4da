"""The report in a real browser: it runs its own script, nobody else's, and reaches nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from tests.report.run.test_exchanges import HOSTILE as RAW
from tests.report.run.test_exchanges import run_of

from peerexam.report.run.html import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

HOSTILE = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
NAMES = ("m\" onmouseover=\"document.title='hacked'", "</script><b>bold</b>", "cedar", "birch")
TEXTS = dict.fromkeys(("question", "answer", "reply", "domain"), HOSTILE)


class Tab:
    """One page with everything it complained about and asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())

    @property
    def questions(self) -> Locator:
        return self.page.locator("details.question")

    def found(self, text: str) -> None:
        sync_api.expect(self.page.locator("#found")).to_have_text(text)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    page = chromium.new_page()
    yield Tab(page)
    page.close()


@pytest.fixture
def report(make_run: Callable[..., Path]) -> Path:
    return write_report(make_run(count=30))


def test_the_page_opens_without_complaint_and_asks_for_nothing(tab: Tab, report: Path) -> None:
    tab.open(report)
    tab.found("31 of 31 questions")
    tab.questions.first.locator("summary").first.click()
    sync_api.expect(tab.questions.first.locator(".answer")).to_have_count(4)
    assert tab.complaints == []
    assert {url.split(":")[0] for url in tab.requests} <= {"file", "data"}
    assert [url for url in tab.requests if url.startswith("file")] == [report.as_uri()]


def test_questions_come_in_portions(tab: Tab, report: Path) -> None:
    tab.open(report)
    sync_api.expect(tab.questions).to_have_count(25)
    tab.page.get_by_role("button", name="Show more").click()
    sync_api.expect(tab.questions).to_have_count(31)
    sync_api.expect(tab.page.locator("#more")).to_be_hidden()


def test_every_filter_narrows_and_clear_brings_all_back(tab: Tab, report: Path) -> None:
    tab.open(report)
    tab.page.get_by_label("Text").fill("why not the other way")
    tab.found("1 of 31 questions")
    tab.page.get_by_role("button", name="Clear").click()
    tab.found("31 of 31 questions")
    tab.page.get_by_label("Domain").select_option("bread")
    tab.found("10 of 31 questions")
    # Birch set every question on bread, alder none.
    tab.page.get_by_label("Author").select_option("alder")
    tab.found("0 of 31 questions")
    tab.page.get_by_role("button", name="Clear").click()
    # The one refusal is cedar's answer to q001.
    tab.page.get_by_label("State").select_option("refused")
    tab.found("1 of 31 questions")
    tab.page.locator("#f-agent").select_option("cedar")
    tab.found("1 of 31 questions")
    tab.page.locator("#f-agent").select_option("alder")
    tab.found("0 of 31 questions")


def test_marks_verdicts_and_rankings_can_be_read(tab: Tab, report: Path) -> None:
    tab.open(report)
    question = tab.questions.first
    question.locator("summary").first.click()
    question.get_by_text("Verdicts (7)").click()
    row = question.get_by_role("row").filter(has_text="no verdict line")
    sync_api.expect(row).to_contain_text("unparsed")
    sync_api.expect(row).to_contain_text("I like both very much.")
    sync_api.expect(question).to_contain_text("alder = birch > birch-warm")


def test_hostile_texts_are_shown_and_do_not_run(tab: Tab, make_run: Callable[..., Path]) -> None:
    tab.open(write_report(make_run(agents=NAMES, texts=TEXTS)))
    title = tab.page.title()
    question = tab.questions.first
    question.locator("summary").first.click()
    question.get_by_text("Verdicts (7)").click()
    sync_api.expect(question.locator(".gist")).to_have_text(HOSTILE)
    sync_api.expect(question.locator(".answer .said").first).to_have_text(HOSTILE)
    sync_api.expect(question.get_by_role("row").filter(has_text=HOSTILE).first).to_be_visible()
    sync_api.expect(tab.page.get_by_label("Domain")).to_contain_text(HOSTILE)
    for name in NAMES:
        cell = tab.page.locator("#standings tbody th bdi").filter(has_text=name).first
        sync_api.expect(cell).to_be_visible()
        cell.hover()
    assert tab.page.title() == title
    assert tab.page.locator("script").count() == 2
    assert tab.page.locator("img, b").count() == 0
    assert tab.page.evaluate(
        "[...document.querySelectorAll('*')].every("
        "(node) => [...node.attributes].every((one) => !one.name.startsWith('on')))"
    )
    assert tab.complaints == []


def test_prompts_and_replies_open_beside_their_records(tab: Tab, tmp_path: Path) -> None:
    run = run_of(tmp_path)
    tab.open(write_report(run))
    question = tab.questions.first
    question.locator("summary").first.click()
    behind = question.locator(".answer details.behind").first
    behind.locator("summary").click()
    sync_api.expect(behind.locator("code").first).to_have_text("peerexam show . 'q0/a'")
    sync_api.expect(behind.locator(".turn .said").last).to_have_text(f"{RAW} is my answer")
    question.get_by_text("Verdicts (2)").click()
    verdicts = question.get_by_role("table", name="Verdicts, one row an order")
    verdict = verdicts.locator("details.behind").last
    verdict.locator("summary").click()
    sync_api.expect(verdict.locator(".call")).to_have_count(2)
    sync_api.expect(verdict.locator(".call").last).to_contain_text("Verdict: Response 2")
    assert tab.page.locator("img").count() == 0
    assert tab.complaints == []


def test_the_policy_stops_markup_that_slipped_through(tab: Tab, report: Path) -> None:
    # As if escaping had failed: the markup is put into the finished page by hand.
    broken = report.with_name("broken.html")
    source = report.read_text("utf-8")
    assert "<main>" in source
    broken.write_text(source.replace("<main>", f"<main>{HOSTILE}"), "utf-8")
    tab.open(broken)
    tab.found("31 of 31 questions")
    assert tab.page.title() != "hacked"
    assert any("Content Security Policy" in text for text in tab.complaints)
    assert [url for url in tab.requests if url.startswith("http")] == []


def test_without_scripts_the_tables_stand_and_a_note_says_what_is_missing(
    chromium: Browser, report: Path
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#standings tbody tr").first.is_visible()
    assert page.locator("noscript p").is_visible()
    assert not page.locator("#filters").is_visible()
    context.close()


def test_the_page_is_no_wider_than_a_phone(chromium: Browser, report: Path) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


Change = Callable[[dict[str, object], dict[str, object]], None]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_benchmark_is_drawn_and_tabled_without_complaint(
    chromium: Browser,
    make_run: Callable[..., Path],
    benchmarked: Callable[..., Change],
    scheme: Literal["light", "dark"],
) -> None:
    page = chromium.new_page(color_scheme=scheme)
    tab = Tab(page)
    tab.open(write_report(make_run(change=benchmarked(text=HOSTILE))))
    section = page.locator("#benchmark")
    for name in ("Full-mark answers by level", "Scores by aspect", "Full-mark answers by domain"):
        sync_api.expect(section.get_by_role("region", name=name)).to_be_visible()
    drawing = section.get_by_role("img", name="Radar of the scores by aspect")
    sync_api.expect(drawing).to_be_visible()
    # cedar has no scores; the others have lines, in colours that differ from ground and each other.
    lines = drawing.locator("polygon.series")
    sync_api.expect(lines).to_have_count(3)
    strokes = lines.evaluate_all("(all) => all.map((one) => getComputedStyle(one).stroke)")
    ground = section.evaluate("(one) => getComputedStyle(one).backgroundColor")
    assert len({*strokes, ground, "none"}) == 5
    sync_api.expect(drawing.locator("text.label").first).to_have_text(HOSTILE)
    sync_api.expect(
        section.get_by_role("rowheader", name="birch / birch-warm").first
    ).to_be_visible()
    sync_api.expect(
        page.get_by_role("img", name="Correct answers in per cent by round")
    ).to_be_visible()
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.title").startswith("Bread & tides")
    assert page.locator("img").count() == 0
    assert tab.complaints == []
    page.close()


def test_the_benchmark_is_no_wider_than_a_phone(
    chromium: Browser, make_run: Callable[..., Path], benchmarked: Callable[..., Change]
) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.goto(write_report(make_run(change=benchmarked())).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const colour = (text) => text.match(/[\\d.]+/g).map(Number);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = colour(getComputedStyle(node).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest("svg")) continue;
    if (node.matches("script, style, noscript, .skip, option")) continue;
    const pair = [light(colour(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < 4.5) bad.push(`${node.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_the_contrast_that_wcag_aa_asks_for(
    chromium: Browser, make_run: Callable[..., Path], scheme: Literal["light", "dark"]
) -> None:
    # WCAG 2.1, success criterion 1.4.3: 4.5 to 1. The matrix shows every shade from 0 to 10.
    def change(_: object, standings: dict[str, dict[str, object]]) -> None:
        shades = [[0.0, 0.1, 0.2, 0.3], [0.4, 0.5, 0.6, 0.7], [0.8, 0.9, 1.0, 0.0]]
        standings["win_rates"]["direct"] = [*shades, [0.5, 0.5, 0.5, None]]

    page = chromium.new_page(color_scheme=scheme)
    page.goto(write_report(make_run(change=change)).as_uri())
    assert page.evaluate(CONTRAST) == []
    page.close()
