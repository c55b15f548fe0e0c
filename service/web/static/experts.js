// The experts of a mixture: a table of them, the heaviest first.

import { count, share } from "./format.js";
import { show } from "./morph.js";
import { expertsTable } from "./tables.js";

const at = (id) => document.getElementById(id);

export function showExperts(mixture, classes) {
  at("experts").hidden = mixture === null;
  if (mixture === null) return;
  const sentence = leaderSentence(mixture.leader);
  if (at("leader").textContent !== sentence) at("leader").textContent = sentence;
  at("experts-count").textContent = count(mixture.experts.length);
  at("experts-of-classes").hidden = classes.length <= 2;
  if (at("all-experts").open) show(at("experts-table"), expertsTable(mixture.experts));
}

function leaderSentence(leader) {
  const whose = leader.startsWith("mixture") ? `the ${leader}` : `${leader} alone`;
  return `At present, ${whose} predicts, with the fewest recent mistakes.`;
}

// Of an explanation: which experts decided.
export function decidersSentence({ leader, experts }) {
  if (!leader.startsWith("mixture")) return `${leader} decides alone.`;
  const named = experts.slice(0, 3).map(({ name, weight }) => `${name} (${share(weight)})`);
  return `The ${leader} decides; the experts with the largest weights: ${named.join(", ")}.`;
}
