// The live page. Each second it asks /state what there is, and shows it. Nothing comes from another host.

import { explainWith, fillWith, isEmpty, typed } from "./ask.js";
import { ErrorChart, MistakesChart, setClock } from "./charts.js";
import { showConfusion } from "./confusion.js";
import { showDecisions } from "./decisions.js";
import { openCell, openEvent, setAges } from "./detail.js";
import { showExperts } from "./experts.js";
import { showAbout, showFigures } from "./figures.js";
import { count, percent, say, showPoints, signed } from "./format.js";
import { show as put } from "./morph.js";
import { asked, choose, chosenPartition, query, showPartitions } from "./partitions.js";
import { eventsTable, mistakesTable, termsTable, weightsTable } from "./tables.js";
import { isTeaching, offerTeaching, showClasses, teach } from "./teach.js";
import { showThresholds } from "./thresholds.js";

const SECOND = 1000;
const PATIENCE = 10 * SECOND;
const MISTAKES_SHOWN = 8;

const at = (id) => document.getElementById(id);

const errorChart = new ErrorChart(at("error-chart"));
const mistakesChart = new MistakesChart(at("mistakes-chart"));
let timer = null; // null: an answer is on its way
let paused = false;
let latest = null;
let rows = { events: [], mistakes: [] }; // as they are shown
let missing = null; // the partition of the address, if it is not served here
let isFilled = false; // the form is filled once: what one deletes stays deleted

async function look() {
  const place = query();
  timer = null;
  try {
    const answer = await fetch(`/state${place}`, { signal: AbortSignal.timeout(PATIENCE) });
    const body = await answer.json();
    if (place === query()) await showAnswer(answer, body); // else another partition was chosen meanwhile
  } catch {
    showCondition("bad", "no answer", "The service does not answer. This page keeps trying.");
  }
  document.querySelector("main").classList.remove("empty");
  timer = setTimeout(look, place === query() ? SECOND : 0);
}

// Another partition was chosen: look at it now, unless an answer is on its way.
function lookNow() {
  missing = null;
  if (timer === null) return;
  clearTimeout(timer);
  look();
}

async function showAnswer(answer, body) {
  if (answer.ok) show(body);
  else if (answer.status === 404 || answer.status === 422) {
    missing = chosenPartition(); // it has moved, or never was
    choose(null);
  } else showNoModel(body, await (await fetch("/readyz", { signal: AbortSignal.timeout(PATIENCE) })).json());
}

// A process that is ready without a model is idle: others of its group own all partitions.
function showNoModel(body, { state, reason }) {
  if (state === "ready" && reason) showCondition("good", "idle", `${reason}. Their pages show them.`);
  else showCondition("bad", "not ready", `${body.what}. ${body.hint}`);
}

function showCondition(kind, text, notice = "") {
  at("condition").firstElementChild.className = `dot ${kind}`;
  say("condition-text", text);
  say("notice", notice);
  at("notice").hidden = !notice;
}

function show(state) {
  const isReady = state.state === "ready";
  showCondition(isReady ? "good" : "bad", state.state, isReady ? absence(state) : state.reason);
  say("model", state.model);
  showPartitions(state);
  setClock(state.seconds);
  setAges(state.seconds);
  showFigures(state);
  showAbout(state);
  showCurves(state);
  showConfusion(state);
  showDecisions(state);
  showThresholds(state);
  showExperts(state.experts, state.classes);
  showWeights(state);
  if (!paused) showEvents(state);
  for (const link of document.querySelectorAll(".sections a")) link.hidden = document.querySelector(link.hash).hidden;
  latest = state.events.find((event) => Object.keys(event.features).length || event.text) ?? null;
  at("latest").hidden = !latest;
  if (latest && !isFilled && isEmpty()) fillWith(latest);
  isFilled ||= latest !== null;
  at("welcome").hidden = state.counts.predictions > 0;
  showClasses(state.classes);
  offerTeaching(state.teaches);
}

function absence({ partition }) {
  if (missing === null) return "";
  return `Partition ${missing} is not served here: partition ${partition} is shown.`;
}

