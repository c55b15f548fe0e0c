// The figures at the top: how good it is, how much was done, which stream it reads.

import { NONE, count, duration, element, percent, rate, say, score } from "./format.js";
import { show } from "./morph.js";

const PLACED = new Set(["predictions", "labelled", "mistakes", "updates", "rejected", "pending_labels", "decided", "cost"]);

const RATE_SECONDS = 10;
let seen = []; // of the last seconds: [seconds, predictions]
let seenOf = null; // the partition

// Events a second, over the last seconds; null before there are two answers.
function rateOf({ seconds, partition, counts }) {
  if (partition !== seenOf) [seen, seenOf] = [[], partition];
  seen.push([seconds, counts.predictions]);
  while (seen.length > 2 && seen[1][0] <= seconds - RATE_SECONDS) seen.shift();
  const [[then, before]] = seen;
  return seconds > then ? (counts.predictions - before) / (seconds - then) : null;
}

export function showFigures(state) {
  const { counts, history, lag, auc, log_loss: loss } = state;
  const perSecond = rateOf(state);
  say("recent-error", percent(history.recent_error.at(-1)));
  say("error", percent(state.error));
  say("baseline", percent(history.baseline_error.at(-1)));
  say("data-warning", state.data_warning);
  document.getElementById("data-warning").hidden = !state.data_warning;
  say("predictions", count(counts.predictions));
  say("rate", perSecond === null ? NONE : rate(perSecond));
  say("mistakes", count(counts.mistakes));
  say("updates", count(counts.updates));
  say("auc", score(auc));
  say("log-loss", score(loss));
  say("pending", count(counts.pending_labels));
  say("lag", lag === null ? NONE : count(lag));
  say("rejected", count(counts.rejected));
  showLabels(counts);
  const further = Object.entries(counts).filter(([name]) => !PLACED.has(name) && !(name in LABELS));
  document.getElementById("further-section").hidden = !further.some(([, value]) => value);
  for (const [name, value] of further) showFurther(name, value);
}

const headingOf = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

// Kinds of labels, once there are others than those that just came.
const LABELS = {
  real: "Labels that arrived, without those assumed at the timeout.",
  assumed: "Labels assumed at the timeout (label_on_timeout), without a real label.",
  corrected: "Labels that replaced an earlier one.",
  late: "Labels that arrived after their event had expired.",
  orphaned: "Labels whose event never arrived.",
  evicted: "Events that were evicted before their labels could arrive.",
  known_mistakes: "Mistakes by the final labels, corrections included.",
  skipped: "Records that the filter `where` skipped.",
};

function showLabels(counts) {
  const kinds = { ...counts, real: counts.labelled - (counts.assumed ?? 0) };
  const found = Object.entries(LABELS).filter(([name]) => kinds[name]);
  document.getElementById("labels-section").hidden = found.length < 2; // real ones alone say nothing
  show(
    document.getElementById("labels"),
    ...found.map(([name, meaning]) => element("div", { title: meaning }, element("dt", {}, headingOf(name)), element("dd", { id: `count-${name}` }, count(kinds[name])))),
  );
  show(document.getElementById("labels-meaning"), ...found.map(([name, meaning]) => element("li", {}, `${headingOf(name)}: ${meaning}`)));
}

// A count of a part that the page does not show elsewhere.
function showFurther(name, value) {
  const id = `count-${name}`;
  if (!document.getElementById(id)) {
    document.getElementById("further").append(element("div", {}, element("dt", {}, headingOf(name)), element("dd", { id })));
  }
  say(id, count(value));
}

export function showAbout({ broker, topic, group, uptime_seconds: uptime }) {
  for (const [id, text] of Object.entries({ broker, topic, group })) {
    say(id, text);
    document.getElementById(id).title = text; // where there is no room for all of it
  }
  say("uptime", duration(uptime));
}
