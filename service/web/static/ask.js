// The form: what one types is predicted, and the features that decided are shown.

import { decidersSentence } from "./experts.js";
import { element, percent, readable, signed } from "./format.js";
import { contributionsTable } from "./tables.js";

const MAX_UNMET = 12;

const at = (id) => document.getElementById(id);

// Read `name = value` lines as JSON would read the values; what is not a number, not a truth value and not quoted is a
// category. Return the features, and of each line that cannot be read what is wrong with it.
function featuresIn(text) {
  const features = new Map();
  const unread = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const spaced = line.indexOf(" = ");
    const place = spaced < 0 ? line.lastIndexOf("=") : spaced + 1;
    const [name, value] = [line.slice(0, Math.max(place, 0)).trim(), line.slice(place + 1).trim()];
    const problem = problemOf(name, value, features);
    if (problem) unread.push(`Line ${index + 1} is left out: ${problem}.`);
    else features.set(name, valueOf(value));
  }
  return { features: Object.fromEntries(features), unread };
}

function problemOf(name, value, known) {
  if (!name || !value) return "it is not of the form name = value";
  if (known.has(name)) return `${name} has a value already`;
  return isInfinite(value) ? `${value} is not a finite number` : null;
}

const isInfinite = (text) => /^[+-]?(inf|infinity|nan)$/i.test(text) || Math.abs(Number(text)) === Infinity;

function valueOf(text) {
  if (text === "true" || text === "false") return text === "true";
  return Number.isFinite(Number(text)) ? Number(text) : unquoted(text);
}

function unquoted(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "string" ? value : text;
  } catch {
    return text;
  }
}

// Write a value so that it is read as the same again: a text that would not be is quoted.
function written(value) {
  const isPlain = typeof value !== "string" || (value === value.trim() && valueOf(value) === value && !/^$|\n/.test(value) && !isInfinite(value));
  return isPlain ? String(value) : JSON.stringify(value);
}

function markUnread() {
  const { unread } = featuresIn(at("features").value);
  at("unread").replaceChildren(...unread.map((problem) => element("li", {}, problem)));
  at("features").setAttribute("aria-invalid", unread.length > 0);
}

export function fillWith(event) {
  at("text").value = event.text;
  at("features").value = Object.entries(event.features)
    .map(([name, value]) => `${name} = ${written(value)}`)
    .join("\n");
  markUnread();
}

export const isEmpty = () => !at("text").value && !at("features").value;

at("features").addEventListener("input", markUnread);

export const typed = () => ({ text: at("text").value, features: featuresIn(at("features").value).features });

// Ask the model of a partition about what is typed.
export async function explainWith(place, partition) {
  place.replaceChildren(...(await explain({ id: "typed", ...typed() }, partition)));
}

// Return what a model says of an event, and why.
export async function explain(event, partition) {
  const query = partition === null ? "" : `&partition=${partition}`;
  try {
    const answer = await fetch(`/explain?fields=native${query}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(event),
    });
    const body = await answer.json();
    return answer.ok ? verdict(body) : problem(body);
  } catch {
    return problem({ what: "The service does not answer.", hint: "" });
  }
}

function verdict(body) {
  const probability = body.probability === undefined ? "" : ` · probability ${percent(body.probability)}`;
  const decision = body.decision === undefined ? "" : ` · decision ${body.decision ?? "none"}`;
  const sentence = element("p", { class: "verdict" }, "Predicted: ", element("strong", {}, String(body.label)), ` · score ${signed(body.score)}${probability}${decision}`);
  const unmet = body.contributions.filter(({ known }) => known === false);
  const silent = body.contributions.filter(({ contribution, known }) => !contribution && known !== false).length;
  const rest = silent ? ` ${silent} more ${silent === 1 ? "feature contributes" : "features contribute"} nothing.` : "";
  const marked = unmet.length ? [unmetSentence(unmet)] : [];
  if (!body.contributions.length) return [sentence, element("p", { class: "caption" }, "Without features, the bias alone decides.")];
  const deciders = body.leader === null ? [] : [element("p", { class: "caption" }, decidersSentence(body))];
  const caption =
    body.method === "leaving_out"
      ? "Decrease of the score if a feature is left out, the largest first."
      : "Contributions of the features to the score, the largest first.";
  return [sentence, element("p", { class: "caption" }, caption + rest), ...deciders, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What decided" }, contributionsTable(body)), ...marked];
}

// Features that no update has met yet.
function unmetSentence(unmet) {
  const named = unmet.slice(0, MAX_UNMET).flatMap(({ feature }) => [element("mark", { title: feature }, readable(feature)), " "]);
  const more = unmet.length > MAX_UNMET ? `and ${unmet.length - MAX_UNMET} more` : "";
  return element("p", { class: "unmet" }, "New to the model: ", ...named, more);
}

function problem({ what, hint }) {
  return [element("p", { class: "wrong" }, what), element("p", { class: "caption" }, hint)];
}
