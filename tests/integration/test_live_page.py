"""The live page, as a person meets it: in a real Chromium, with a model that learns after it."""

import json
import re
from contextlib import ExitStack

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from service.monitoring.health import State
from tests.service.building import event, label
from tests.service.web.stage import Stage
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


def take_latest(page):
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.locator("#answer")).to_contain_text("Predicted: ")


def labelled(names, n_events=12, **given):
    """Return a stage that has learned events of these classes, in turn."""
    stage = Stage(**given)
    for n in range(n_events):
        stage(event(f"e-{n}", f"word{n % 3}", label=names[n % len(names)]))
    return stage


def test_counts_curves_and_rows_update_while_it_learns(stage, address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    before = {chart: pixels(page, chart) for chart in ("error-chart", "mistakes-chart")}
    stage(*(event(f"n-{n}", "win money", label=n % 2 == 0) for n in range(20)))
    expect(page.locator("#predictions")).to_have_text("50")
    counters = stage.feeds[0].counters
    expect(page.locator("#mistakes")).to_have_text(str(counters.mistakes))
    baseline = f"{100 * counters.confusion.baseline_mistakes / counters.confusion.count:.1f} %"
    expect(page.locator("#baseline")).to_have_text(baseline)
    for chart, picture in before.items():
        assert pixels(page, chart) != picture
    page.locator("summary").first.click()
    expect(page.locator("#error-table tbody tr").first).to_contain_text(baseline)
    page.get_by_role("button", name="Pause").click()
    shown = page.locator("#events").inner_text()
    stage(event("late", "see money"))
    expect(page.locator("#predictions")).to_have_text("51")
    assert page.locator("#events").inner_text() == shown
    page.get_by_role("button", name="Continue").click()
    row = page.locator("#events tbody tr").first
    expect(row).to_contain_text("pending")
    expect(page.locator("#pending")).to_have_text("1")
    stage(label("late", True), at_seconds=2.5, topic="labels")
    expect(row).to_contain_text("true after 2.5 s")
    expect(page.locator("#labels-section")).to_be_hidden()


def test_typed_event_is_predicted_and_explained(stage, address, open_page):
    page = open_page(address)
    text, features = page.get_by_label("Text", exact=True), page.get_by_label("Features")
    expect(text).to_have_value("win money")
    expect(features).to_have_value("length = 29")
    text.fill("win zebra")
    features.fill("length = 2.5\nurgent = true\nlang = en")
    stage(event("new", "see you", label=False))
    expect(page.locator("#predictions")).to_have_text("31")
    expect(text).to_have_value("win zebra")
    page.get_by_role("button", name="Predict").click()
    result, model = page.locator("#answer"), stage.feeds[0].model
    x = {"length": 2.5, "urgent": 1.0, "lang=en": 1.0, "text=win": 1.0, "text=zebra": 1.0}
    expect(result.locator("strong")).to_have_text(str(model.predict_one(x)).lower())
    decided = {
        name.removeprefix("text=") for name, value in x.items() if model.weights.get(name, 0.0) * value
    }
    assert set(result.locator("tbody th").all_inner_texts()) == decided | {"bias"}
    assert set(result.locator("mark").all_inner_texts()) == {"lang=en", "urgent", "zebra"}
    assert stage.appended == []
    features.fill("length = 1e101")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer .wrong")).to_contain_text("features.length")
    assert [each for each in open_page.complaints if "422" in each]  # the browser's own note of a rejection
    open_page.complaints.clear()


def test_unreadable_line_is_named_and_skipped(address, open_page):
    page = open_page(address)
    for line, problem in [
        ("urgent", "not of the form"),
        ("lang =", "not of the form"),
        ("length = -Infinity", "is not a finite number"),
        ("known = 2", "has a value already"),
    ]:
        page.get_by_label("Features").fill(f"known = 1\n\n{line}")
        expect(page.locator("#unread li")).to_have_text(re.compile(f"Line 3 is left out: .*{problem}"))
        with page.expect_request("**/explain*") as asked:
            page.get_by_role("button", name="Predict").click()
        assert asked.value.post_data_json["features"] == {"known": 1}


def test_accepted_event_is_shown_as_text_and_never_as_markup(stage, address, open_page):
    features = {
        "a": "5",
        "b": True,
        "c": "true",
        "d": -1.5,
        "e": "x = y",
        "f": "",
        "g": " \n",
        "h": '"q"',
        HOSTILE: 1,
    }
    stage(event(HOSTILE, HOSTILE, label=True, **features))
    page = open_page(address)
    expect(page.locator("#events")).to_contain_text(HOSTILE)
    with page.expect_request("**/explain*") as asked:
        take_latest(page)
    assert asked.value.post_data_json["features"] == features
    assert page.title() == "online-perceptron"
    assert page.locator("main img, main script").count() == 0


def test_mapped_records_can_be_predicted_but_not_labelled_on_the_page(serve, open_page):
    stage = Stage(events={"id": "uuid", "text": ["mail.subject"], "features": ["mail.size"], "label": "spam"})
    stage({"uuid": 7, "mail": {"subject": "win money", "size": 3}, "spam": True})
    page = open_page(serve(stage.served()))
    expect(page.locator("#events tbody .content").first).to_have_text("win money — mail.size 3")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer")).to_contain_text("mail.size")
    expect(page.locator("#teach-instead")).to_be_visible()
    expect(page.get_by_label("Add a label")).to_be_hidden()


def test_typed_event_is_learned_with_its_class(stage, address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    expect(page.get_by_label("Its class")).to_be_hidden()
    page.get_by_label("Text", exact=True).fill("win a prize")
    page.get_by_label("Features").fill("length = 3")
    page.get_by_label("Add a label").check()
    page.get_by_label("Its class").select_option("false")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#taught")).to_contain_text("predicted true, labelled false")
    taught, truth = (json.loads(output.value) for output in stage.appended)
    assert (taught["text"], taught["features"], "label" in taught) == ("win a prize", {"length": 3}, False)
    assert truth == {"id": taught["id"], "label": False}
    stage.metrics.lag = {("events", 0): 10**6}
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#taught .wrong")).to_contain_text("are waiting to be processed")
    open_page.complaints.clear()  # a browser reports each response of an error status


@pytest.fixture
def mixture():
    stage = Stage(model="auto")
    for n in range(30):
        stage(event(f"m-{n}", "win money" if n % 3 else "see you", label=n % 2 == 1, length=float(n % 7)))
    return stage


def test_folded_table_lists_the_heaviest_expert_first(mixture, serve, open_page):
    page, learner = open_page(serve(mixture.served())), mixture.feeds[0].processor.learner
    experts = learner.mixture.experts
    rows = page.locator("#experts-table tbody tr")
    expect(page.locator("#leader")).to_contain_text(learner.mixture.leader)
    expect(rows).to_have_count(0)
    page.get_by_text("All experts").click()
    expect(rows.locator("th")).to_have_text([each.name for each in experts], use_inner_text=True)
    expect(rows.first).to_contain_text(f"{experts[0].weight:+.3f}".replace("-", "−"))
    expect(rows.first).to_contain_text(f"{100 * experts[0].recent_error:.1f} %")
    assert {"text", "win", "money"} <= set(page.locator("#weights tbody th").all_inner_texts())
    take_latest(page)
    expect(page.locator("#answer")).to_contain_text(learner.mixture.leader)
    expect(page.locator("#answer")).to_contain_text(experts[0].name)


def test_weights_of_a_mixture_are_shown_by_class_and_field(serve, open_page):
    names = ["sky", "sea", "sand"]
    page = open_page(serve(labelled(names, 60, model="auto", classes=",".join(names)).served()))
    chooser = page.locator("#terms-class")
    expect(chooser.locator("option")).to_have_text(sorted(names))
    for name in names:
        chooser.select_option(name)
        expect(page.locator("#weights-caption")).to_contain_text(f"“{name}”")
        expect(page.locator("#weights .field").first).to_have_text("text")


def test_navigation_links_only_to_present_sections(stage, address, open_page):
    page = open_page(address)
    links = page.get_by_role("navigation", name="On this page").get_by_role("link")
    expect(page.locator("#predictions")).to_have_text("30")
    assert "Decisions" not in links.all_inner_texts()
    links.get_by_text("Try it").click()
    assert page.url.endswith("#try-section")
    expect(page.get_by_role("heading", name="Try it")).to_be_in_viewport()


def test_id_is_shown_whole(stage, address, open_page):
    event_id = "3f2b8c1e-97aa-4d0b-8a51-0c9d7e66f4b2"
    stage(event(event_id, "win"))
    shown = open_page(address).locator("#events tbody th button").first
    expect(shown).to_have_text(event_id)
    assert shown.evaluate("each => each.scrollHeight <= each.clientHeight + 1")


def test_curves_can_be_drawn_over_time(stage, address, open_page):
    page = open_page(address)
    expect(page.locator("#predictions")).to_have_text("30")
    before = pixels(page, "error-chart")
    page.get_by_label("Over").select_option("time")
    stage(event("late", "win money", label=True))
    expect(page.locator("#predictions")).to_have_text("31")
    assert pixels(page, "error-chart") != before


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"model": "auto", "classes": "sky,sea,sand,snow"}, ["sky", "sea", "sand", "snow"]),
        ({"model": "examples/forest_for_the_service.py:build"}, [True, False]),
        ({"hash_bits": 10}, [1, -1]),
        ({"model": "coin-betting"}, [True, False]),
    ],
)
def test_models_of_every_kind_can_be_inspected(serve, open_page, given, names):
    stage = labelled(names, **given)
    page = open_page(serve(stage.served()))
    expect(page.locator("#predictions")).to_have_text("12")
    expect(page.locator("#weights-caption")).not_to_be_empty()
    take_latest(page)
    assert page.locator("#answer strong").inner_text() in {str(name).lower() for name in names}
    expect(page.locator("#experts")).to_be_visible(visible=given.get("model") == "auto")
    expect(page.locator("#thresholds-section")).to_be_visible(visible=len(names) == 2)
    prediction = stage.models[0].latest()[0][0].fields
    shown = [f"{100 * prediction['probability']:.1f} %"] if "probability" in prediction else []
    expect(page.locator("#events tbody tr").first.locator(".probability")).to_have_text(shown)
    if given.get("model") == "coin-betting":
        counters = stage.feeds[0].counters
        expect(page.locator("#auc")).to_have_text(f"{counters.score_bins.pairs().auc():.3f}")
        expect(page.locator("#log-loss")).to_have_text(f"{counters.calibration.log_loss():.3f}")


