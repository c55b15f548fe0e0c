"""The live page, as a person meets it: in a real Chromium, with a model that learns behind it."""

import json
import re
from contextlib import ExitStack
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from service.monitoring.health import State
from tests.service.building import event, label
from tests.service.web.stage import Stage
from tests.support.blank_texts import add_part
from tests.support.chromium import NoBrowser, find_chromium, launch

PHONE = {"viewport": {"width": 375, "height": 812}}
DARK = {"color_scheme": "dark"}
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def browser():
    try:
        find_chromium()
    except NoBrowser as error:
        pytest.skip(f"no browser: {error}")
    with sync_playwright() as playwright, launch(playwright) as browser:
        yield browser


@pytest.fixture
def stage():
    stage = Stage()
    for n in range(30):
        stage(event(f"m-{n}", "win money" if n % 2 else "see you", label=n % 2 == 1, length=float(n)))
    return stage


@pytest.fixture
def serve():
    """Serve stages; the pages are closed first, as a page whose server is gone complains."""
    with ExitStack() as servers:
        yield lambda served: str(servers.enter_context(served).base_url)


@pytest.fixture
def open_page(browser, serve):
    """Open pages; in the end, none may have complained or asked another host for anything.

    It takes `serve` for the order only: pages are closed before what they show.
    """
    contexts, complaints, requested = [], [], []

    def open_page(address, path="/", **shape):
        contexts.append(browser.new_context(**shape))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requested.append((request.url, f"{address}/")))
        page.goto(f"{address}{path}")
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url, ours in requested if not url.startswith((ours, "data:"))] == []


@pytest.fixture
def address(stage, serve):
    return serve(stage.served())


def pixels(page, chart):
    return page.locator(f"#{chart} canvas").evaluate("canvas => canvas.toDataURL()")


