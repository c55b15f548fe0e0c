// The experts of a mixture: their weights and errors as curves, the heaviest ones in colour, and a table of them.

import { Chart, places, settled } from "./charts.js";
import { count, number, percent, share, showPoints } from "./format.js";
import { show } from "./morph.js";
import { expertsTable } from "./tables.js";

const COLOURED = 6; // as many as a reader can tell apart
const DASHES = [undefined, undefined, undefined, [7, 3], [7, 3], [7, 3]];

const at = (id) => document.getElementById(id);

// The grey curves come first, so that the coloured ones lie on them.
class ExpertsChart extends Chart {
  show(told, experts, read) {
    const drawn = [...experts].sort((one, other) => other.rank - one.rank);
    const series = drawn.map(({ colour }) =>
      colour === null ? { name: "others", width: 1 } : { name: `expert-${colour}`, width: 2, dash: DASHES[colour] },
    );
    this.update([places(told), ...drawn.map((expert) => settled(told.labelled, read(expert)))], series);
  }
}

class WeightsChart extends ExpertsChart {
  constructor(place) {
    super(place, [], number);
  }

  bottom(lowest) {
    return Math.min(0, 1.1 * (lowest ?? 0));
  }

  top(highest) {
    return Math.max(0.1, 1.1 * (highest ?? 0));
  }
}

// As high as the coloured curves need: an expert that is always wrong would squeeze them.
class ErrorsChart extends ExpertsChart {
  constructor(place) {
    super(place, [], (ratio) => `${Math.round(100 * ratio)} %`);
  }

  show(told, experts, read) {
    const coloured = experts.filter(({ colour }) => colour !== null);
    this.highest = Math.max(0, ...coloured.flatMap((expert) => settled(told.labelled, read(expert))));
    super.show(told, experts, read);
  }

  top() {
    return Math.min(1, Math.max(0.05, 1.1 * this.highest));
  }
}

const weightsChart = new WeightsChart(at("expert-weights-chart"));
const errorsChart = new ErrorsChart(at("expert-errors-chart"));
const colours = new Array(COLOURED).fill(null); // the name of the expert that has each colour

// An expert keeps its colour while it is among the heaviest; another one takes it then.
function dealColours(experts) {
  const heaviest = experts.slice(0, COLOURED).map(({ name }) => name);
  for (const [colour, name] of colours.entries()) if (!heaviest.includes(name)) colours[colour] = null;
  for (const name of heaviest) if (!colours.includes(name)) colours[colours.indexOf(null)] = name;
  return experts.map((expert, rank) => {
    const colour = colours.indexOf(expert.name);
    return { ...expert, rank, colour: colour < 0 ? null : colour };
  });
}

export function showExperts(told, classes) {
  at("experts").hidden = told === null;
  if (told === null) return;
  const experts = dealColours(told.experts);
  const [heaviest, others] = [experts.slice(0, COLOURED), experts.slice(COLOURED)];
  const sentence = leaderSentence(told.leader);
  if (at("leader").textContent !== sentence) at("leader").textContent = sentence;
  at("experts-count").textContent = count(experts.length);
  at("experts-of-classes").hidden = classes.length <= 2;
  weightsChart.show(told, experts, ({ weights }) => weights);
  errorsChart.show(told, experts, ({ errors }) => errors);
  showCurvesAsTable("expert-weights-table", told.labelled, heaviest, ({ weights }) => weights, number);
  showCurvesAsTable("expert-errors-table", told.labelled, heaviest, ({ errors }) => errors, percent);
  show(at("heaviest-experts"), expertsTable(heaviest));
  showOthers(others);
}

function leaderSentence(leader) {
  const whose = leader.startsWith("mixture") ? `the ${leader}` : `${leader} alone`;
  return `Its answer is now that of ${whose}, which made the fewest mistakes lately.`;
}

function showCurvesAsTable(id, labelled, experts, read, write) {
  if (!at(id).parentElement.open) return;
  const curves = Object.fromEntries(experts.map((expert) => [expert.name, read(expert)]));
  const columns = Object.fromEntries(experts.map(({ name }) => [name, name]));
  showPoints(at(id), { ...curves, labelled }, columns, write);
}

function showOthers(others) {
  const [summary, place] = at("other-experts").children;
  at("other-experts").hidden = !others.length;
  summary.textContent = `The ${count(others.length)} lighter experts, the grey curves`;
  if (at("other-experts").open) show(place, expertsTable(others));
}

// Of an explanation: which experts decided.
export function decidersSentence({ leader, experts }) {
  if (!leader.startsWith("mixture")) return `${leader} decides alone.`;
  const named = experts.slice(0, 3).map(({ name, weight }) => `${name} (${share(weight)})`);
  return `The ${leader} decides; its heaviest experts: ${named.join(", ")}.`;
}