def test_partitions_are_listed_and_one_can_be_chosen(serve, open_page):
    stage = Stage(partitions=(0, 1))
    for n in range(20):
        stage(event(f"a-{n}", "win" if n % 3 else "see", label=n % 3 > 0), partition=0)
    stage(event("b", "x", label=True, shape="round"), partition=1)
    address = serve(stage.served())
    page = open_page(address, "/?partition=7")
    expect(page.get_by_role("alert")).to_contain_text("Partition 7 is not served here")
    open_page.complaints.clear()  # the browser notes the response that there is no such partition
    chosen = page.get_by_role("combobox", name="Partition")
    for partition, events in (("0", "20"), ("1", "1")):
        chosen.select_option(partition)
        expect(page.locator("#predictions")).to_have_text(events)
        assert page.url.endswith(f"/?partition={partition}")
    rows = page.locator("#partitions tbody tr")
    assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [["0", "20"], ["1", "1"]]
    assert page.locator("#partitions tfoot tr").inner_text().split("\t")[:2] == ["All", "21"]
    with page.expect_request("**/explain*") as asked:
        take_latest(page)
    assert asked.value.url.endswith("partition=1")  # on the model that has predicted it
    page.get_by_role("link", name="0", exact=True).click()
    expect(page.locator("#predictions")).to_have_text("20")


