// How numbers are written, and tables built. Text goes in as text, never as HTML: it comes from strangers.

const NONE = "–";
const LONGEST_VALUE = 6;

export const count = (value) => value.toLocaleString("en");

export const percent = (ratio) => (ratio === null || ratio === undefined ? NONE : `${(100 * ratio).toFixed(1)} %`);

export const number = (value) => {
  if (value === null || value === undefined) return NONE;
  const short = Number(value.toPrecision(LONGEST_VALUE));
  return String(short).replace("-", "−").replace("e+", "e");
};

export const signed = (value) => (value > 0 ? `+${number(value)}` : number(value));

// A weight of an expert, of the size of 1: as many digits for each.
export const share = (value) => `${value > 0 ? "+" : ""}${value.toFixed(3)}`.replace("-", "−");

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Roles that HTML implies are written out: where a style sheet changes a table's layout, browsers forget them.
export function table(headings, rows) {
  const row = (cells) => element("tr", { role: "row" }, ...cells);
  const head = headings.map(([text, style]) =>
    element("th", { scope: "col", role: "columnheader", class: style ?? "" }, text),
  );
  for (const cell of rows.flat()) cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
  return element(
    "table",
    { role: "table" },
    element("thead", { role: "rowgroup" }, row(head)),
    element("tbody", { role: "rowgroup" }, ...rows.map(row)),
  );
}

// A curve as a table, for who cannot see it: at most 20 of its points, the newest first.
export function showPoints(place, history, columns, write) {
  const last = history.labelled.length - 1;
  const step = Math.max(1, Math.ceil(last / 20));
  const rows = [];
  for (let point = last; point >= 0; point -= step) {
    const cells = Object.values(columns).map((name) => element("td", { class: "number" }, write(history[name][point])));
    rows.push([element("th", { scope: "row" }, count(history.labelled[point])), ...cells]);
  }
  const headings = Object.keys(columns).map((name) => [name, "number"]);
  place.replaceChildren(table([["Labelled events"], ...headings], rows));
}