def is_wider_than_the_screen(page):
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_figures_and_curves_move_while_it_learns(stage, address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    before = {chart: pixels(page, chart) for chart in ("error-chart", "mistakes-chart")}
    stage(*(event(f"n-{n}", "win money", label=n % 2 == 0) for n in range(20)))
    expect(page.locator("#predictions")).to_have_text("50")
    expect(page.locator("#mistakes")).to_have_text(str(stage.feeds[0].counters.mistakes))
    for chart, picture in before.items():
        assert pixels(page, chart) != picture


def test_what_one_types_is_predicted_and_the_features_that_decided_are_shown(stage, address, open_page):
    page = open_page(address)
    page.get_by_label("Text", exact=True).fill("win money")
    page.get_by_label("Features").fill("length = 2.5\nurgent = true\nlang = en")
    page.get_by_role("button", name="Predict").click()
    answer = page.locator("#answer")
    expect(answer).to_contain_text("Predicted: ")
    model = stage.feeds[0].model
    x = {"length": 2.5, "urgent": 1.0, "lang=en": 1.0, "text=win": 1.0, "text=money": 1.0}
    expect(answer.locator("strong")).to_have_text(str(model.predict_one(x)).lower())
    shown = answer.locator("tbody th").all_inner_texts()
    decided = {
        name.removeprefix("text=") for name, value in x.items() if model.weights.get(name, 0.0) * value
    }
    assert set(shown) == decided | {"bias"}


@pytest.mark.parametrize("shape", [{}, PHONE], ids=["wide", "phone"])
def test_a_model_with_log_odds_shows_probabilities(serve, open_page, shape):
    stage = Stage(model="coin-betting")
    stage(event("a", "win money", label=True), event("b", "win money"))
    page = open_page(serve(stage.served()), **shape)
    probability = stage.models[0].recent.latest()[0].answer["probability"]
    row = page.locator("#events tbody tr").first
    expect(row.locator(".probability")).to_have_text(f"{100 * probability:.1f} %")
    expect(row.locator(".probability")).to_be_visible()
    page.get_by_label("Text", exact=True).fill("win money")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer")).to_contain_text(f"probability {100 * probability:.1f} %")
    assert not is_wider_than_the_screen(page)


def test_a_model_without_log_odds_has_no_column_of_probabilities(address, open_page):
    page = open_page(address)
    expect(page.locator("#events tbody tr").first).to_be_visible()
    expect(page.locator("#events")).not_to_contain_text("Probability")


def test_a_mistake_in_what_one_types_is_explained(address, open_page):
    page = open_page(address)
    page.get_by_label("Features").fill("length = 1e101")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer .wrong")).to_contain_text("features.length")
    assert [each for each in open_page.complaints if "422" in each]  # the browser's own note of a refusal
    open_page.complaints.clear()


def test_the_latest_event_can_be_taken_and_tried(address, open_page):
    page = open_page(address)
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("win money")
    expect(page.get_by_label("Features")).to_have_value("length = 29")
    expect(page.locator("#answer")).to_contain_text("Predicted: ")


def test_the_form_is_filled_with_the_latest_event(address, open_page):
    page = open_page(address)
    expect(page.get_by_label("Text", exact=True)).to_have_value("win money")
    expect(page.get_by_label("Features")).to_have_value("length = 29")


def test_what_one_has_typed_is_not_overwritten(stage, address, open_page):
    page = open_page(address)
    expect(page.get_by_label("Text", exact=True)).to_have_value("win money")
    for box in ("Text", "Features"):
        page.get_by_label(box, exact=box == "Text").fill("")
    stage(event("new", "see you", label=False))
    expect(page.locator("#predictions")).to_have_text("31")
    expect(page.get_by_label("Text", exact=True)).to_have_value("")


def test_a_line_that_cannot_be_read_is_named_and_left_out(address, open_page):
    page = open_page(address)
    for line, said in [
        ("urgent", "not of the form"),
        ("= 3", "not of the form"),
        ("lang =", "not of the form"),
        ("length = 1e999", "no finite number"),
        ("length = -Infinity", "no finite number"),
        ("known = 2", "has a value already"),
    ]:
        page.get_by_label("Features").fill(f"known = 1\n\n{line}")
        expect(page.locator("#unread li")).to_have_text(re.compile(f"Line 3 is left out: .*{said}"))
        expect(page.get_by_label("Features")).to_have_attribute("aria-invalid", "true")
        with page.expect_request("**/explain*") as asked:
            page.get_by_role("button", name="Predict").click()
        assert asked.value.post_data_json["features"] == {"known": 1}
        page.get_by_label("Features").fill("known = 1")
        expect(page.locator("#unread li")).to_have_count(0)


def test_values_of_an_event_that_is_taken_are_read_as_they_were(stage, address, open_page):
    features = {
        "a": "5",
        "b": True,
        "c": "true",
        "d": -1.5,
        "e": "x = y",
        "f": "",
        "g": " \n",
        "h": '"q"',
        "i": "nan",
    }
    stage(event("odd", "x", label=True, **features))
    page = open_page(address)
    with page.expect_request("**/explain*") as asked:
        page.get_by_role("button", name="Take the latest event").click()
    assert asked.value.post_data_json["features"] == features


def test_events_of_any_shape_are_shown_and_tried(serve, open_page):
    stage = Stage(events={"id": "uuid", "text": ["mail.subject"], "features": ["mail.size"], "label": "spam"})
    stage({"uuid": 7, "mail": {"subject": "win money", "size": 3}, "spam": True})
    stage({"uuid": 8, "mail": {"subject": "see you", "size": 2}})
    page = open_page(serve(stage.served()))
    expect(page.locator("#events .content").nth(1)).to_have_text("see you — mail.size 2")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer")).to_contain_text("Predicted: ")
    expect(page.locator("#answer")).to_contain_text("mail.size")


def test_features_that_the_model_has_never_met_are_marked(address, open_page):
    page = open_page(address)
    page.get_by_label("Text", exact=True).fill("win zebra")
    page.get_by_label("Features").fill("length = 2\nlang = xx")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer mark")).to_have_text(["lang=xx", "zebra"])


def test_what_one_types_is_not_taught_unless_one_says_so(stage, address, open_page):
    page = open_page(address)
    page.get_by_label("Text", exact=True).fill("win a prize")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer")).to_contain_text("Predicted: ")
    expect(page.get_by_label("Its class")).to_be_hidden()
    assert stage.appended == []


def test_what_one_types_is_taught_with_its_class(stage, address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    page.get_by_label("Text", exact=True).fill("win a prize")
    page.get_by_label("Features").fill("length = 3")
    page.get_by_label("and teach it").check()
    page.get_by_label("Its class").select_option("false")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#taught")).to_contain_text("predicted true, labelled false")
    taught, truth = (json.loads(output.value) for output in stage.appended)
    assert (taught["text"], taught["features"], "label" in taught) == ("win a prize", {"length": 3}, False)
    assert truth == {"id": taught["id"], "label": False}
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#predictions")).to_have_text("32")
    assert len({output.key for output in stage.appended}) == 2


def test_why_it_cannot_be_taught_is_said(stage, address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    stage.metrics.lag = {("events", 0): 10**6}
    page.get_by_label("and teach it").check()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#taught .wrong")).to_contain_text("wait to be processed")
    open_page.complaints.clear()  # a browser reports each answer of an error status


def test_where_records_have_another_schema_it_is_said_that_it_cannot_be_taught_from_here(open_page, serve):
    page = open_page(serve(Stage(events={"id": "order.id"}).served()))
    expect(page.locator("#teach-instead")).to_be_visible()
    expect(page.get_by_label("and teach it")).to_be_hidden()


def test_a_label_that_comes_late_is_awaited_first(stage, address, open_page):
    page = open_page(address)
    stage(event("late", "see money"))
    row = page.locator("#events tbody tr").first
    expect(row).to_contain_text("awaited")
    expect(page.locator("#pending")).to_have_text("1")
    stage(label("late", True), at_seconds=2.5, topic="labels")
    expect(page.locator("#events tbody tr").first).to_contain_text("true after 2.5 s")
    expect(page.locator("#pending")).to_have_text("0")


def test_the_rows_can_be_made_to_stand_still(stage, address, open_page):
    page = open_page(address)
    page.get_by_role("button", name="Pause").click()
    before = page.locator("#events").inner_text()
    stage(event("new", "see you", label=False))
    expect(page.locator("#predictions")).to_have_text("31")
    assert page.locator("#events").inner_text() == before
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#events tbody tr").first).to_contain_text("new")


def test_what_an_event_contains_is_text_and_never_markup(stage, address, open_page):
    stage(event(HOSTILE, HOSTILE, label=True, **{HOSTILE: 1.0}))
    page = open_page(address)
    expect(page.locator("#events")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.locator("#answer")).to_contain_text("Predicted: ")
    assert page.title() == "online-perceptron"
    assert page.locator("main img, main script").count() == 0


@pytest.fixture
def mixture():
    stage = Stage(model="auto")
    for n in range(30):
        stage(event(f"m-{n}", "win money" if n % 3 else "see you", label=n % 2 == 1, length=float(n % 7)))
    return stage


@pytest.fixture
def page_of_mixture(mixture, serve, open_page):
    return open_page(serve(mixture.served()))


def test_the_experts_of_a_mixture_are_listed_the_heaviest_first(mixture, page_of_mixture):
    rows = page_of_mixture.locator("#heaviest-experts tbody tr")
    expect(rows).to_have_count(6)
    for row, expert in zip(rows.all(), mixture.feeds[0].processor.learner.experts, strict=False):
        expect(row.locator("th")).to_have_text(expert.name, use_inner_text=True)
        expect(row).to_contain_text(f"{expert.weight:+.3f}".replace("-", "−"))
        expect(row).to_contain_text(f"{100 * expert.recent_error:.1f} %")


def test_the_lighter_experts_are_listed_on_demand(mixture, page_of_mixture):
    page_of_mixture.locator("#other-experts summary").click()
    expected = [each.name for each in mixture.feeds[0].processor.learner.experts[6:]]
    expect(page_of_mixture.locator("#other-experts tbody tr")).to_have_count(len(expected))
    shown = page_of_mixture.locator("#other-experts tbody th").all_inner_texts()
    assert [name.strip() for name in shown] == expected


def test_a_sentence_names_the_candidate_that_leads(mixture, page_of_mixture):
    expect(page_of_mixture.locator("#leader")).to_contain_text(mixture.feeds[0].processor.learner.leader)


@pytest.mark.parametrize(("classes", "said"), [("sky,sea,sand", True), ("ham,spam", False)])
def test_of_several_classes_it_is_said_what_the_mistakes_of_an_expert_are(serve, open_page, classes, said):
    stage, names = Stage(model="auto", classes=classes), classes.split(",")
    stage(*(event(f"e-{n}", f"word{n % 3}", label=names[n % len(names)]) for n in range(12)))
    page = open_page(serve(stage.served()))
    expect(page.locator("#experts")).to_be_visible()
    expect(page.locator("#experts-of-classes")).to_be_visible(visible=said)


def test_the_experts_curves_move_while_the_mixture_learns(mixture, page_of_mixture):
    charts = ("expert-weights-chart", "expert-errors-chart")
    expect(page_of_mixture.locator("#heaviest-experts tbody tr")).to_have_count(6)
    before = {chart: pixels(page_of_mixture, chart) for chart in charts}
    mixture(*(event(f"n-{n}", "win money", label=n % 2 == 0) for n in range(20)))
    expect(page_of_mixture.locator("#predictions")).to_have_text("50")
    for chart, picture in before.items():
        assert pixels(page_of_mixture, chart) != picture


@pytest.mark.parametrize("curves", ["weights", "errors"])
def test_the_experts_curves_can_be_read_as_a_table(mixture, page_of_mixture, curves):
    table = page_of_mixture.locator(f"#expert-{curves}-table")
    page_of_mixture.locator("details", has=table).locator("summary").click()
    expect(table.locator("tbody tr").first).to_contain_text("30")
    heaviest = [each.name for each in mixture.feeds[0].processor.learner.experts[:6]]
    assert table.locator("thead th").all_inner_texts() == ["Labelled events", *heaviest]


def test_an_explanation_names_the_experts_that_decide(mixture, page_of_mixture):
    page_of_mixture.get_by_role("button", name="Take the latest event").click()
    answer, learner = page_of_mixture.locator("#answer"), mixture.feeds[0].processor.learner
    expect(answer).to_contain_text(learner.leader)
    expect(answer).to_contain_text(learner.experts[0].name)


def test_a_model_that_is_no_mixture_has_no_experts_on_the_page(address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    expect(page.locator("#experts")).to_be_hidden()
    expect(page.locator("#weights-section")).to_be_visible()


@pytest.mark.parametrize("shape", [{}, DARK, PHONE], ids=["light", "dark", "phone"])
def test_axe_finds_no_barrier_among_the_experts(mixture, serve, open_page, shape):
    page = open_page(serve(mixture.served()), **shape)
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.locator("#answer")).to_contain_text("Predicted: ")
    page.locator("#other-experts summary").click()
    assert not is_wider_than_the_screen(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_before_anything_has_come_it_says_what_to_do(serve, open_page):
    page = open_page(serve(Stage().served()))
    expect(page.get_by_role("heading", name="No events yet")).to_be_visible()
    expect(page.locator("#welcome")).to_contain_text("perceptron produce")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"classes": "sky,sea,sand"}, ["sky", "sea", "sand"]),
        ({"model": "kernel-perceptron"}, [True, False]),
        ({"model": "examples/forest_for_the_service.py:build"}, [True, False]),
        ({"hash_bits": 10}, [1, -1]),
    ],
)
def test_models_of_every_kind_can_be_looked_at(serve, open_page, given, names):
    stage = Stage(**given)
    for n in range(12):
        stage(event(f"e-{n}", f"word{n % len(names)}", label=names[n % len(names)]))
    page = open_page(serve(stage.served()))
    expect(page.locator("#predictions")).to_have_text("12")
    expect(page.locator("#weights-caption")).not_to_be_empty()
    page.get_by_role("button", name="Take the latest event").click()
    told = page.locator("#answer strong")
    expect(told).to_be_visible()
    assert told.inner_text() in {str(name).lower() for name in names}


