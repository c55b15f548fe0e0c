// Which partition is shown. The choice is in the page's address.

import { NONE, count, element, percent, score, table } from "./format.js";
import { show } from "./morph.js";

const at = (id) => document.getElementById(id);

let chosen = new URLSearchParams(location.search).get("partition"); // null: what the service shows by itself
let shown = null;

export const query = () => (chosen === null ? "" : `?partition=${encodeURIComponent(chosen)}`);

export const chosenPartition = () => chosen;

// The partition whose model is asked: the one that is shown.
export const asked = () => shown;

export function choose(partition) {
  chosen = partition;
  history.replaceState(null, "", partition === null ? location.pathname : query());
}

export function showPartitions({ partitions, partition }) {
  shown = partition;
  const chooser = at("partition");
  at("chooser").hidden = at("partitions-section").hidden = partitions.length < 2;
  const offered = partitions.map((each) => String(each.partition));
  if ([...chooser.options].map((each) => each.value).join() !== offered.join()) {
    chooser.replaceChildren(...offered.map((each) => new Option(each, each)));
  }
  if (document.activeElement !== chooser) chooser.value = String(shown);
  if (partitions.length > 1) show(at("partitions"), partitionsTable(partitions));
}

// Heading, and what it is of a row. Some models have no probabilities, several classes no AUC: no column of dashes is shown.
const COLUMNS = [
  ["Events", ({ counts }) => count(counts.predictions)],
  ["Mistakes", ({ counts }) => count(counts.mistakes)],
  ["Error, ever", ({ error }) => percent(error)],
  ["AUC", ({ auc }) => score(auc)],
  ["Log loss", ({ log_loss: loss }) => score(loss)],
  ["Pending labels", ({ counts }) => count(counts.pending_labels)],
  ["Lag", ({ lag }) => (lag === null ? NONE : count(lag))],
];

function partitionsTable(rows) {
  const columns = COLUMNS.filter(([, write]) => rows.some((row) => write(row) !== NONE));
  const cells = (row) => columns.map(([, write]) => element("td", { class: "number" }, write(row)));
  const lines = rows.map((row) => [element("th", { scope: "row" }, element("a", { href: `?partition=${row.partition}` }, String(row.partition))), ...cells(row)]);
  return table([["Partition"], ...columns.map(([heading]) => [heading, "number"])], lines, [element("th", { scope: "row" }, "All"), ...cells(sumOf(rows))]);
}

function sumOf(rows) {
  const of = (read) => rows.reduce((total, row) => total + (read(row) ?? 0), 0);
  const counts = Object.fromEntries(["predictions", "mistakes", "labelled", "pending_labels"].map((name) => [name, of((row) => row.counts[name])]));
  const lag = rows.some((row) => row.lag !== null) ? of((row) => row.lag) : null;
  return { counts, error: counts.labelled ? of((row) => (row.error ?? 0) * row.counts.labelled) / counts.labelled : null, auc: null, log_loss: null, lag };
}

at("partition").addEventListener("change", (event) => choose(event.target.value));
at("partitions").addEventListener("click", (event) => {
  if (event.target.tagName !== "A" || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  choose(event.target.textContent);
});
