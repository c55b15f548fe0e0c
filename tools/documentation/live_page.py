"""Write the live page with recorded answers as one static file, from the page as it is now.

    python -m tools.documentation.live_page        after a change of the page; the answers stay

Reads and writes docs/live-page.html, whose answers `docs/recorded_page.py` has recorded.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

from service.web.app import FOLDER

RECORDED = Path(__file__).parents[2] / "docs" / "live-page.html"
NOTE = (
    "A recording: 1,250 pages of River's Phishing data set pass in some seconds. "
    "Predict answers about the events that the button takes."
)
SHIM = "\n" + Path(__file__).with_name("live_page.js").read_text(encoding="utf-8")


def bundled(name: str, done: set[str]) -> str:
    """Return a module, after those that it imports, each as a constant that holds its exports."""
    if name in done:
        return ""
    done.add(name)
    code = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    imports = re.findall(r'^import (\{.*\}) from "\./(\w+)\.js";$', code, re.MULTILINE)
    before = "".join(bundled(module, done) for _, module in imports)
    taken = "".join(f"const {names.replace(' as ', ': ')} = {module}_js;\n" for names, module in imports)
    exports = re.findall(r"^export (?:async )?(?:const|function|class) (\w+)", code, re.MULTILINE)
    code = re.sub(r"^import .*\n", "", code, flags=re.MULTILINE)
    code = re.sub(r"^export ", "", code, flags=re.MULTILINE)
    return f"{before}const {name}_js = (() => {{\n{taken}{code}return {{ {', '.join(exports)} }};\n}})();\n"


def composed(recorded: str) -> str:
    """Return the page with all that it loads; packed recorded answers take the place of a service."""
    html = (FOLDER / "page.html").read_text(encoding="utf-8")
    icon = base64.b64encode((FOLDER / "icon.svg").read_bytes()).decode()
    html = html.replace("/static/icon.svg", f"data:image/svg+xml;base64,{icon}")
    for style in re.findall(r'<link rel="stylesheet" href="/static/(.*)">', html):
        text = (FOLDER / style).read_text(encoding="utf-8")
        html = html.replace(f'<link rel="stylesheet" href="/static/{style}">', f"<style>{text}</style>")
    plot = (FOLDER / "uPlot.min.js").read_text(encoding="utf-8")
    script = f'const RECORDED = "{recorded}";{SHIM}{bundled("page", set())}'
    head, _, _ = html.partition('<script src="/static/uPlot.min.js">')
    head = re.sub(r"<nav .*?</nav>", "", head)
    head = re.sub(r"(<footer><p>).*?(</p>)", rf"\g<1>{NOTE}\g<2>", head)
    return f'{head}<script>{plot}</script>\n<script type="module">{script}</script>\n</body>\n</html>\n'


def recording(html: str) -> str:
    """Return the answers in a page that `composed` made, packed."""
    return html.partition('const RECORDED = "')[2].partition('"')[0]


if __name__ == "__main__":
    RECORDED.write_text(composed(recording(RECORDED.read_text(encoding="utf-8"))), encoding="utf-8")
