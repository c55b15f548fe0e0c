// The curves, drawn by uPlot over the number of labelled events or over time.

/* global uPlot */

import { count } from "./format.js";

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const axis = document.getElementById("axis");
let offset = 0; // from the service's clock to ours

// The service's clock, in seconds, is now at this.
export function setClock(seconds) {
  const found = Date.now() / 1000 - seconds;
  if (Math.abs(found - offset) > 3) offset = found; // a curve does not shake with the time that an answer takes
}

const isOverTime = () => axis.value === "time";

// Where the points of curves are, in labelled events or in seconds of the day.
const places = ({ labelled, seconds }) => (isOverTime() ? seconds.map((each) => each + offset) : labelled);

function timesOf(seconds) {
  const span = seconds.at(-1) - seconds[0];
  const shown = { hour: "2-digit", minute: "2-digit", ...(span < 300 && { second: "2-digit" }), ...(span > 86400 && { day: "numeric", month: "short" }) };
  return seconds.map((each) => new Date(1000 * each).toLocaleString("en-GB", shown));
}

export class Chart {
  constructor(place, series, write) {
    this.place = place;
    this.series = series;
    this.write = write;
    this.data = null;
    this.plot = null;
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    axis.addEventListener("change", () => {
      this.plot?.destroy();
      this.plot = null; // drawn again with the points in their new places
    });
  }

  xAxis() {
    return isOverTime()
      ? { values: (_, values) => timesOf(values), label: "time", space: 80 }
      : { values: (_, values) => values.map(count), label: "labelled events" };
  }

  size() {
    return { width: this.place.clientWidth, height: this.place.clientHeight };
  }

  update(data) {
    this.data = data;
    if (this.plot) this.plot.setData(data);
    else this.draw();
  }

  // What is drawn over the curves.
  drawn() {}

  draw() {
    if (!this.data) return;
    this.plot?.destroy();
    const [axis, grid] = [colour("soft"), { stroke: colour("line"), width: 1 }];
    const shared = { stroke: axis, grid, ticks: { ...grid, stroke: axis }, font: "12px system-ui, sans-serif" };
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        cursor: { show: false },
        hooks: { draw: [(plot) => this.drawn(plot)] },
        scales: { x: { time: false }, y: { range: (_, lowest, highest) => [0, this.top(highest)] } },
        axes: [
          { ...shared, ...this.xAxis(), labelSize: 20, labelFont: shared.font, size: 34 },
          { ...shared, values: (_, values) => values.map(this.write), size: 58 },
        ],
        series: [
          {},
          ...this.series.map(({ name, width, dash }) => ({ stroke: colour(name), width, dash, points: { show: isPoint, size: 8, fill: colour(name) } })),
        ],
      },
      this.data,
      this.place,
    );
  }
}

// A curve of one point has no line to be seen.
const isPoint = (plot, series) => plot.data[series].filter((value) => value !== null).length === 1;

// The first few answers are a matter of chance, and would squeeze all that follows.
function settled(labelled, curve) {
  const first = labelled.at(-1) > 200 ? labelled.findIndex((n) => n >= 20) : 0;
  return curve.map((value, point) => (point < first ? null : value));
}

export class ErrorChart extends Chart {
  constructor(place) {
    const series = [
      { name: "ever", width: 2, dash: [6, 4] },
      { name: "recent", width: 2 },
      { name: "baseline", width: 2, dash: [2, 4] },
    ];
    super(place, series, (ratio) => `${Math.round(100 * ratio)} %`);
  }

  top(highest) {
    return Math.min(1, Math.max(0.05, 1.1 * (highest ?? 0)));
  }

  show(history) {
    const { labelled, error, recent_error: recent, baseline_error: baseline } = history;
    this.update([places(history), ...[error, recent, baseline].map((curve) => settled(labelled, curve))]);
  }
}

export class MistakesChart extends Chart {
  constructor(place) {
    const series = [
      { name: "mistakes", width: 2 },
      { name: "bound", width: 2, dash: [2, 4] },
    ];
    super(place, series, count);
  }

  top(highest) {
    return Math.max(5, 1.1 * (highest ?? 0));
  }

  // A bound far above the curve would flatten it: then the sentence above the chart has to do.
  show(history, bound) {
    const { labelled, mistakes } = history;
    const limit = bound?.updates ?? null;
    const isNear = limit !== null && limit <= 5 * Math.max(1, mistakes.at(-1));
    this.update([places(history), mistakes, labelled.map(() => (isNear ? limit : null))]);
  }
}
