// The confusion matrix, and what AUC and log loss say. Of many classes the commonest are shown, the others as one.

import { count, element, percent, ratio, say, table } from "./format.js";
import { show } from "./morph.js";

const MOST_CLASSES = 10;
const SHADES = 6;
const OTHERS = "others";

export function showConfusion({ quality, classes, counts }) {
  const matrix = matrixOf(quality.cells, classes);
  say("confusion-caption", captionOf(quality, counts));
  show(document.getElementById("confusion"), matrixTable(matrix));
  say("auc-explained", aucSentence(quality, classes));
  say("log-loss-explained", lossSentence(quality));
}

const captionOf = ({ labelled }, counts) =>
  labelled === counts.labelled
    ? "Rows are the truth, columns what was predicted."
    : `Rows are the truth, columns what was predicted: of the last ${count(labelled)} of ${count(counts.labelled)} labelled events.`;

// Return {names, rows}: rows[truth][predicted] is a count. Two classes are false and true in a cell.
function matrixOf(cells, classes) {
  const named = cells.map(([truth, predicted, n]) => [nameOf(truth, classes), nameOf(predicted, classes), n]);
  const known = classes.map(String);
  const names = known.length <= MOST_CLASSES ? known : commonest(named, known);
  const hasOthers = known.length > MOST_CLASSES;
  const shown = hasOthers ? [...names, OTHERS] : names;
  const place = (name) => (names.includes(name) ? names.indexOf(name) : names.length);
  const rows = shown.map(() => shown.map(() => 0));
  for (const [truth, predicted, n] of named) rows[place(truth)][place(predicted)] += n;
  return { names: shown, rows, hasOthers };
}

const nameOf = (label, classes) => (typeof label === "boolean" ? String(classes[Number(label)]) : String(label ?? OTHERS));

function commonest(named, known) {
  const labels = Object.fromEntries(known.map((name) => [name, 0]));
  for (const [truth, , n] of named) if (truth in labels) labels[truth] += n;
  const chosen = [...known].sort((one, other) => labels[other] - labels[one]).slice(0, MOST_CLASSES);
  return known.filter((name) => chosen.includes(name)); // in their own order, which does not change
}

function matrixTable({ names, rows, hasOthers }) {
  const lines = rows.map((row, truth) => {
    const total = row.reduce((sum, n) => sum + n, 0);
    const isMixed = hasOthers && truth === names.length - 1; // what is right among the others is not known
    const cells = row.map((n, predicted) => countCell(n, total, truth === predicted && !isMixed));
    const right = total && !isMixed ? percent(row[truth] / total) : "–";
    return [element("th", { scope: "row", class: "name", title: names[truth] }, names[truth]), ...cells, element("td", { class: "number" }, right)];
  });
  const headings = names.map((name) => [name, "number name"]);
  return table([["Truth"], ...headings, ["Right", "number"]], lines);
}

function countCell(n, total, isRight) {
  const shade = total ? Math.ceil((SHADES * n) / total) : 0;
  return element("td", { class: `number heat-${shade} ${isRight ? "right-cell" : "wrong-cell"}` }, count(n));
}

function aucSentence({ ordered_pairs: ordered, pairs }, classes) {
  if (classes.length > 2) return "None: there are more than two classes.";
  if (!pairs) return "None: labels of both classes are needed.";
  return `${ratio(ordered, pairs)}: so often does a “${classes[1]}” score higher than a “${classes[0]}”. Chance is 0.5.`;
}

function lossSentence({ loss, probabilities }) {
  if (!probabilities) return "None: this model gives no probabilities.";
  return `${ratio(loss, probabilities)}: the mean of −ln of the probability of what happened. Saying 50 % each time gives 0.693.`;
}
