// The tables: events as they come, weights and contributions with bars.

import { NONE, count, element, number, percent, readable, share, signed, table } from "./format.js";

const MAX_FEATURES = 12;
const MAX_TERMS = 16; // rows
const SVG = "http://www.w3.org/2000/svg";

const shape = (tag, attributes) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};

// Bars from the middle: to the right for +, to the left for −; the numbers alongside them say the same.
function bar(value, largest, ...others) {
  const picture = shape("svg", { viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const each of [value, ...others]) {
    const length = largest ? (48 * Math.abs(each)) / largest : 0;
    picture.append(shape("rect", { x: each < 0 ? 50 - length : 50, y: 2, width: length, height: 12, class: each < 0 ? "minus" : "plus" }));
  }
  picture.append(shape("line", { x1: 50, y1: 0, x2: 50, y2: 16 }));
  return element("td", { class: "bar" }, picture);
}

const signedCell = (value, write = signed) => element("td", { class: `number ${value < 0 ? "minus-text" : "plus-text"}` }, write(value));

export function weightsTable(weights) {
  const largest = Math.max(...weights.map(({ weight }) => Math.abs(weight)));
  const rows = weights.map(({ name, weight }) => [
    element("th", { scope: "row", class: "name", title: name }, readable(name)),
    signedCell(weight),
    bar(weight, largest),
  ]);
  return table([["Feature"], ["Weight", "number"], ["− 0 +", "bar middle"]], rows);
}

// Of a mixture: what each field added to scores, on average, and the largest of its features. A field may do both.
export function termsTable(fields) {
  const largest = Math.max(...fields.flatMap(({ plus, minus }) => [plus, -minus]));
  const most = Math.max(2, Math.floor((MAX_TERMS - fields.length) / fields.filter(({ features }) => features.length > 1).length));
  const row = (style, name, minus, plus) => [
    element("th", { scope: "row", class: style, title: name }, readable(name)),
    ...[minus, plus].map((each) => (each ? signedCell(each, share) : element("td", { class: "number" }, ""))),
    bar(minus, largest, plus),
  ];
  const rows = fields.flatMap(({ name, plus, minus, features }) => [
    row("name field", name, minus, plus),
    ...(features.length > 1 ? features.slice(0, most) : []).map(([each, added]) => row("name part", each, Math.min(added, 0), Math.max(added, 0))),
  ]);
  return table([["Field"], ["Against", "number"], ["For", "number"], ["− 0 +", "bar middle"]], rows);
}

export function expertsTable(experts) {
  const largest = Math.max(...experts.map(({ weight }) => Math.abs(weight)));
  const rows = experts.map(({ name, weight, mistakes, recent_error: error }) => [
    element("th", { scope: "row" }, name),
    signedCell(weight, share),
    bar(weight, largest),
    element("td", { class: "number" }, count(mistakes)),
    element("td", { class: "number" }, percent(error)),
  ]);
  return table([["Expert"], ["Weight", "number"], ["− 0 +", "bar middle"], ["Mistakes", "number"], ["Error", "number"]], rows);
}

export function contributionsTable({ contributions, bias }) {
  const shown = contributions.filter(({ contribution }) => contribution).slice(0, MAX_FEATURES);
  const all = bias === null ? shown : [...shown, { feature: "bias", contribution: bias, value: 1, weight: bias }];
  const largest = Math.max(...all.map(({ contribution }) => Math.abs(contribution)));
  const isLinear = all.some(({ feature, weight }) => weight !== null && feature !== "bias");
  const rows = all.map(({ feature, value, weight, contribution }) => [
    element("th", { scope: "row", title: feature }, readable(feature)),
    element("td", { class: "number" }, weight === null || feature === "bias" ? number(value) : `${number(value)} × ${number(weight)}`),
    signedCell(contribution),
    bar(contribution, largest),
  ]);
  return table([["Feature"], [isLinear ? "Value × weight" : "Value", "number"], ["Adds", "number"], ["− 0 +", "bar middle"]], rows);
}

const WRITE = { number, percent, signed, text: (value) => String(value ?? NONE) };
const kindOf = ({ as }) => (as === "text" ? "class" : "number");

const idCell = ({ id }) =>
  element("th", { scope: "row", class: "id", title: id }, element("button", { type: "button", class: "open" }, id));

// The most confident mistakes.
export function mistakesTable(mistakes) {
  const hasProbability = mistakes.some(({ probability }) => probability !== null);
  const rows = mistakes.map((event) => [
    idCell(event),
    element("td", { class: "content", title: contentOf(event) }, element("div", {}, contentOf(event))),
    element("td", { class: "class", title: String(event.predicted) }, String(event.predicted)),
    element("td", { class: "number probability" }, hasProbability ? percent(event.probability) : signed(event.score && Number(event.score.toPrecision(4)))),
    truthOf(event),
  ]);
  return table([["Event", "id"], ["Text or features", "content"], ["Predicted", "class"], [hasProbability ? "Probability" : "Score", "number"], ["Truth", "class"]], rows);
}

// `columns`: those of fields that not every event has; `decides`: there are decisions, if on none of these events.
export function eventsTable(events, columns, decides) {
  const shown = columns.filter(({ name }) => (decides && name === "decision") || events.some((event) => event[name] !== null));
  const rows = events.map((event) => [
    idCell(event),
    element("td", { class: "content", title: contentOf(event) }, element("div", {}, contentOf(event))),
    element("td", { class: "number score" }, signed(event.score && Number(event.score.toPrecision(4)))),
    element("td", { class: "class", title: String(event.predicted) }, String(event.predicted)),
    ...shown.map((column) => element("td", { class: `${kindOf(column)} ${column.name}` }, WRITE[column.as](event[column.name]))),
    truthOf(event),
  ]);
  const further = shown.map((column) => [column.title, kindOf(column)]);
  return table([["Event", "id"], ["Text or features", "content"], ["Score", "number"], ["Predicted"], ...further, ["Truth"]], rows);
}

export function contentOf({ text, features }) {
  const named = Object.entries(features);
  const first = named.slice(0, MAX_FEATURES).map(([name, value]) => `${name} ${typeof value === "number" ? number(value) : value}`);
  const rest = named.length > MAX_FEATURES ? ` and ${named.length - MAX_FEATURES} more` : "";
  return [text, first.join(" · ") + rest].filter(Boolean).join(" — ") || "–";
}

function truthOf({ truth, mistake, label_delay_seconds: delay }) {
  if (truth === null) return element("td", { class: "class waiting" }, "pending");
  const late = delay === null ? "" : element("span", { class: "delay" }, ` after ${Number(delay.toPrecision(3))} s`);
  return element("td", { class: `class ${mistake ? "wrong" : "right"}`, title: String(truth) }, `${mistake ? "✗" : "✓"} ${truth}`, late);
}
