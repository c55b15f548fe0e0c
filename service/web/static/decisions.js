// What is acted on: each decision with its goal, the threshold that it takes now, and what came of it.

import { between, chance, count, element, number, percent, say, table } from "./format.js";
import { show } from "./morph.js";

const at = (id) => document.getElementById(id);

export const logOdds = (probability) => Math.log(probability / (1 - probability));

function thresholdOf({ threshold, undecided, exhausted }, isLogOdds) {
  if (exhausted) return "exhausted";
  if (threshold === null) return undecided ? "none yet" : "what is predicted";
  return isLogOdds ? chance(logOdds(threshold)) : number(Number(threshold.toPrecision(3)));
}

export function showDecisions({ decisions, cost, quality, classes }) {
  at("decisions-section").hidden = !decisions.length;
  if (!decisions.length) return;
  say("decisions-cost", cost === null ? "" : `Their cost so far: ${count(Number(cost.toPrecision(6)))}.`);
  const undecided = decisions.filter((each) => each.undecided).map((each) => `${each.name}: ${each.undecided}.`);
  say("decisions-undecided", undecided.join(" "));
  const kind = new Set(decisions.map((each) => String(each.class))).size > 1 || classes.length !== 2 ? "" : "same";
  const rows = decisions.map((each) => [
    element("th", { scope: "row" }, each.name),
    element("td", { class: "goal" }, ...each.goal.split(/(?<=_)/).flatMap((part) => [element("wbr", {}), part])),
    element("td", { class: kind }, String(each.class)),
    element("td", { class: "number" }, thresholdOf(each, quality.has_probabilities)),
    element("td", { class: "number" }, count(each.decided)),
    element("td", { class: "number" }, each.labelled ? `${percent(each.precision)} (${between(each.precision * each.labelled, each.labelled)}) of ${count(each.labelled)}` : "–"),
  ]);
  show(at("decisions"), table([["Decision"], ["Goal"], ["Class", kind], ["Threshold", "number"], ["Decided", "number"], ["Precision", "number"]], rows));
}