def test_each_partition_can_be_chosen(serve, open_page):
    stage = Stage(partitions=(0, 1))
    stage(event("a", "x", label=True), partition=0)
    stage(event("b", "x", label=True), event("c", "x", label=True), partition=1)
    page = open_page(serve(stage.served()))
    expect(page.locator("#predictions")).to_have_text("3")
    for partition, events in (("0", "1"), ("1", "2"), ("all", "3")):
        page.get_by_role("combobox", name="Partition").select_option(partition)
        expect(page.locator("#predictions")).to_have_text(events)
        assert page.url.endswith(f"/?partition={partition}")


@pytest.fixture
def address_of_two(serve):
    stage = Stage(partitions=(0, 1))
    for n in range(20):
        stage(event(f"a-{n}", "win" if n % 3 else "see", label=n % 3 > 0), partition=0)
    stage(event("b", "x", label=True, shape="round"), partition=1)
    return serve(stage.served())


def test_all_partitions_are_listed_and_lead_to_each(address_of_two, open_page):
    page = open_page(address_of_two)
    rows = page.locator("#partitions tbody tr")
    expect(rows).to_have_count(2)
    assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [["0", "20"], ["1", "1"]]
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.locator("#predictions")).to_have_text("1")
    expect(page.locator("#partitions-section")).to_be_hidden()
    expect(page.locator("#weights-section")).to_be_visible()


