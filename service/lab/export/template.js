/* A linear model: @LEARNER@, exported by online-perceptron @VERSION@. For Node.js and browsers.

   const perceptron = require("./model.js");             // or <script src="model.js">
   perceptron.predict({ features: { length: 12, lang: "en", known: true }, text: "Win a prize" });
   // { label: "spam", score: 3.5 }

   `features` is an object or a Map: numbers, booleans, and strings, which are categories; null is none.
   Scores are sums in the order of the features; an object puts names that are whole numbers first. */

const perceptron = (() => {
  "use strict";
  const labels = @LABELS@;
  const bias = @BIASES@; // one of two classes, else one for each
  const threshold = @THRESHOLD@; // above it, the second of two classes
  const positiveAtThreshold = @POSITIVE_AT_THRESHOLD@;
  const scoreIsLogOdds = @LOG_ODDS@;
  const made = @SETTINGS@; // how features are made
  const word = @WORD@;

  // By name, or by index of the hashed name: the weight for each score.
  const weights = new Map([
@MODEL@
  ]);
  // A value v counts as v / max(|v|, scale); empty: as it is.
  const scales = new Map([
@SCALES@
  ]);

  const utf8 = new TextEncoder();

  // MurmurHash3 (x86, 32 bits, seed 0).
  function murmur3(name) {
    const bytes = utf8.encode(name);
    const mix = (k) => {
      k = Math.imul(k, 0xcc9e2d51);
      return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
    };
    let hash = 0;
    let at = 0;
    for (; at + 4 <= bytes.length; at += 4) {
      hash ^= mix(bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24));
      hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
    }
    let rest = 0;
    for (let left = bytes.length - 1; left >= at; left--) rest = (rest << 8) | bytes[left];
    hash ^= mix(rest) ^ bytes.length;
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  const key = (name) => (made.hash_bits ? murmur3(name) & (2 ** made.hash_bits - 1) : name);

  function ngrams(text) {
    const lower = made.lowercase ? text.toLowerCase() : text;
    const isCharacters = made.text === "chars";
    const tokens = isCharacters ? Array.from(lower) : lower.match(word) || [];
    const found = [];
    for (let n = made.ngrams[0]; n <= Math.min(made.ngrams[1], tokens.length); n++)
      for (let at = 0; at + n <= tokens.length; at++)
        found.push(tokens.slice(at, at + n).join(isCharacters ? "" : " "));
    return found;
  }

  function number(name, value) {
    const found = Number(value);
    if ((typeof value !== "number" && typeof value !== "boolean") || !(Math.abs(found) <= 1e100))
      throw new TypeError(`${name}: expected a number up to 1e100, a boolean or a string`);
    return found;
  }

  // Return a Map of numbers by feature.
  function values(features, text) {
    const x = new Map();
    const add = (into, name, value) => into.set(name, (into.get(name) || 0) + value);
    for (const [name, value] of features instanceof Map ? features : Object.entries(features || {})) {
      if (typeof value === "string") add(x, key(`${name}=${value}`), 1);
      else if (value !== null && value !== undefined) add(x, key(String(name)), number(name, value));
    }
    const occurrences = new Map();
    for (const ngram of ngrams(text || "")) {
      const name = key(`text=${ngram}`);
      if (made.text_values === "counts") add(occurrences, name, 1);
      else occurrences.set(name, 1);
    }
    for (const [name, value] of occurrences) add(x, name, value);
    if (made.normalize === "l2") {
      let squares = 0;
      for (const value of x.values()) squares += value * value;
      if (squares) for (const [name, value] of x) x.set(name, value / Math.sqrt(squares));
    }
    return x;
  }

  // Return a score for the second of two classes, or one for each class.
  function scores({ features, text }) {
    const sums = bias.slice();
    for (const [name, value] of values(features, text)) {
      const known = weights.get(name);
      if (!known || value === 0) continue;
      const counted = scales.size ? value / Math.max(Math.abs(value), scales.get(name)) : value;
      for (let each = 0; each < sums.length; each++) sums[each] += known[each] * counted;
    }
    return sums;
  }

  // Return the label, its score (of two classes that of the second) and, if there is one, its probability.
  function predict(event) {
    const sums = scores(event);
    if (sums.length > 1) {
      const best = sums.indexOf(Math.max(...sums));
      return { label: labels[best], score: sums[best] };
    }
    const [score] = sums;
    const label = labels[Number(score > threshold || (positiveAtThreshold && score === threshold))];
    return scoreIsLogOdds ? { label, score, probability: 1 / (1 + Math.exp(-Math.abs(score))) } : { label, score };
  }

  return { labels, scores, predict };
})();

if (typeof module === "object") module.exports = perceptron;