def test_ten_largest_classes_are_shown_and_the_rest_merged(serve, open_page):
    names = [f"c{n}" for n in range(14)]
    page = open_page(serve(labelled(names, 24, classes=",".join(names)).served()))  # the last four come once
    expect(page.locator("#confusion tbody th")).to_have_text([*names[:10], "others"])
    expect(page.locator("#auc-explained")).to_contain_text("there are more than two classes")


@pytest.fixture
def mistaken():
    """A model that errs at last, twice."""
    stage = Stage(model="logistic-regression", classes="ham,spam")
    for n in range(40):
        stage(event(f"m-{n}", "win money" if n % 2 else "see you", label=("ham", "spam")[n % 2], length=0.5))
    stage(event("wrong", "win money", label="ham", length=0.5))
    stage(event("missed", "see you", label="spam", length=0.5))
    return stage


def wilson(right, n):
    """Return the bounds of Wilson's interval at 95 %: where the share is 1.96 standard errors away."""
    shares = np.linspace(0, 1, 100_001)
    inside = abs(right / n - shares) <= 1.96 * np.sqrt(shares * (1 - shares) / n)
    return shares[inside][[0, -1]]


def test_confusion_matrix_counts_labels_and_opens_to_their_events(mistaken, serve, open_page):
    page = open_page(serve(mistaken.served()))
    cells = mistaken.feeds[0].counters.confusion.cells
    expect(page.locator("#confusion thead")).to_have_text(re.compile("Truth.*ham.*spam.*Recall"))
    rows = page.locator("#confusion tbody tr")
    found = [list(map(int, row.split("\t")[1:3])) for row in rows.all_inner_texts()]
    assert found == [[cells[truth, predicted] for predicted in (False, True)] for truth in (False, True)]
    recall = cells[True, True] / (cells[True, True] + cells[True, False])
    precision = cells[True, True] / (cells[True, True] + cells[False, True])
    expect(rows.last.locator("td").last).to_have_text(f"{100 * recall:.1f} %")
    low, high = 100 * wilson(cells[True, True], cells[True, True] + cells[False, True])
    expect(page.locator("#confusion tfoot td").nth(1)).to_have_text(
        f"{100 * precision:.1f} %{low:.1f}–{high:.1f} %"
    )
    page.get_by_role("button", name=re.compile("ham taken for spam$")).click()
    detail = page.get_by_role("dialog", name="Truth ham, predicted spam")
    expect(detail.locator("li").first).to_contain_text("win money")
    expect(detail).not_to_contain_text("missed")
    detail.get_by_role("button", name="wrong").click()
    detail = page.get_by_role("dialog", name="wrong")
    expect(detail.locator(".verdict")).to_contain_text("Predicted: ")
    expect(detail).to_contain_text("✗ ham")
    detail.get_by_role("button", name="Edit and predict").click()
    expect(detail).to_be_hidden()
    expect(page.get_by_label("Text", exact=True)).to_have_value("win money")


