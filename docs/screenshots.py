"""Take the pictures of the documentation: the live page, and the demo in a terminal.

    PYTHONPATH=. python docs/screenshots.py        needs the dev dependencies and Debian's `chromium`
    PYTHONPATH=. python docs/screenshots.py demo   the demo only, without a browser

In: a demo and services that it starts itself. Out: docs/images.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from time import monotonic, sleep

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from river import datasets

from tests.support.chromium import launch

IMAGES = Path(__file__).with_name("images")
RATE = "80"
"""Events per second: a stream that fills the curves with points."""
WATCHED_SECONDS = 22
WIDTH = 132
"""Columns of the terminal that is drawn."""
CLASSES = ("legitimate", "phishing")
ADDRESS = "127.0.0.1:8793"
SIZE = {"width": 1200, "height": 1180}
THEME = TerminalTheme(
    (18, 22, 27),
    (232, 236, 241),
    [(18, 22, 27), (255, 138, 128), (76, 199, 154), (240, 160, 80), (108, 180, 238), (200, 160, 240),
     (110, 200, 210), (232, 236, 241)],
)  # fmt: skip


@contextmanager
def demo() -> Iterator[str]:
    """Run the demo, to be watched; yield its address."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        command = [sys.executable, "-m", "service", "demo", "--keep", "--rate", RATE]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log) as process:
            try:
                shown = ""
                while "perceptron verify" not in shown:  # it has been killed, and started again
                    sleep(0.2)
                    log.seek(0)
                    shown = log.read()
                yield re.findall(r"http://[\d.:]+", shown)[0]
            finally:
                process.terminate()


@contextmanager
def service(model: str) -> Iterator[str]:
    """Serve a model on a stream of its own; yield its address once the stream is learned."""
    with tempfile.TemporaryDirectory() as folder:
        stream = ["--broker", f"sqlite:///{folder}/stream.db", "--classes", ",".join(CLASSES)]
        events = [
            json.dumps({"id": f"page-{n}", "features": x, "label": CLASSES[y]}) + "\n"
            for n, (x, y) in enumerate(datasets.Phishing())
        ]
        perceptron = [sys.executable, "-m", "service"]
        produce = [*perceptron, "produce", "-", *stream, "--rate", RATE]
        serve = [*perceptron, "serve", *stream, "--model", model, "--http", ADDRESS, "--create-topics", "all"]
        with subprocess.Popen(serve, stderr=subprocess.DEVNULL, cwd=folder) as process:
            try:
                sleep(8)  # until it serves, so that the curves have points from the beginning
                subprocess.run(produce, check=True, input="".join(events), text=True)
                sleep(2)
                yield f"http://{ADDRESS}"
            finally:
                process.terminate()


def photograph(browser: Browser, address: str) -> None:
    """Take a picture of the page, with a prediction in its form."""
    with browser.new_page(viewport=SIZE, color_scheme="light") as page:
        page.goto(address)
        page.get_by_role("button", name="Take the latest event").click()
        page.get_by_text("Predicted:").wait_for()
        page.evaluate("scrollTo(0, 0)")
        sleep(1)
        page.screenshot(path=IMAGES / "page-light.png")


def draw_terminal() -> None:
    """Run the demo once more, and draw what a terminal shows of it, each line when it came."""
    began, lines = monotonic(), [(0.0, "$ make demo")]
    command = ["make", "--no-print-directory", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        folder = re.compile(r"(/perceptron-demo)-\w+")
        lines += [(monotonic() - began, folder.sub(r"\1", line)) for line in process.stdout or ()]
    shown = [*takewhile(lambda line: "where to look next" not in line[1], lines)]
    with tempfile.TemporaryFile("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        for _, line in shown:
            console.print(Text(line.rstrip()), no_wrap=True, crop=True)
        drawn = console.export_svg(title="make demo", theme=THEME)
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)  # fonts of another host
    drawn = drawn.replace("</style>", "@keyframes come { from { opacity: 0 } }</style>", 1)
    drawn = re.sub(
        r'(<text [^>]*clip-path="url\(#[\w-]+-line-(\d+)\)")',
        lambda found: f'{found[1]} style="animation: come .1s {shown[int(found[2])][0]:.2f}s both"',
        drawn,
    )
    (IMAGES / "demo.svg").write_text(drawn, encoding="utf-8")


def main() -> None:
    """Take both pictures, or draw the demo only."""
    if sys.argv[1:] != ["demo"]:
        take_page()
    draw_terminal()


def take_page() -> None:
    """Take the picture of the page, while a demo runs."""
    with sync_playwright() as playwright, launch(playwright) as browser, demo() as address:
        sleep(WATCHED_SECONDS)
        photograph(browser, address)


if __name__ == "__main__":
    main()
