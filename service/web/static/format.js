// How numbers are written, and tables built. Text goes in as text, never as HTML: it comes from strangers.

export const NONE = "–";
const LONGEST_VALUE = 6;

export const count = (value) => value.toLocaleString("en");

export const percent = (ratio) => (ratio === null || ratio === undefined ? NONE : `${(100 * ratio).toFixed(1)} %`);

export const number = (value) => {
  if (value === null || value === undefined) return NONE;
  const short = Number(value.toPrecision(LONGEST_VALUE));
  return String(short).replace("-", "−").replace("e+", "e");
};

// With as many digits as tell sizes apart.
export const rough = (value) => number(Number(value.toPrecision(3)));

export const signed = (value) => (value > 0 ? `+${number(value)}` : number(value));

// A weight of an expert, of the size of 1: as many digits for each.
export const share = (value) => `${value > 0 ? "+" : ""}${value.toFixed(3)}`.replace("-", "−");

// A measure between 0 and about 1.
export const score = (value) => (value === null ? NONE : value.toFixed(3));

// The shares between which the true one lies at 95 % (Wilson, 1927), of so many of so many.
export function between(part, whole) {
  if (!whole) return "";
  const [p, z2] = [part / whole, 1.96 ** 2];
  const middle = (p + z2 / (2 * whole)) / (1 + z2 / whole);
  const half = Math.sqrt((z2 * p * (1 - p)) / whole + (z2 / (2 * whole)) ** 2) / (1 + z2 / whole);
  return `${(100 * Math.max(0, middle - half)).toFixed(1)}–${(100 * Math.min(1, middle + half)).toFixed(1)} %`;
}

export const rate = (perSecond) => (perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond)));

// The two largest units of a time: 3 h 12 min.
export function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = Math.max(0, units.findIndex(([, size]) => seconds >= size));
  let rest = Math.max(0, Math.floor(seconds));
  if (rest === 0) return "0 s";
  return units
    .slice(first, first + 2)
    .map(([unit, size]) => {
      const whole = Math.floor(rest / size);
      rest -= whole * size;
      return `${whole} ${unit}`;
    })
    .join(" ");
}

// A probability by its log-odds, with the more digits the nearer it is to 0 or 1.
export function chance(logOdds) {
  const p = 1 / (1 + Math.exp(-logOdds));
  if (Math.abs(logOdds) > 13.8) return logOdds > 0 ? "> 99.9999 %" : "< 0.0001 %";
  const digits = Math.min(4, Math.max(0, Math.ceil(-Math.log10(Math.min(p, 1 - p))) - 1));
  return `${(100 * p).toFixed(digits)} %`;
}

// A feature as people read it: of the text of an event, the words alone; strings of characters in quotes.
export const readable = (name) => name.replace(/(^|: )text(?:=|: )(?=.)/, "$1").replace(/(^|: )'(.{1,8})'$/, "$1“$2”");

export function say(id, text) {
  const place = document.getElementById(id);
  if (place.textContent !== text) place.textContent = text; // what stays the same is not read aloud again
}

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Roles that HTML implies are written out: where a style sheet changes a table's layout, browsers forget them.
export function table(headings, rows, foot = []) {
  const row = (cells) => element("tr", { role: "row" }, ...cells);
  const head = headings.map(([text, style]) =>
    element("th", { scope: "col", role: "columnheader", class: style ?? "" }, text),
  );
  for (const cell of [...rows, foot].flat()) cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
  return element(
    "table",
    { role: "table" },
    element("thead", { role: "rowgroup" }, row(head)),
    element("tbody", { role: "rowgroup" }, ...rows.map(row)),
    ...(foot.length ? [element("tfoot", { role: "rowgroup" }, row(foot))] : []),
  );
}

// A curve as a table, for who cannot see it: at most 20 of its points, the newest first.
export function showPoints(place, history, columns, write, [heading, writeFirst] = ["Labelled events", count]) {
  const last = history.labelled.length - 1;
  const step = Math.max(1, Math.ceil(last / 20));
  const rows = [];
  for (let point = last; point >= 0; point -= step) {
    const cells = Object.values(columns).map((name) => element("td", { class: "number" }, write(history[name][point])));
    rows.push([element("th", { scope: "row" }, writeFirst(history.labelled[point])), ...cells]);
  }
  const headings = Object.keys(columns).map((name) => [name, "number"]);
  place.replaceChildren(table([[heading], ...headings], rows));
}
