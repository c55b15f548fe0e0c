"""A Chromium to look at pages with: the system's own, as Playwright's cannot always be downloaded."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


class NoBrowser(Exception):
    """This machine has no Chromium."""


def find_chromium() -> str:
    """Return the path of Chromium: `PERCEPTRON_TEST_CHROMIUM`, or what is installed. Raises `NoBrowser`."""
    found = os.environ.get("PERCEPTRON_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise NoBrowser(f"none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)")
    return found


def launch(playwright: Playwright) -> Browser:
    """Start it without a screen; without a sandbox, as containers lend none."""
    return playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