def test_a_part_of_a_partition_shows_what_it_counts(monkeypatch, serve, open_page):
    add_part(monkeypatch)
    stage = Stage()
    stage(event("a", ""), event("b", "win"))
    page = open_page(serve(stage.served()))
    expect(page.locator("dt", has_text="Blank texts").locator("xpath=../dd")).to_have_text("1")


def test_a_link_to_a_partition_shows_that_one(address_of_two, open_page):
    page = open_page(address_of_two, "/?partition=0")
    expect(page.locator("#predictions")).to_have_text("20")
    expect(page.get_by_role("combobox", name="Partition")).to_have_value("0")


def test_a_link_to_a_partition_that_is_elsewhere_shows_what_there_is(address_of_two, open_page):
    page = open_page(address_of_two, "/?partition=7")
    expect(page.locator("#predictions")).to_have_text("21")
    expect(page.get_by_role("alert")).to_have_text(
        "Partition 7 is not served here: all that are here are shown."
    )
    page.get_by_role("combobox", name="Partition").select_option("1")
    expect(page.locator("#notice")).to_be_hidden()
    open_page.complaints.clear()  # the browser notes the answer that there is no such partition


def test_of_all_partitions_the_latest_event_is_tried_on_its_own_model(address_of_two, open_page):
    page = open_page(address_of_two)
    expect(page.get_by_label("Features")).to_have_value("shape = round")
    with page.expect_request("**/explain*") as asked:
        page.get_by_role("button", name="Predict").click()
    assert asked.value.url.endswith("partition=1")


def test_the_confusion_matrix_names_the_classes_and_counts_all_labels(serve, open_page):
    stage = Stage(classes="ham,spam")
    for n in range(12):
        stage(event(f"e-{n}", f"word{n % 3}", label=("ham", "spam")[n % 2]))
    page = open_page(serve(stage.served()))
    expect(page.locator("#confusion thead")).to_have_text(re.compile("Truth.*ham.*spam.*Recall"))
    rows = page.locator("#confusion tbody tr")
    expect(rows).to_have_count(2)
    found = [list(map(int, row.split("\t")[1:3])) for row in rows.all_inner_texts()]
    cells = stage.feeds[0].counters.confusion.cells
    assert found == [[cells[truth, predicted] for predicted in (False, True)] for truth in (False, True)]


def test_of_many_classes_the_commonest_ten_are_shown_and_the_others_as_one(serve, open_page):
    names = [f"c{n}" for n in range(14)]
    stage = Stage(classes=",".join(names))
    for n in range(len(names) * 2 - 4):
        stage(event(f"e-{n}", "x", label=names[n % len(names)]))  # the last four come once only
    page = open_page(serve(stage.served()))
    expect(page.locator("#confusion tbody th")).to_have_text([*names[:10], "others"])
    expect(page.locator("#auc-explained")).to_contain_text("more than two classes")


def test_recall_stands_beside_the_matrix_and_precision_below(serve, open_page):
    stage = Stage(classes="ham,spam")
    for n in range(12):
        stage(event(f"e-{n}", f"word{n % 3}", label=("ham", "spam")[n % 4 == 0]))
    cells = stage.feeds[0].counters.confusion.cells
    page = open_page(serve(stage.served()))
    recall = cells[True, True] / (cells[True, True] + cells[True, False])
    precision = cells[True, True] / (cells[True, True] + cells[False, True])
    expect(page.locator("#confusion tbody tr").last.locator("td").last).to_have_text(f"{100 * recall:.1f} %")
    expect(page.locator("#confusion tfoot td").nth(1)).to_have_text(f"{100 * precision:.1f} %")
    expect(page.locator("#positive-explained")).to_contain_text(f"precision {100 * precision:.1f} %")


