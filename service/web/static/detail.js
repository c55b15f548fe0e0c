// A row or a cell, opened: what is known of an event, and what decided; or the examples of a cell.

import { explain, fillWith } from "./ask.js";
import { duration, element, number, percent, signed } from "./format.js";
import { asked } from "./partitions.js";
import { contentOf } from "./tables.js";

const at = (id) => document.getElementById(id);

let shown = null; // the event that the dialog is about
let ages = () => 0; // of a time of the service's clock, in seconds

export const setAges = (seconds) => {
  const now = performance.now();
  ages = (then) => seconds - then + (performance.now() - now) / 1000;
};

const pairs = (entries) =>
  element("dl", { class: "facts" }, ...entries.filter(([, value]) => value).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));

function factsOf(event) {
  const { truth, predicted, score, probability, decision, seconds, label_delay_seconds: delay } = event;
  return pairs([
    ["Predicted", String(predicted)],
    ["Truth", truth === null ? "pending" : `${event.mistake ? "✗" : "✓"} ${truth}${delay === null ? "" : ` after ${number(delay)} s`}`],
    ["Score", score === null ? "" : signed(Number(score.toPrecision(4)))],
    ["Probability", probability === null ? "" : percent(probability)],
    ["Decision", decision ?? ""],
    ["Arrived", `${duration(Math.max(0, ages(seconds)))} ago`],
  ]);
}

function open(title, ...content) {
  at("detail-title").textContent = title;
  at("detail-body").replaceChildren(...content);
  if (!at("detail").open) at("detail").showModal();
}

export async function openEvent(event) {
  shown = event;
  const features = pairs(Object.entries(event.features).map(([name, value]) => [name, typeof value === "number" ? number(value) : String(value)]));
  const now = element("div", { "aria-live": "polite" }, element("p", { class: "caption" }, "…"));
  const isKnown = event.text || Object.keys(event.features).length;
  const content = isKnown ? [...(event.text ? [element("blockquote", {}, event.text)] : []), features] : [element("p", { class: "caption" }, "Its contents are no longer stored.")];
  open(event.id, factsOf(event), ...content, element("h3", {}, "Prediction of the present model"), now);
  at("take").hidden = !isKnown;
  if (isKnown) now.replaceChildren(...(await explain({ id: event.id, text: event.text, features: event.features }, asked())));
  else now.replaceChildren(element("p", { class: "caption" }, "No prediction is possible."));
}

// The events of a cell of the confusion matrix, as far as they are kept.
export function openCell(truth, predicted, events) {
  const found = events.filter((event) => event.truth !== null && String(event.truth) === truth && String(event.predicted) === predicted);
  const rows = found.map((event) => {
    const button = element("button", { type: "button", class: "open" }, event.id);
    button.addEventListener("click", () => openEvent(event));
    return element("li", {}, button, element("p", { class: "caption" }, contentOf(event)));
  });
  const empty = element("p", { class: "caption" }, "None of the latest events is in this cell.");
  at("take").hidden = true;
  open(`Truth ${truth}, predicted ${predicted}`, rows.length ? element("ul", { class: "examples" }, ...rows) : empty);
}

at("close").addEventListener("click", () => at("detail").close());
at("take").addEventListener("click", () => {
  fillWith(shown);
  at("detail").close();
  at("try").requestSubmit();
  at("try-section").scrollIntoView();
});
