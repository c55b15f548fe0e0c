// Which partition is shown: all together, or one; and how it stands where all learn one model. The choice is in the page's address.

import { NONE, count, element, percent, rate, rough, say, score, table } from "./format.js";
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
  const isShared = rows.some(({ share }) => share);
  at("partitions-section").classList.toggle("wide", isShared); // it has more columns
  say("whose-models", isShared ? SHARED : OWN);
  show(at("partitions"), partitionsTable(partitions, rows));
}

const OWN = "Each partition has a model of its own.";
const SHARED = "All partitions learn one model, which they mix in rounds; the distance is what each has learned and not contributed yet.";
const PATIENCE_SECONDS = 1; // a round takes a moment, which nobody needs to see

export function showShare(share) {
  at("share").hidden = !share;
  if (share) say("share", shareSentence(share));
}

function shareSentence({ round, distance, waits_for: lanes, waited_seconds: waited }) {
  if (!round) return "Shared model: no round yet.";
  const waits = lanes.length && waited >= PATIENCE_SECONDS ? `; waits for ${lanes.length > 1 ? "partitions" : "partition"} ${lanes.join(", ")}` : "";
  return `Shared model: round ${count(round)}, distance ${rough(distance)}${waits}.`;
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
  ["Round", ({ share }) => (share ? count(share.round) : NONE)],
  ["Distance", ({ share }) => (share ? rough(share.distance) : NONE)],
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
