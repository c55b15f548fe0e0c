// Which partition is shown: all together, or one. The choice is in the page's address.

import { NONE, count, element, percent, rate, score, table } from "./format.js";
import { show } from "./morph.js";

const ALL = "all";
const at = (id) => document.getElementById(id);

let chosen = new URLSearchParams(location.search).get("partition"); // null: what the service shows by itself

export const query = () => (chosen === null ? "" : `?partition=${encodeURIComponent(chosen)}`);

// The partition whose model is asked; null: that of an event's id.
export const asked = () => (chosen === ALL ? null : chosen);

export function choose(partition) {
  chosen = partition;
  history.replaceState(null, "", partition === null ? location.pathname : query());
}

export function showPartitions({ partitions, partition: shown, rows }) {
  const chooser = at("partition");
  at("chooser").hidden = partitions.length < 2;
  const offered = [ALL, ...partitions.map(String)];
  if ([...chooser.options].map((each) => each.value).join() !== offered.join()) {
    chooser.replaceChildren(...offered.map((each) => new Option(each, each)));
  }
  if (document.activeElement !== chooser) chooser.value = String(shown);
  at("partitions-section").hidden = shown !== ALL;
  at("window-of-each").hidden = shown !== ALL;
  if (shown !== ALL) return;
  show(at("partitions"), partitionsTable(partitions, rows));
}

// Heading, and what it is of a row. Some models have no probabilities, several classes no AUC: no column of dashes is shown.
const COLUMNS = [
  ["Events", ({ counts }) => count(counts.predictions)],
  ["Events/s", ({ events_per_second: perSecond }) => rate(perSecond)],
  ["Error, ever", ({ error }) => percent(error)],
  ["Error, recent", ({ recent_error: recent }) => percent(recent)],
  ["AUC", ({ auc }) => score(auc)],
  ["Log loss", ({ log_loss: loss }) => score(loss)],
  ["Labels awaited", ({ counts }) => count(counts.pending_labels)],
  ["Lag", ({ lag }) => (lag === null ? NONE : count(lag))],
];

function partitionsTable(partitions, rows) {
  const known = new Map(rows.map((row) => [row.partition, row]));
  const columns = COLUMNS.filter(([, write]) => rows.some((row) => write(row) !== NONE));
  const lines = partitions.map((partition) => [
    element("th", { scope: "row" }, element("a", { href: `?partition=${partition}` }, String(partition))),
    ...columns.map(([, write]) => element("td", { class: "number" }, known.has(partition) ? write(known.get(partition)) : NONE)),
  ]);
  return table([["Partition"], ...columns.map(([heading]) => [heading, "number"])], lines);
}

at("partition").addEventListener("change", (event) => choose(event.target.value));
at("partitions").addEventListener("click", (event) => {
  if (event.target.tagName !== "A" || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  choose(event.target.textContent);
});