@pytest.fixture
def mistaken():
    """A model that errs at last, twice."""
    stage = Stage(model="logistic-regression", classes="ham,spam")
    for n in range(40):
        stage(event(f"m-{n}", "win money" if n % 2 else "see you", label=("ham", "spam")[n % 2], length=0.5))
    stage(event("wrong", "win money", label="ham", length=0.5))
    stage(event("missed", "see you", label="spam", length=0.5))
    return stage


def test_the_latest_mistakes_are_listed_with_what_spoke_for_them(mistaken, serve, open_page):
    page = open_page(serve(mistaken.served()))
    row = page.locator("#latest-mistakes tbody tr", has_text="wrong")
    expect(row.locator(".content")).to_have_text("win money — length 0.5")
    expect(row).to_contain_text("✗ ham")
    assert {"win", "money"} <= {each.strip() for each in row.locator(".chip").all_inner_texts()}
    surest = mistaken.models[0].latest()[1]
    shown = page.locator("#latest-mistakes tbody th").all_inner_texts()
    assert [name.replace("\n", "") for name in shown] == [each.step.event_id for each in surest][:8]


@pytest.mark.parametrize("place", ["#latest-mistakes", "#events"])
def test_a_row_opens_to_what_is_known_and_why(mistaken, serve, open_page, place):
    page = open_page(serve(mistaken.served()))
    page.locator(f"{place} tbody tr", has_text="wrong").get_by_role("button").click()
    detail = page.get_by_role("dialog", name="wrong")
    expect(detail).to_contain_text("win money")
    expect(detail).to_contain_text("✗ ham")
    expect(detail.locator(".verdict")).to_contain_text("Predicted: ")
    detail.get_by_role("button", name="Change it and try").click()
    expect(detail).to_be_hidden()
    expect(page.get_by_label("Text", exact=True)).to_have_value("win money")
    expect(page.locator("#answer")).to_contain_text("Predicted: ")


def test_a_cell_of_the_matrix_opens_to_its_events(mistaken, serve, open_page):
    page = open_page(serve(mistaken.served()))
    page.get_by_role("button", name=re.compile("ham taken for spam$")).click()
    detail = page.get_by_role("dialog", name="Truth ham, predicted spam")
    expect(detail.locator("li").first).to_contain_text("win money")
    expect(detail).not_to_contain_text("missed")
    detail.get_by_role("button", name="wrong").click()
    expect(page.get_by_role("dialog", name="wrong").locator(".verdict")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("spam taken for spam$")).click()
    expect(page.get_by_role("dialog").locator("li").first).to_contain_text("m-39")


@pytest.fixture
def deciding():
    """A model whose decisions are found in 200 labels, but one; the last event waits for its label."""
    given = [
        {"name": "block", "min_precision": 0.8},
        {"name": "sure", "min_precision": 0.9999},
        {"name": "look", "max_rate": "24/day"},
    ]
    costs = {"false_positive": 1, "false_negative": 20}
    stage = Stage(model="logistic-regression", classes="ham,spam", decisions=given, costs=costs)
    for n in range(200):
        words = "win money" if n % 2 else "see you"
        stage(event(f"m-{n}", f"{words} {n % 7}", label=("ham", "spam")[n % 2]), at_seconds=60 * n)
    stage(event("late", "win money"), at_seconds=60 * 200)
    return stage


def test_decisions_are_listed_with_threshold_precision_and_cost(deciding, serve, open_page):
    page = open_page(serve(deciding.served()))
    taken, cost = deciding.models[0].decisions_taken()
    rows = page.locator("#decisions tbody tr")
    expect(rows).to_have_count(3)
    block, sure, look = (rows.nth(n).locator("th, td").all_inner_texts() for n in range(3))
    assert block[:3] == ["block", "min_precision = 0.8", "spam"]
    assert block[3].endswith(" %")
    assert block[4:] == [str(taken[0]["decided"]), f"100.0 % of {taken[0]['labelled']}"]
    assert sure[3:] == ["too few labels of the class yet", "0", "–"]
    assert look[1] == "max_rate = 24/day"
    expect(page.locator("#decisions-cost")).to_have_text(f"They have cost {cost:g} so far.")
    expect(page.locator("#events tbody tr").first.locator(".decision")).to_have_text("block")
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.locator("#answer .verdict")).to_contain_text("decision block")


def test_the_threshold_of_a_decision_is_marked_in_the_curves(deciding, serve, open_page):
    page = open_page(serve(deciding.served()))
    expect(page.locator("#threshold-chart canvas")).to_be_visible()
    page.wait_for_timeout(200)
    marked = """canvas => {
        const ink = getComputedStyle(document.documentElement).getPropertyValue("--baseline").trim();
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const [r, g, b] = [1, 3, 5].map((at) => parseInt(ink.slice(at, at + 2), 16));
        let n = 0;
        for (let i = 0; i < data.length; i += 4) n += data[i] === r && data[i + 1] === g && data[i + 2] === b;
        return n;
    }"""
    assert page.locator("#threshold-chart canvas").evaluate(marked) > 100


def test_without_decisions_there_is_no_panel(mistaken, serve, open_page):
    page = open_page(serve(mistaken.served()))
    expect(page.locator("#thresholds-section")).to_be_visible()
    expect(page.locator("#decisions-section")).to_be_hidden()
    expect(page.locator("#events")).not_to_contain_text("Decision")


