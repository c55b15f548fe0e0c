"""The recorded page can be clicked through without a service."""

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.support.chromium import NoBrowser, launch
from tools.documentation import live_page

pytestmark = pytest.mark.slow


@pytest.fixture
def page():
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except NoBrowser as error:
            pytest.skip(str(error))
        with browser, browser.new_page() as page:
            yield page


def test_recorded_page_is_current():
    html = live_page.RECORDED.read_text(encoding="utf-8")
    assert html == live_page.composed(live_page.recording(html)), "python -m tools.documentation.live_page"


def test_recorded_page_shows_a_stream_from_its_file_alone(page):
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(error))  # noqa: PLW0108  Playwright marks its handlers
    page.goto(live_page.RECORDED.as_uri())
    page.get_by_role("button", name="Take the latest event").click()
    expect(page.locator("#answer")).to_contain_text("Predicted:")
    expect(page.locator("#error")).to_contain_text("%")
    page.get_by_label("Features").fill("unheard = 1")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#answer")).to_contain_text("This page is a recording.")
    assert (len(asked), errors) == (1, [])
