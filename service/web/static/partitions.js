// Which partition is shown: all together, or one. The choice is in the page's address.

import { count, element, percent, rate, score, table } from "./format.js";
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
  if (shown === ALL) show(at("partitions"), partitionsTable(partitions, rows));
}

function partitionsTable(partitions, rows) {
  const known = new Map(rows.map((row) => [row.partition, row]));
  const headings = ["Events", "Events/s", "Error, ever", "recent", "AUC", "Log loss", "Awaited", "Lag"];
  const lines = partitions.map((partition) => [
    element("th", { scope: "row" }, element("a", { href: `?partition=${partition}` }, String(partition))),
    ...(known.has(partition) ? figuresOf(known.get(partition)) : headings.map(() => "–")).map((text) => element("td", { class: "number" }, text)),
  ]);
  return table([["Partition"], ...headings.map((heading) => [heading, "number"])], lines);
}

const figuresOf = ({ counts, events_per_second: perSecond, error, recent_error: recent, auc, log_loss: loss, lag }) => [
  count(counts.predictions),
  rate(perSecond),
  percent(error),
  percent(recent),
  score(auc),
  score(loss),
  count(counts.pending_labels),
  lag === null ? "–" : count(lag),
];

at("partition").addEventListener("change", (event) => choose(event.target.value));
at("partitions").addEventListener("click", (event) => {
  if (event.target.tagName !== "A" || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  choose(event.target.textContent);
});
