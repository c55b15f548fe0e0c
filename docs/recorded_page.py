"""Record what a running service answers to the live page, and write page and answers as one static file.

    python docs/recorded_page.py

In: a service that it starts itself. Out: docs/live-page.html, which needs no service and no other file.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import httpx
from screenshots import ADDRESS, service

from service.web import page

STATIC = Path(page.__file__).with_name("static")
RECORDED = Path(__file__).with_name("live-page.html")
EVENTS = 1250
NOTE = (
    "A recording: 1,250 pages of River's Phishing data set pass in some seconds. "
    "Predict answers about the events that the button takes."
)
SHIM = """
const told = new Blob([Uint8Array.from(atob(RECORDED), (each) => each.charCodeAt(0))]).stream();
const { states, answers } = await new Response(told.pipeThrough(new DecompressionStream("gzip"))).json();
const sorted = (features) => JSON.stringify(Object.entries(features).sort());
const known = new Map(answers.map(({ features, answer }) => [sorted(features), answer]));
const hint = "A running service answers here: perceptron demo --keep";
const refused = { what: "This page is a recording.", hint };
let next = 0;
window.fetch = async (address, { body } = {}) => {
  if (address.startsWith("/state")) return Response.json(states[Math.min(next++, states.length - 1)]);
  const answer = address.startsWith("/explain") && known.get(sorted(JSON.parse(body).features));
  return Response.json(answer || refused, { status: answer ? 200 : 422 });
};
"""


def record(address: str) -> dict[str, Any]:
    """Ask each second for what the page shows, and about the newest event, until all events are learned."""
    states: list[Any] = []
    answers = []
    while not states or states[-1]["counts"]["predictions"] < EVENTS:
        with suppress(httpx.HTTPError):  # it is not there yet, or has no model
            state = httpx.get(f"{address}/state").raise_for_status().json()
            for event in state["events"][:1]:  # none, before the first is predicted
                question = {"id": "typed", "text": event["text"], "features": event["features"]}
                answer = httpx.post(f"{address}/explain?fields=own", json=question).raise_for_status()
                answers.append({"features": event["features"], "answer": answer.json()})
                states.append(state | {"broker": "sqlite:///stream.db"})
        sleep(1)
    return {"states": states, "answers": answers}


def bundled(name: str, done: set[str]) -> str:
    """Return a module, behind those that it imports, each as a constant that holds its exports."""
    if name in done:
        return ""
    done.add(name)
    code = (STATIC / f"{name}.js").read_text(encoding="utf-8")
    imports = re.findall(r'^import (\{.*\}) from "\./(\w+)\.js";$', code, re.MULTILINE)
    before = "".join(bundled(module, done) for _, module in imports)
    taken = "".join(f"const {names.replace(' as ', ': ')} = {module}_js;\n" for names, module in imports)
    exports = re.findall(r"^export (?:async )?(?:const|function|class) (\w+)", code, re.MULTILINE)
    code = re.sub(r"^import .*\n", "", code, flags=re.MULTILINE)
    code = re.sub(r"^export ", "", code, flags=re.MULTILINE)
    return f"{before}const {name}_js = (() => {{\n{taken}{code}return {{ {', '.join(exports)} }};\n}})();\n"


def composed(recorded: object) -> str:
    """Return the page with all that it loads, and with recorded answers in the place of a service."""
    html = (STATIC / "page.html").read_text(encoding="utf-8")
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    html = html.replace("/static/icon.svg", f"data:image/svg+xml;base64,{icon}")
    for style in re.findall(r'<link rel="stylesheet" href="/static/(.*)">', html):
        text = (STATIC / style).read_text(encoding="utf-8")
        html = html.replace(f'<link rel="stylesheet" href="/static/{style}">', f"<style>{text}</style>")
    packed = base64.b64encode(gzip.compress(json.dumps(recorded).encode(), mtime=0)).decode()
    plot = (STATIC / "uPlot.min.js").read_text(encoding="utf-8")
    script = f'const RECORDED = "{packed}";{SHIM}{bundled("page", set())}'
    head, _, _ = html.partition('<script src="/static/uPlot.min.js">')
    head = re.sub(r"<nav .*?</nav>", "", head)
    head = re.sub(r"(<footer><p>).*?(</p>)", rf"\g<1>{NOTE}\g<2>", head)
    return f'{head}<script>{plot}</script>\n<script type="module">{script}</script>\n</body>\n</html>\n'


def main() -> None:
    """Record the page of `--model auto`."""
    with ThreadPoolExecutor() as threads:
        recording = threads.submit(record, f"http://{ADDRESS}")
        with service("auto", 1):
            RECORDED.write_text(composed(recording.result()), encoding="utf-8")


if __name__ == "__main__":
    main()