def decided(bins, threshold):
    """Return precision, recall and false positive rate at a score, as the slider shows them."""
    found, alarms = (sum(each[k] for each in bins if each[0] >= threshold) for k in (1, 2))
    positives, negatives = (sum(each[k] for each in bins) for k in (1, 2))
    return [
        f"{100 * part:.1f} %" for part in (found / (found + alarms), found / positives, alarms / negatives)
    ]


def test_the_slider_shows_what_a_threshold_would_decide_and_cost(mistaken, serve, open_page):
    address = serve(mistaken.served())
    page = open_page(address)
    bins = page.request.get(f"{address}/state").json()["quality"]["score_bins"]
    shown = [page.locator(f"#threshold-{name}") for name in ("precision", "recall", "false-positives")]
    for place, expected in zip(shown, decided(bins, 1e-300), strict=True):
        expect(place).to_have_text(expected)
    slider = page.get_by_label("Threshold", exact=True)
    slider.fill("0")  # all are taken for positive
    for place, expected in zip(shown, decided(bins, bins[0][0]), strict=True):
        expect(place).to_have_text(expected)
    negatives = sum(each[2] for each in bins)
    page.get_by_label("Cost of a “ham” taken for “spam”").fill("2.5")
    expect(page.locator("#threshold-cost")).to_have_text(f"{2.5 * negatives:g}")
    page.get_by_label("Cost of a “ham” taken for “spam”").fill("1000")
    page.get_by_role("button", name="Take the cheapest threshold").click()
    expect(shown[2]).to_have_text("0.0 %")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^above all: precision –, recall 0.0 %"))


def test_costs_begin_as_they_are_set_and_stay_as_they_are_entered(deciding, serve, open_page):
    page = open_page(serve(deciding.served()))
    costs = [page.locator(f"#cost-of-{name}") for name in ("positive", "negative")]
    expect(costs[0]).to_have_value("1")
    expect(costs[1]).to_have_value("20")
    costs[1].fill("7")
    deciding(event("later", "win money", label="ham"), at_seconds=60 * 201)
    expect(page.locator("#predictions")).to_have_text("202")
    expect(costs[1]).to_have_value("7")


def test_of_several_classes_there_are_no_thresholds_no_sign_and_no_even_chance(serve, open_page):
    stage, names = Stage(model="auto", classes="sky,sea,sand,snow"), ["sky", "sea", "sand", "snow"]
    stage(*(event(f"e-{n}", f"word{n % 4}", label=names[n % 4]) for n in range(12)))
    page = open_page(serve(stage.served()))
    expect(page.locator("#predictions")).to_have_text("12")
    expect(page.locator("#thresholds-section")).to_be_hidden()
    expect(page.locator("#events-caption")).to_contain_text("class with the highest score")
    expect(page.locator("#log-loss-explained")).not_to_contain_text("0.693")


def test_kinds_of_labels_are_told_apart(serve, open_page):
    stage = Stage(
        events={"label_on_timeout": "false", "where": "features.n != `9`"}, label_timeout_seconds=10
    )
    stage(event("a", n=1), event("b", n=1), event("c", n=9))
    stage(event("d", n=1), at_seconds=11)
    stage(label("a", True), label("d", True), at_seconds=12, topic="labels")
    page = open_page(serve(stage.served()))
    shown = page.locator("#labels > div")
    expect(shown).to_have_text(
        ["Real2", "Provisional1", "Corrected1", re.compile("Known mistakes"), "Skipped1"]
    )


