// The form: what one types is predicted, and the features that decided are shown.

import { decidersSentence } from "./experts.js";
import { element, percent, signed } from "./format.js";
import { contributionsTable } from "./tables.js";

const at = (id) => document.getElementById(id);

// Read `name = value` lines as JSON would read the values; what is no number and no truth value is a category.
function featuresIn(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const place = line.lastIndexOf("=");
      if (place < 1) return [line, true];
      return [line.slice(0, place).trim(), valueOf(line.slice(place + 1).trim())];
    }),
  );
}

function valueOf(text) {
  if (text === "true" || text === "false") return text === "true";
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

export function fillWith(event) {
  if (!event) return;
  at("text").value = event.text;
  at("features").value = Object.entries(event.features)
    .map(([name, value]) => `${name} = ${value}`)
    .join("\n");
  at("try").requestSubmit();
}

export async function explainWith(place, partition) {
  const event = { id: "typed", text: at("text").value, features: featuresIn(at("features").value) };
  const query = partition === null ? "" : `?partition=${partition}`;
  try {
    const answer = await fetch(`/explain${query}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(event),
    });
    const told = await answer.json();
    place.replaceChildren(...(answer.ok ? verdict(told) : problem(told)));
  } catch {
    place.replaceChildren(...problem({ what: "The service does not answer.", hint: "" }));
  }
}

function verdict(told) {
  const probability = told.probability === undefined ? "" : ` · probability ${percent(told.probability)}`;
  const sentence = element("p", { class: "verdict" }, "Predicted: ", element("strong", {}, String(told.label)), ` · score ${signed(told.score)}${probability}`);
  const silent = told.contributions.filter(({ contribution }) => !contribution).length;
  const rest = silent ? ` ${silent} more ${silent === 1 ? "feature does" : "features do"} nothing.` : "";
  if (!told.contributions.length) return [sentence, element("p", { class: "caption" }, "Without features, the bias alone decides.")];
  const deciders = told.leader === null ? [] : [element("p", { class: "caption" }, decidersSentence(told))];
  const caption =
    told.method === "leaving_out"
      ? "How far the score falls when a feature is left out, the strongest first."
      : "What the features add to the score, the strongest first.";
  return [sentence, element("p", { class: "caption" }, caption + rest), ...deciders, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What decided" }, contributionsTable(told))];
}

function problem({ what, hint }) {
  return [element("p", { class: "wrong" }, what), element("p", { class: "caption" }, hint)];
}