def test_latest_mistakes_are_sorted_by_confidence(mistaken, serve, open_page):
    page = open_page(serve(mistaken.served()))
    rows = page.locator("#latest-mistakes tbody tr")
    row = rows.filter(has_text="wrong")
    expect(row.locator(".content")).to_have_text("win money — length 0.5")
    expect(row).to_contain_text("✗ ham")
    shares = [float(each.partition(" %")[0]) for each in rows.locator(".probability").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert len({*shares}) > 1
    for place in ("#latest-mistakes", "#events"):
        page.locator(f"{place} tbody tr", has_text="wrong").get_by_role("button").click()
        expect(page.get_by_role("dialog", name="wrong").locator(".verdict")).to_be_visible()
        page.keyboard.press("Escape")


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
    told = deciding.models[0].decisions_taken()
    taken, cost = told["decisions"], told["cost"]
    rows = page.locator("#decisions tbody tr")
    expect(rows).to_have_count(3)
    block, sure, look = (rows.nth(n).locator("th, td").all_inner_texts() for n in range(3))
    assert block[:3] == ["block", "min_precision = 0.8", "spam"]
    assert block[3].endswith(" %")
    assert block[4] == str(taken[0]["decided"])
    assert re.fullmatch(rf"100\.0 % \(9\d\.\d–100\.0 %\) of {taken[0]['labelled']}", block[5])
    assert sure[3:] == ["none yet", "0", "–"]
    unreached = "sure: too few labels of the class yet: at least 16,000 more needed."
    expect(page.locator("#decisions-undecided")).to_have_text(unreached)
    assert look[1] == "max_rate = 24/day"
    expect(page.locator("#decisions-cost")).to_have_text(f"Their cost so far: {cost:g}.")
    expect(page.locator("#events tbody tr").first.locator(".decision")).to_have_text("block")
    take_latest(page)
    expect(page.locator("#answer .verdict")).to_contain_text("decision block")
    costs = [page.locator(f"#cost-of-{name}") for name in ("positive", "negative")]
    expect(costs[0]).to_have_value("1")
    costs[1].fill("7")
    deciding(event("later", "win money", label="ham"), at_seconds=60 * 201)
    expect(page.locator("#predictions")).to_have_text("202")
    expect(costs[1]).to_have_value("7")


def test_slider_shows_decisions_and_cost_of_a_threshold(mistaken, serve, open_page):
    address = serve(mistaken.served())
    page = open_page(address)
    expect(page.locator("#decisions-section")).to_be_hidden()
    bins = page.request.get(f"{address}/state").json()["quality"]["score_bins"]
    shown = [page.locator(f"#threshold-{name}") for name in ("precision", "recall", "false-positives")]
    positives, negatives = (sum(each[k] for each in bins) for k in (1, 2))
    slider = page.get_by_label("Threshold", exact=True)
    slider.fill("0.4")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^4\d %|^5\d %"))
    slider.fill("0.999")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^above all"))
    slider.fill("0")  # all are taken for positive
    precision = f"{100 * positives / (positives + negatives):.1f} %"
    for place, expected in zip(shown, (precision, "100.0 %", "100.0 %"), strict=True):
        expect(place).to_have_text(expected)
    page.get_by_label("Cost of a “ham” taken for “spam”").fill("2.5")
    expect(page.locator("#threshold-cost")).to_have_text(f"{2.5 * negatives:g}")
    page.get_by_label("Cost of a “ham” taken for “spam”").fill("1000")
    page.get_by_role("button", name="Take the cheapest threshold").click()
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^above all: precision –, recall 0.0 %"))


def test_kinds_of_labels_are_counted_separately(serve, open_page):
    stage = Stage(
        events={"label_on_timeout": "false", "where": "features.n != `9`"}, label_timeout_seconds=10
    )
    stage(event("a", n=1), event("b", n=1), event("c", n=9))
    stage(event("d", n=1), at_seconds=11)
    stage(label("a", True), label("d", True), at_seconds=12, topic="labels")
    page = open_page(serve(stage.served()))
    kinds = ["Real2", "Assumed1", "Corrected1", re.compile("Known mistakes"), "Skipped1"]
    expect(page.locator("#labels > div")).to_have_text(kinds)


def test_page_without_events_shows_the_next_step(serve, open_page):
    page = open_page(serve(Stage(broker="kafka://one:9092", group="mine", events_topic="pages").served()))
    expect(page.get_by_role("heading", name="No events yet")).to_be_visible()
    expect(page.locator("#welcome")).to_contain_text("perceptron produce")
    for place, told in (("broker", "kafka://one:9092"), ("topic", "pages"), ("group", "mine")):
        expect(page.locator(f"#{place}")).to_have_text(told)


def test_unavailable_stream_is_shown(stage, open_page):
    with stage.served() as client:
        page = open_page(str(client.base_url))
        expect(page.get_by_role("status")).to_contain_text("ready")
        stage.health.become(State.UNAVAILABLE, "kafka:9092 does not answer")
        expect(page.get_by_role("alert")).to_contain_text("kafka:9092 does not answer")
        stage.health.become(State.READY)
        expect(page.locator("#notice")).to_be_hidden()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.close()
    open_page.complaints.clear()  # the browser notes the rejected connections


def test_idle_process_shows_that_others_own_the_partitions(serve, open_page):
    stage = Stage(partitions=())
    stage.health.become(State.READY, "idle: other members own all partitions")
    page = open_page(serve(stage.served()))
    expect(page.get_by_role("status")).to_have_text("idle")
    expect(page.get_by_role("alert")).to_contain_text("other members own all partitions")
    page.close()
    open_page.complaints.clear()  # the browser notes the response that there is no model


def test_browser_logs_in_with_the_token_as_password(serve, open_page):
    credentials = {"username": "anybody", "password": "secret"}
    page = open_page(serve(Stage(http_token="secret").served()), http_credentials=credentials)
    expect(page.get_by_role("status")).to_contain_text("ready")


@pytest.fixture(params=["stage", "mixture", "mistaken", "deciding"])
def any_stage(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("shape", [{}, DARK, PHONE], ids=["light", "dark", "phone"])
def test_page_is_accessible_and_nothing_is_cut_off(any_stage, serve, open_page, shape):
    any_stage(event("x" * 256, "y" * 400, **{"z" * 100: 1.0}))
    page = open_page(serve(any_stage.served()), **shape)
    take_latest(page)
    for summary in page.locator("summary:visible").all():
        summary.click()
    for place in page.locator("#decisions:visible, #weights:visible, #experts-table:visible").all():
        assert place.evaluate("place => place.scrollWidth <= place.clientWidth")
    assert not is_wider_than_the_screen(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.locator("#events tbody tr").first.get_by_role("button").click()
    expect(page.locator("#detail .verdict")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("shape", [{}, PHONE], ids=["wide", "phone"])
def test_layout_is_stable_while_events_arrive(mixture, serve, browser, shape):
    address = serve(mixture.served())
    with browser.new_context(**shape) as context:
        context.add_init_script(SHIFTS)
        page = context.new_page()
        page.goto(address)
        for n in range(4):
            mixture(*(event(f"n-{n}-{k}", "win " * k, label=k % 2 == 0, length=k * 0.1) for k in range(9)))
            expect(page.locator("#predictions")).to_have_text(str(30 + 9 * (n + 1)))
        assert page.evaluate("window.shifted") < 0.01


def test_page_and_its_curves_follow_the_dark_color_scheme(address, open_page):
    page = open_page(address, color_scheme="light")
    expect(page.locator("#error-chart canvas")).to_be_visible()
    before = pixels(page, "error-chart")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)
    assert pixels(page, "error-chart") != before
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, background.removeprefix("rgb(").rstrip(")").split(","))) < 3 * 60


def test_every_control_is_reachable_by_keyboard(address, open_page):
    page = open_page(address)
    expect(page.locator("#events table")).to_be_visible()
    reached = []
    for _ in range(90):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
        )
    assert reached[0] == "Skip to the curves"
    for place in ("API", "As a table", "text", "features", "Predict", "latest", "weights", "pause", "events"):
        assert place in reached


def test_api_document_works_offline(address, open_page):
    page = open_page(address, "/docs")
    expect(page.get_by_text("/predict", exact=True).first).to_be_visible()
    expect(page.get_by_text("/explain", exact=True)).to_be_visible()