function showCurves({ history, bound, window: size }) {
  say("window", count(size));
  errorChart.show(history);
  mistakesChart.show(history, bound);
  say("bound", boundSentence(bound));
  at("bound").hidden = !bound;
  if (at("error-table").parentElement.open) {
    const columns = { "Error, lifetime": "error", "Error, recent": "recent_error", Baseline: "baseline_error" };
    showPoints(at("error-table"), history, columns, percent);
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

let termsOf = null; // the class that is chosen

function showTerms(terms, classes) {
  const chooser = at("terms-class");
  const names = terms.map((each) => String(each.class)).sort();
  at("terms-chooser").hidden = classes.length <= 2 || names.length < 2;
  if ([...chooser.options].map((each) => each.value).join() !== names.join()) chooser.replaceChildren(...names.map((each) => new Option(each, each)));
  const chosen = terms.find((each) => String(each.class) === termsOf) ?? terms.find((each) => String(each.class) === names[0]);
  if (document.activeElement !== chooser) chooser.value = String(chosen.class);
  const when = classes.length > 2 ? ", where that was predicted" : "";
  say("weights-caption", `What the features of each field added to the score for or against “${chosen.class}”${when}, on average over the last ${count(chosen.n_events)} recorded events, the largest first.`);
  put(at("weights"), termsTable(chosen.fields));
}

function showWeights({ weights, weights_nonzero: nonzero, bias, classes, terms, experts }) {
  at("weights-section").hidden = experts !== null && !terms.length;
  at("terms-chooser").hidden = true;
  if (terms.length) {
    showTerms(terms, classes);
    return;
  }
  if (weights === null) {
    say("weights-caption", "This model has no weights to show. “Try it” shows which features decide.");
    at("weights").replaceChildren();
    return;
  }
  const isMulticlass = bias !== null && typeof bias === "object";
  const [negative, positive] = classes;
  const side = isMulticlass ? "the class named, or against it" : `“${positive}”, a negative one for “${negative}”`;
  const biases = isMulticlass ? "" : `; bias ${signed(bias)}`;
  say("weights-caption", `The largest ${weights.length} of ${count(nonzero)} weights${biases}. A positive weight favours ${side}.`);
  put(at("weights"), weights.length ? weightsTable(weights) : "All weights are 0: there was no mistake to learn from yet.");
}

function showEvents({ events, mistakes, columns, decisions, classes, shows_events: areShown }) {
  at("pause").hidden = !events.length;
  at("latest-mistakes-section").hidden = !areShown;
  if (!areShown) {
    say("events-caption", "The contents of events are not shown here. http_show_events = yes shows them.");
    return;
  }
  const decides = classes.length > 2 ? "The class with the highest score is predicted" : "The score's sign decides";
  say("events-caption", `Newest first; open a row for details. ${decides}; the truth may come later.`);
  const confidence = ({ probability, score }) => probability ?? (classes.length > 2 ? score : Math.abs(score));
  mistakes.sort((one, other) => confidence(other) - confidence(one));
  rows = { events, mistakes };
  put(at("events"), events.length ? eventsTable(events, columns, decisions.length > 0) : "Nothing yet.");
  say("mistakes-kept", count(mistakes.length));
  put(at("latest-mistakes"), mistakes.length ? mistakesTable(mistakes.slice(0, MISTAKES_SHOWN)) : "None yet.");
}

// A row opens, wherever it is hit.
function openRow(event, shown) {
  const row = event.target.closest("tbody tr");
  if (row && !getSelection().toString()) openEvent(shown[row.sectionRowIndex]);
}

at("terms-class").addEventListener("change", (event) => {
  termsOf = event.target.value;
});
at("events").addEventListener("click", (event) => openRow(event, rows.events));
at("latest-mistakes").addEventListener("click", (event) => openRow(event, rows.mistakes));
at("confusion").addEventListener("click", (event) => {
  const { truth, predicted } = event.target.dataset;
  if (truth !== undefined) openCell(truth, predicted, truth === predicted ? rows.events : rows.mistakes);
});
for (const [id, action] of [["partition", "change"], ["partitions", "click"]]) at(id).addEventListener(action, lookNow);
at("pause").addEventListener("click", () => {
  paused = !paused;
  at("pause").setAttribute("aria-pressed", paused);
  at("pause").textContent = paused ? "Continue" : "Pause";
});
at("latest").addEventListener("click", () => {
  fillWith(latest);
  at("try").requestSubmit();
});
at("try").addEventListener("submit", async (event) => {
  event.preventDefault();
  const submit = at("try").querySelector("[type=submit]");
  submit.disabled = true; // or an impatient second click would teach it twice
  const explained = explainWith(at("answer"), asked());
  if (isTeaching()) await teach(typed());
  await explained;
  submit.disabled = false;
});
look();
