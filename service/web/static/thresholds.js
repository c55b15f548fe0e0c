// What a threshold would decide of two classes: precision and recall as curves, a slider, and what mistakes cost.

import { Chart, colour } from "./charts.js";
import { logOdds } from "./decisions.js";
import { NONE, between, chance, count, percent, say, showPoints, signed } from "./format.js";

const STEPS = 200; // about as many as the curves have

const at = (id) => document.getElementById(id);
const per = (part, whole) => (whole ? part / whole : null);

class ThresholdChart extends Chart {
  constructor(place) {
    const lines = ["recent", "mistakes"].map((name) => ({ name, width: 2 }));
    super(place, [...lines, ...lines], (ratio) => `${Math.round(100 * ratio)} %`);
    this.steps = [];
    this.marks = [];
  }

  top() {
    return 1.02;
  }

  xAxis() {
    if (isLogOdds) return { values: (_, values) => values.map((value) => `${Math.round(100 * value)} %`), incrs: [0.05, 0.1, 0.2], label: "threshold, as a probability", space: 40 };
    return { values: (_, values) => values.map((place) => (this.steps[place] ? written(this.steps[place].least) : "")), label: "threshold, as a score", space: 70 };
  }

  // A line with its name at the threshold of each decision.
  drawn(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = ctx.strokeStyle = colour("baseline");
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    for (const [n, { name, least }] of this.marks.entries()) {
      const x = plot.valToPos(isLogOdds ? chanceOf(least) : placeOf(least), "x", true);
      const isRight = x > bbox.left + bbox.width / 2;
      ctx.textAlign = isRight ? "right" : "left";
      ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
      ctx.fillText(name, x + (isRight ? -4 : 4) * devicePixelRatio, bbox.top + bbox.height - (6 + 15 * n) * devicePixelRatio);
    }
    ctx.restore();
  }

  // The curves, and a dot on each where the slider is.
  show(steps, chosen, marks) {
    [this.steps, this.marks] = [steps, marks];
    const curves = [steps.map(({ precision }) => precision), steps.map(({ recall }) => recall)];
    const dots = curves.map((curve) => curve.map((value, place) => (place === chosen ? value : null)));
    this.update([steps.map(positionOf), ...curves, ...dots]);
  }
}

const chart = new ThresholdChart(at("threshold-chart"));
let steps = [];
let threshold = null; // of a score; null: where the model itself decides, for the positive class above 0
let isLogOdds = false;
let marks = []; // the thresholds of decisions about the positive class

const chanceOf = (least) => 1 / (1 + Math.exp(-least));
const positionOf = ({ least }, place) => (isLogOdds ? chanceOf(least) : place); // of a step, on the axis and the slider
const written = (least) => (least === Infinity ? "above all" : isLogOdds ? chance(least) : signed(Number(least.toPrecision(3))));

// Thresholds from the lowest, which takes all for positive, to one above all scores, each with what it would have decided.
function stepsOf(bins) {
  const totals = [1, 2].map((of) => bins.reduce((sum, bin) => sum + bin[of], 0));
  const found = [stepOf(Infinity, 0, 0, totals)];
  let [hits, alarms, moved] = [0, 0, 0];
  for (const [place, [least, positives, negatives]] of [...bins.entries()].reverse()) {
    hits += positives;
    alarms += negatives;
    moved += positives / Math.max(1, totals[0]) + negatives / Math.max(1, totals[1]);
    const isBoundary = place === 0 || (least > 0 && bins[place - 1][0] <= 0);
    if (moved < 2 / STEPS && !isBoundary) continue;
    moved = 0;
    found.push(stepOf(least, hits, alarms, totals));
  }
  return found.reverse();
}

const stepOf = (least, hits, alarms, [positives, negatives]) => ({
  least,
  alarms,
  misses: positives - hits,
  precision: per(hits, hits + alarms),
  recall: per(hits, positives),
  falsePositives: per(alarms, negatives),
  decided: per(hits + alarms, positives + negatives),
  labelled: hits + alarms,
});

const costOf = ({ alarms, misses }) => at("cost-of-positive").valueAsNumber * alarms + at("cost-of-negative").valueAsNumber * misses;
const placeOf = (least) => Math.max(0, least === null ? steps.findIndex((step) => step.least > 0) : steps.findLastIndex((step) => step.least <= least));

export function showThresholds({ quality, classes, decisions, costs, auc }) {
  const bins = quality.score_bins;
  at("thresholds-section").hidden = classes.length !== 2 || auc === null;
  if (at("thresholds-section").hidden) return;
  isLogOdds = quality.has_probabilities;
  steps = stepsOf(bins);
  marks = decisions
    .filter((each) => String(each.class) === String(classes[1]) && each.threshold !== null)
    .map(({ name, threshold: least }) => ({ name, least: isLogOdds ? logOdds(least) : least }));
  say("threshold-of", `“${classes[1]}”`);
  say("threshold-measure", isLogOdds ? "probability" : "score");
  say("cost-of-positive-of", `“${classes[0]}” taken for “${classes[1]}”`);
  say("cost-of-negative-of", `“${classes[1]}” missed`);
  // The default value shows until somebody enters another.
  at("cost-of-positive").defaultValue = costs?.false_positive ?? 1;
  at("cost-of-negative").defaultValue = costs?.false_negative ?? 1;
  [at("threshold").max, at("threshold").step] = isLogOdds ? [1, 0.001] : [steps.length - 1, 1];
  showChosen();
}

function showChosen() {
  const chosen = placeOf(threshold);
  const step = steps[chosen];
  chart.show(steps, chosen, marks);
  if (document.activeElement !== at("threshold")) at("threshold").value = positionOf(step, chosen);
  at("threshold").setAttribute("aria-valuetext", `${written(step.least)}: precision ${percent(step.precision)}, recall ${percent(step.recall)}`);
  say("threshold-chosen", written(step.least));
  say("threshold-precision", percent(step.precision));
  say("threshold-precision-between", between(step.precision * step.labelled, step.labelled));
  say("threshold-recall", percent(step.recall));
  say("threshold-false-positives", percent(step.falsePositives));
  say("threshold-decided", percent(step.decided));
  const [cost, present] = [costOf(step), costOf(steps[placeOf(null)])];
  say("threshold-cost", Number.isFinite(cost) ? count(Number(cost.toPrecision(6))) : NONE);
  say("threshold-present", chosen === placeOf(null) ? "as the model decides by itself" : `by itself the model costs ${Number.isFinite(present) ? count(Number(present.toPrecision(6))) : NONE}`);
  if (at("threshold-table").parentElement.open) showTable();
}

function showTable() {
  const columns = { Precision: "precision", Recall: "recall", "False positives": "falsePositives", Decided: "decided" };
  const curves = Object.fromEntries(Object.values(columns).map((name) => [name, steps.map((step) => step[name])]));
  showPoints(at("threshold-table"), { ...curves, labelled: steps.map(({ least }) => least) }, columns, percent, ["Threshold", written]);
}

at("threshold").addEventListener("input", () => {
  const position = at("threshold").valueAsNumber;
  threshold = (isLogOdds ? steps.find(({ least }) => least >= logOdds(position)) : steps[position]).least;
  showChosen();
});
for (const id of ["cost-of-positive", "cost-of-negative"]) at(id).addEventListener("input", showChosen);
at("cheapest").addEventListener("click", () => {
  const costs = steps.map(costOf);
  threshold = steps[costs.indexOf(Math.min(...costs))]?.least ?? threshold; // none of what is not a number
  showChosen();
});
