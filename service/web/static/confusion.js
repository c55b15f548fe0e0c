// The confusion matrix with precision and recall, and what AUC and log loss show. Of many classes the most frequent are shown, the others as one.

import { between, count, element, percent, say, score, table } from "./format.js";
import { show } from "./morph.js";

const MAX_CLASSES = 10;
const SHADES = 6;
const OTHERS = "others";

export function showConfusion({ quality, classes, counts, auc, log_loss: loss }) {
  const matrix = matrixOf(quality.cells, classes);
  say("confusion-caption", captionOf(quality, counts));
  show(document.getElementById("confusion"), matrixTable(matrix));
  say("positive-explained", positiveSentence(matrix, classes));
  say("auc-explained", aucSentence(auc, classes));
  say("log-loss-explained", lossSentence(loss, classes));
}

const captionOf = ({ labelled }, counts) =>
  labelled === counts.labelled
    ? "Rows are the truth, columns what was predicted; a cell shows examples."
    : `Rows are the truth, columns what was predicted: of the last ${count(labelled)} of ${count(counts.labelled)} labelled events.`;

// Return {names, rows}: rows[truth][predicted] is a count. Two classes are false and true in a cell.
function matrixOf(cells, classes) {
  const named = cells.map(([truth, predicted, n]) => [nameOf(truth, classes), nameOf(predicted, classes), n]);
  const known = classes.map(String);
  const names = known.length <= MAX_CLASSES ? known : mostFrequent(named, known);
  const hasOthers = known.length > MAX_CLASSES;
  const shown = hasOthers ? [...names, OTHERS] : names;
  const place = (name) => (names.includes(name) ? names.indexOf(name) : names.length);
  const rows = shown.map(() => shown.map(() => 0));
  for (const [truth, predicted, n] of named) rows[place(truth)][place(predicted)] += n;
  return { names: shown, rows, hasOthers };
}

const nameOf = (label, classes) => (typeof label === "boolean" ? String(classes[Number(label)]) : String(label ?? OTHERS));

function mostFrequent(named, known) {
  const labels = Object.fromEntries(known.map((name) => [name, 0]));
  for (const [truth, , n] of named) if (truth in labels) labels[truth] += n;
  const chosen = [...known].sort((one, other) => labels[other] - labels[one]).slice(0, MAX_CLASSES);
  return known.filter((name) => chosen.includes(name)); // in their own order, which does not change
}

const sum = (numbers) => numbers.reduce((total, n) => total + n, 0);
const share = (part, whole) => percent(whole ? part / whole : null);

function matrixTable({ names, rows, hasOthers }) {
  const isMixed = (place) => hasOthers && place === names.length - 1; // what is right among the others is not known
  const lines = rows.map((row, truth) => {
    const cells = row.map((n, predicted) => countCell(n, sum(row), truth === predicted && !isMixed(truth), names[truth], names[predicted]));
    const recall = isMixed(truth) ? "–" : share(row[truth], sum(row));
    return [element("th", { scope: "row", class: "name", title: names[truth] }, names[truth]), ...cells, element("td", { class: "number" }, recall)];
  });
  const predicted = (place) => sum(rows.map((row) => row[place]));
  const precisions = names.map((_, place) => (isMixed(place) ? ["–"] : [share(rows[place][place], predicted(place)), element("span", { class: "between" }, between(rows[place][place], predicted(place)))]));
  const foot = [element("th", { scope: "row" }, "Precision"), ...[...precisions, []].map((texts) => element("td", { class: "number" }, ...texts))];
  const headings = names.map((name) => [name, "number name"]);
  return table([["Truth"], ...headings, ["Recall", "number"]], lines, foot);
}

function countCell(n, total, isRight, truth, predicted) {
  const shade = total ? Math.ceil((SHADES * n) / total) : 0;
  const opens = n && truth !== OTHERS && predicted !== OTHERS;
  const label = `${count(n)}: ${truth} taken for ${predicted}`;
  const shown = opens ? element("button", { type: "button", class: "open", "data-truth": truth, "data-predicted": predicted, "aria-label": label }, count(n)) : count(n);
  return element("td", { class: `number heat-${shade} ${isRight ? "right-cell" : "wrong-cell"}` }, shown);
}

// Of two classes, what those who act on the positive one ask.
function positiveSentence({ rows }, classes) {
  if (classes.length !== 2) return `those of each class are in the matrix; macro F1, the mean of theirs, is ${score(macroF1(rows))}.`;
  const [[right, falseAlarms], [missed, found]] = rows;
  const f1 = found ? score((2 * found) / (2 * found + falseAlarms + missed)) : "–";
  return `“${classes[1]}” has precision ${share(found, found + falseAlarms)} (at 95 %, ${between(found, found + falseAlarms) || "–"}), recall ${share(found, found + missed)}, F1 ${f1}; false positives are ${share(falseAlarms, right + falseAlarms)} of “${classes[0]}”.`;
}

function macroF1(rows) {
  const of = rows.map((row, place) => [row[place], sum(row) + sum(rows.map((each) => each[place]))]).filter(([, both]) => both);
  return of.length ? sum(of.map(([right, both]) => (2 * right) / both)) / of.length : null;
}

function aucSentence(auc, classes) {
  if (classes.length > 2) return "None: there are more than two classes.";
  if (auc === null) return "None: labels of both classes are needed.";
  return `${score(auc)}: the share of pairs in which “${classes[1]}” scores higher than “${classes[0]}”. Chance is 0.5.`;
}

function lossSentence(loss, classes) {
  if (loss === null) return "None: this model gives no probabilities.";
  if (classes.length > 2) return `${score(loss)}: the mean of −ln of the probability of being right or wrong, as it turned out.`;
  return `${score(loss)}: the mean of −ln of the probability of the truth. A constant 50 % gives 0.693.`;
}