def test_where_all_labels_are_real_nothing_is_said_of_kinds(address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    expect(page.locator("#labels-section")).to_be_hidden()


def test_curves_are_drawn_over_time_if_one_likes(mixture, page_of_mixture):
    charts = ("error-chart", "mistakes-chart", "expert-weights-chart")
    expect(page_of_mixture.locator("#predictions")).to_have_text("30")
    before = {chart: pixels(page_of_mixture, chart) for chart in charts}
    page_of_mixture.get_by_label("Over").select_option("time")
    for chart, picture in before.items():
        expect(page_of_mixture.locator(f"#{chart} canvas")).to_be_visible()
        assert pixels(page_of_mixture, chart) != picture


def test_what_a_mixture_looks_at_is_shown(mixture, page_of_mixture):
    rows = page_of_mixture.locator("#weights tbody th")
    expect(rows.first).to_be_visible()
    assert {"win", "money"} <= set(rows.all_inner_texts())
    expect(page_of_mixture.locator("#weights-caption")).to_contain_text("events looked at")


def test_a_mixture_leaves_the_text_of_an_event_that_has_scrolled_by_a_text(mixture, serve, open_page):
    mixture(event("late", "win money", length=1.0), *(event(f"n-{n}", "see", length=0.5) for n in range(250)))
    mixture(label("late", False), topic="labels")
    page = open_page(serve(mixture.served()))
    expect(page.locator("#events td.content").first).to_have_text("win money — length 1")
    expect(page.get_by_label("Text", exact=True)).to_have_value("win money")
    expect(page.get_by_label("Features")).to_have_value("length = 1")


def test_on_a_narrow_screen_tables_have_all_their_columns(deciding, mixture, serve, open_page):
    for stage, names in ((deciding, ["decisions"]), (mixture, ["weights", "heaviest-experts"])):
        page = open_page(serve(stage.served()), **PHONE)
        for name in names:
            place = page.locator(f"#{name}")
            expect(place.locator("tbody tr").first).to_be_visible()
            assert place.evaluate("place => place.scrollWidth <= place.clientWidth"), name


@pytest.mark.parametrize("shape", [{}, DARK, PHONE], ids=["light", "dark", "phone"])
def test_axe_finds_no_barrier_among_decisions(deciding, serve, open_page, shape):
    page = open_page(serve(deciding.served()), **shape)
    expect(page.locator("#decisions tbody tr")).to_have_count(3)
    assert not is_wider_than_the_screen(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("shape", [{}, DARK, PHONE], ids=["light", "dark", "phone"])
def test_axe_finds_no_barrier_in_what_opens(mistaken, serve, open_page, shape):
    page = open_page(serve(mistaken.served()), **shape)
    page.locator("#thresholds-section summary").click()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.locator("#latest-mistakes tbody tr").first.get_by_role("button").click()
    expect(page.locator("#detail .verdict")).to_be_visible()
    assert not is_wider_than_the_screen(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_an_id_is_whole_on_a_phone(stage, address, open_page):
    stage(event("order-2026-11-23-000042", "win", label=True))
    page = open_page(address, **PHONE)
    cut = page.locator("#events tbody th").first.locator("span").first
    assert cut.evaluate(
        "span => span.scrollWidth <= span.clientWidth || getComputedStyle(span).display === 'inline'"
    )


def test_the_baseline_is_the_error_of_always_saying_the_commonest_class(stage, address, open_page):
    page = open_page(address)
    confusion = stage.feeds[0].counters.confusion
    expected = f"{100 * confusion.baseline_mistakes / confusion.count:.1f} %"
    expect(page.locator("#baseline")).to_have_text(expected)
    page.locator("summary").first.click()
    expect(page.locator("#error-table tbody tr").first).to_contain_text(expected)


def test_auc_and_log_loss_are_those_of_the_counters(serve, open_page):
    stage = Stage(model="coin-betting")
    for n in range(30):
        stage(event(f"e-{n}", "win" if n % 3 else "see", label=n % 2 == 0))
    page, counters = open_page(serve(stage.served())), stage.feeds[0].counters
    expect(page.locator("#auc")).to_have_text(f"{counters.score_bins.pairs().auc():.3f}")
    expect(page.locator("#log-loss")).to_have_text(f"{counters.calibration.log_loss():.3f}")


def test_it_says_which_stream_it_reads_and_for_how_long(serve, open_page):
    page = open_page(serve(Stage(broker="kafka://one:9092", group="mine", events_topic="pages").served()))
    expect(page.locator("#broker")).to_have_text("kafka://one:9092")
    expect(page.locator("#topic")).to_have_text("pages")
    expect(page.locator("#group")).to_have_text("mine")
    expect(page.locator("#uptime")).to_have_text(re.compile(r"^\d+ s$"))


@pytest.mark.parametrize("shape", [{}, PHONE], ids=["wide", "phone"])
def test_of_a_long_id_the_end_is_seen_and_the_rest_on_hover(stage, address, open_page, shape):
    name = f"{'x' * 200}-the-end"
    stage(event(name, "win", label=True))
    page = open_page(address, **shape)
    cell = page.locator("#events tbody th").first
    expect(cell).to_have_attribute("title", name)
    box, end = cell.bounding_box(), cell.locator("span").last.bounding_box()
    assert cell.locator("span").last.inner_text() == "-the-end"
    assert end["x"] + end["width"] <= box["x"] + box["width"] + 1


def height_of(page, place):
    return page.locator(place).bounding_box()["height"]


@pytest.mark.parametrize("shape", [{}, PHONE], ids=["wide", "phone"])
def test_tables_keep_their_height_while_events_come(serve, open_page, shape):
    stage = Stage()
    stage(event("first", "x", label=True))
    page = open_page(serve(stage.served()), **shape)
    expect(page.locator("#events tbody tr")).to_have_count(1)
    before = {place: height_of(page, place) for place in ("#events", "#weights", "#confusion")}
    for n in range(15):
        stage(event(f"e-{n}", f"see word{n} " + "long " * n * 9, label=n % 2 == 1, **{f"f{n}" * 20: 1.0}))
    expect(page.locator("#predictions")).to_have_text("16")
    assert {place: height_of(page, place) for place in before} == before


SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("shape", [{}, PHONE], ids=["wide", "phone"])
def test_nothing_jumps_while_events_come(mixture, serve, browser, shape):
    address = serve(mixture.served())
    with browser.new_context(**shape) as context:
        context.add_init_script(SHIFTS)
        page = context.new_page()
        page.goto(address)
        for n in range(4):
            mixture(*(event(f"n-{n}-{k}", "win " * k, label=k % 2 == 0, length=k * 0.1) for k in range(9)))
            expect(page.locator("#predictions")).to_have_text(str(30 + 9 * (n + 1)))
        assert page.evaluate("window.shifted") < 0.01


def test_a_phone_shows_the_error_and_its_curve_first(address, open_page):
    page = open_page(address, **PHONE)
    for place in ("#recent-error", "#error", "#baseline", "#error-chart"):
        box = page.locator(place).bounding_box()
        assert box["y"] + box["height"] <= PHONE["viewport"]["height"], place


def test_trouble_is_told(stage, open_page):
    with stage.served() as client:
        page = open_page(str(client.base_url))
        expect(page.get_by_role("status")).to_contain_text("ready")
        stage.health.become(State.UNAVAILABLE, "kafka:9092 does not answer")
        expect(page.get_by_role("alert")).to_contain_text("kafka:9092 does not answer")
        stage.health.become(State.READY)
        expect(page.locator("#notice")).to_be_hidden()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.close()
    open_page.complaints.clear()  # the browser notes the refused connections


def test_a_process_that_stands_by_says_who_has_the_partitions(serve, open_page):
    stage = Stage(partitions=())
    stage.health.become(State.READY, "standing by: other members have all the partitions")
    page = open_page(serve(stage.served()))
    expect(page.get_by_role("status")).to_have_text("standing by")
    expect(page.get_by_role("alert")).to_contain_text("other members have all the partitions")
    page.close()
    open_page.complaints.clear()  # the browser notes the answer that there is no model


def test_a_curve_of_one_point_is_seen(serve, open_page):
    stage = Stage()
    feed = stage.feeds[0]
    records = [feed.record(event(f"m-{n}", "win", label=n % 2 == 0)) for n in range(300)]
    with stage.models[0].learning:
        feed.processor.process_batch(records)
    stage.publish()
    page = open_page(serve(stage.served()))
    expect(page.locator("#predictions")).to_have_text("300")
    coloured = """canvas => {
        const ink = getComputedStyle(document.documentElement).getPropertyValue("--recent").trim();
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const [r, g, b] = [1, 3, 5].map((at) => parseInt(ink.slice(at, at + 2), 16));
        let n = 0;
        for (let i = 0; i < data.length; i += 4) n += data[i] === r && data[i + 1] === g && data[i + 2] === b;
        return n;
    }"""
    assert page.locator("#error-chart canvas").evaluate(coloured) > 20


@pytest.mark.parametrize("n_events", [1, 6])
def test_long_class_names_overprint_nothing_on_a_phone(serve, open_page, n_events):
    stage = Stage(model="auto", classes=("legitimate_transaction", "fraudulent_transaction"))
    for n in range(20):
        truth = ("legitimate_transaction", "fraudulent_transaction")[n % 2]
        stage(event(f"transaction-2026-11-23-{n:06d}", f"win {n % 2}", label=truth))
    page = open_page(serve(stage.served()), viewport={"width": 390, "height": 844})
    cells = (
        page.locator("#events tbody tr").nth(n_events - 1).locator("td:not(.content, .score)")
    )  # below the id
    expect(cells.first).to_be_visible()
    boxes = sorted(
        (box for box in (each.bounding_box() for each in cells.all()) if box), key=lambda box: box["x"]
    )
    for left, right in pairwise(boxes):
        assert left["x"] + left["width"] <= right["x"]
    hides = "cell => cell.scrollWidth <= cell.clientWidth || getComputedStyle(cell).overflowX === 'hidden'"
    assert all(each.evaluate(hides) for each in page.locator("#events tbody .class").all())


def test_a_browser_logs_in_with_the_token_as_password(serve, open_page):
    credentials = {"username": "anybody", "password": "secret"}
    page = open_page(serve(Stage(http_token="secret").served()), http_credentials=credentials)
    expect(page.get_by_role("status")).to_contain_text("ready")


def test_it_is_dark_where_that_is_liked(address, open_page):
    backgrounds = [
        open_page(address, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    light, dark = (sum(map(int, found.removeprefix("rgb(").rstrip(")").split(","))) for found in backgrounds)
    assert light > 3 * 200 > 3 * 60 > dark


def test_curves_follow_when_the_light_goes_out(address, open_page):
    page = open_page(address, color_scheme="light")
    expect(page.locator("#error-chart canvas")).to_be_visible()
    before = pixels(page, "error-chart")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)
    assert pixels(page, "error-chart") != before


def test_a_phone_shows_all_without_scrolling_sideways(stage, address, open_page):
    stage(event("x" * 256, "y" * 400, label=True, **{"z" * 100: 1.0}))
    page = open_page(address, **PHONE)
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.locator("#answer")).to_contain_text("Predicted: ")
    assert not is_wider_than_the_screen(page)
    for chart in page.locator(".chart canvas").all():
        assert chart.bounding_box()["width"] <= 375


@pytest.mark.parametrize("shape", [{}, DARK, PHONE], ids=["light", "dark", "phone"])
def test_axe_finds_no_barrier(address, open_page, shape):
    page = open_page(address, **shape)
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.locator("#answer")).to_contain_text("Predicted: ")
    page.locator("summary").first.click()
    expect(page.locator("#error-table table")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_the_keyboard_gets_everywhere(address, open_page):
    page = open_page(address)
    expect(page.locator("#events table")).to_be_visible()
    reached = []
    for _ in range(70):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
        )
    assert reached[0] == "Skip to the curves"
    for place in ("API", "As a table", "text", "features", "Predict", "latest", "weights", "pause", "events"):
        assert place in reached


def test_a_curve_can_be_read_as_a_table(stage, address, open_page):
    page = open_page(address)
    page.locator("summary").nth(1).click()
    first = page.locator("#mistakes-table tbody tr").first
    expect(first).to_contain_text("30")
    expect(first).to_contain_text(str(stage.feeds[0].counters.mistakes))


def test_the_api_document_is_shown_without_the_internet(address, open_page):
    page = open_page(address, "/docs")
    expect(page.get_by_text("/predict", exact=True).first).to_be_visible()
    expect(page.get_by_text("/explain", exact=True)).to_be_visible()
