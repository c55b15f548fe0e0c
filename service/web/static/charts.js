// The curves, drawn by uPlot over the number of labelled events.

/* global uPlot */

import { count } from "./format.js";

const HEIGHT = 240;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

class Chart {
  constructor(place, series, write) {
    this.place = place;
    this.series = series;
    this.write = write;
    this.data = null;
    this.plot = null;
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  size() {
    return { width: this.place.clientWidth, height: HEIGHT };
  }

  update(data) {
    this.data = data;
    if (this.plot && this.plot.series.length === data.length) this.plot.setData(data);
    else this.draw();
  }

  draw() {
    if (!this.data) return;
    this.plot?.destroy();
    const [axis, grid] = [colour("soft"), { stroke: colour("line"), width: 1 }];
    const shared = { stroke: axis, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false }, y: { range: (_, __, highest) => [0, this.top(highest)] } },
        axes: [
          { ...shared, values: (_, values) => values.map(count), label: "labelled events", labelSize: 20, labelFont: shared.font, size: 34 },
          { ...shared, values: (_, values) => values.map(this.write), size: 58 },
        ],
        series: [
          {},
          ...this.series.map(({ name, width, dash }) => ({ stroke: colour(name), width, dash, points: { show: false } })),
        ],
      },
      this.data,
      this.place,
    );
  }
}

export class ErrorChart extends Chart {
  constructor(place) {
    const series = [
      { name: "ever", width: 2, dash: [6, 4] },
      { name: "recent", width: 2 },
    ];
    super(place, series, (ratio) => `${Math.round(100 * ratio)} %`);
  }

  top(highest) {
    return Math.min(1, Math.max(0.05, 1.1 * (highest ?? 0)));
  }

  // The first few predictions are a matter of chance, and would squeeze all that follows.
  show({ labelled, error, recent_error: recent }) {
    const settled = labelled.at(-1) > 200 ? labelled.findIndex((n) => n >= 20) : 0;
    const hide = (curve) => curve.map((value, point) => (point < settled ? null : value));
    this.update([labelled, hide(error), hide(recent)]);
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
  show({ labelled, mistakes }, bound) {
    const limit = bound?.updates ?? null;
    const isNear = limit !== null && limit <= 5 * Math.max(1, mistakes.at(-1));
    this.update([labelled, mistakes, labelled.map(() => (isNear ? limit : null))]);
  }
}
