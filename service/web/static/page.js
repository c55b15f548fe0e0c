// The live page. Each second it asks /state what there is, and shows it. Nothing comes from another host.

import { explainWith, fillWith, isEmpty } from "./ask.js";
import { ErrorChart, MistakesChart } from "./charts.js";
import { showExperts } from "./experts.js";
import { count, percent, signed, showPoints } from "./format.js";
import { eventsTable, weightsTable } from "./tables.js";

const SECOND = 1000;
const PATIENCE = 10 * SECOND;

const at = (id) => document.getElementById(id);
const say = (id, text) => {
  if (at(id).textContent !== text) at(id).textContent = text; // what stays the same is not read aloud again
};

const errorChart = new ErrorChart(at("error-chart"));
const mistakesChart = new MistakesChart(at("mistakes-chart"));
let partition = null; // null: the first one that is served
let paused = false;
let latest = null;
let isFilled = false; // the form is filled once: what one deletes stays deleted

async function look() {
  const query = partition === null ? "" : `?partition=${partition}`;
  try {
    const answer = await fetch(`/state${query}`, { signal: AbortSignal.timeout(PATIENCE) });
    const told = await answer.json();
    if (answer.ok) show(told);
    else if (answer.status === 404) partition = null; // it has moved to another process
    else showCondition("bad", "not ready", `${told.what}. ${told.hint}`);
  } catch {
    showCondition("bad", "no answer", "The service does not answer. This page goes on trying.");
  }
  setTimeout(look, SECOND);
}

function showCondition(kind, text, notice = "") {
  at("condition").firstElementChild.className = `dot ${kind}`;
  say("condition-text", text);
  say("notice", notice);
  at("notice").hidden = !notice;
}

function show(state) {
  const isReady = state.state === "ready";
  showCondition(isReady ? "good" : "bad", state.state, isReady ? "" : state.reason);
  say("model", state.model);
  showPartitions(state);
  showFigures(state);
  showCurves(state);
  showExperts(state.experts, state.classes);
  showWeights(state);
  if (!paused) showEvents(state);
  latest = state.events.find((event) => Object.keys(event.features).length || event.text) ?? null;
  at("latest").hidden = !latest;
  if (latest && !isFilled && isEmpty()) fillWith(latest);
  isFilled ||= latest !== null;
  at("welcome").hidden = state.counts.predictions > 0;
}

function showPartitions({ partitions, partition: shown }) {
  const chooser = at("partition");
  at("chooser").hidden = partitions.length < 2;
  if ([...chooser.options].map((each) => each.value).join() !== partitions.join()) {
    chooser.replaceChildren(...partitions.map((each) => new Option(each, each)));
  }
  if (document.activeElement !== chooser) chooser.value = shown;
}

function showFigures({ counts, history, lag }) {
  say("predictions", count(counts.predictions));
  say("mistakes", count(counts.mistakes));
  say("updates", count(counts.updates));
  say("pending", count(counts.pending_labels));
  say("rejected", count(counts.rejected));
  say("error", percent(history.error.at(-1)));
  say("recent-error", percent(history.recent_error.at(-1)));
  say("lag", lag === null ? "–" : count(lag));
}

function showCurves({ history, bound, window: size }) {
  say("window", count(size));
  errorChart.show(history);
  mistakesChart.show(history, bound);
  say("bound", boundSentence(bound));
  if (at("error-table").parentElement.open) {
    showPoints(at("error-table"), history, { "Error, ever": "error", "Error, recent": "recent_error" }, percent);
  }
  if (at("mistakes-table").parentElement.open) {
    showPoints(at("mistakes-table"), history, { Mistakes: "mistakes", Updates: "updates" }, count);
  }
}

function boundSentence(bound) {
  if (!bound) return "";
  if (bound.updates === null) return "There is no bound now: the theorem needs data that the model separates.";
  return `The bound (R/γ)² is ${count(Math.ceil(bound.updates))} on the latest ${count(bound.examples)} events, which it separates.`;
}

function showWeights({ weights, weights_nonzero: nonzero, bias, classes, experts }) {
  at("weights-section").hidden = experts !== null;
  if (weights === null) {
    say("weights-caption", "This model has no weights to show. “Try it” tells which features decided.");
    at("weights").replaceChildren();
    return;
  }
  const isMulticlass = bias !== null && typeof bias === "object";
  const [negative, positive] = classes;
  const side = isMulticlass ? "the class named, or against it" : `“${positive}”, a negative one for “${negative}”`;
  const biases = isMulticlass ? "" : `; bias ${signed(bias)}`;
  say("weights-caption", `The largest ${weights.length} of ${count(nonzero)} weights${biases}. A positive weight speaks for ${side}.`);
  at("weights").replaceChildren(weights.length ? weightsTable(weights) : "All weights are 0: there was no mistake to learn from yet.");
}

function showEvents({ events, shows_events: areShown }) {
  at("pause").hidden = !events.length;
  if (!areShown) {
    say("events-caption", "The contents of events are not shown here. http_show_events = yes shows them.");
    return;
  }
  at("events").replaceChildren(events.length ? eventsTable(events) : "Nothing yet.");
}

at("partition").addEventListener("change", (event) => {
  partition = Number(event.target.value);
});
at("pause").addEventListener("click", () => {
  paused = !paused;
  at("pause").setAttribute("aria-pressed", paused);
  at("pause").textContent = paused ? "Go on" : "Pause";
});
at("latest").addEventListener("click", () => {
  fillWith(latest);
  at("try").requestSubmit();
});
at("try").addEventListener("submit", (event) => {
  event.preventDefault();
  explainWith(at("answer"), partition);
});
look();
