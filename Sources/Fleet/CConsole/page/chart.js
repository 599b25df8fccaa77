// A small chart of the last five minutes: up to two lines on a common scale that begins at zero.

import { WINDOW } from "./stats.js";
import { element, setAttribute, setText, svg } from "./page.js";

const [WIDTH, HEIGHT] = [300, 56];

export class Chart {
  /// - title: what it shows.
  /// - names: what its lines are; the first is drawn stronger.
  /// - format: makes a text of a value.
  constructor(title, names, format) {
    Object.assign(this, { title, names, format });
    this.lines = names.map((_, index) => svg("path", { class: `line line-${index}`, "vector-effect": "non-scaling-stroke" }));
    this.drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
      svg("path", { class: "base", d: `M0 ${HEIGHT - 0.5}H${WIDTH}`, "vector-effect": "non-scaling-stroke" }),
      [...this.lines].reverse());
    this.top = element("span", { class: "top" });
    this.values = names.map((name) => element("strong", {}, "–"));
    this.note = element("p", { class: "note" });
    this.element = element("section", { class: "chart" },
      element("h3", {}, title),
      element("p", { class: "values" }, names.map((name, index) =>
        element("span", { class: `value value-${index}` }, this.values[index], " ",
          element("span", { class: "unit" }, name)))),
      element("div", { class: "plot" }, this.drawing, this.top),
      this.note);
  }

  /// `series` are lists of `{at, value}`, one for each name.
  show(series, note = "") {
    const newest = Math.max(0, ...series.map((points) => points.at(-1)?.at ?? 0));
    const highest = Math.max(0, ...series.flatMap((points) => points.map(({ value }) => value)));
    const scale = roundUp(highest);
    series.forEach((points, index) => {
      setAttribute(this.lines[index], "d", path(points, newest, scale));
      setText(this.values[index], this.format(points.length ? points.at(-1).value : NaN));
    });
    setText(this.top, highest > 0 ? this.format(scale) : "");
    setText(this.note, note);
    const present = this.names.map((name, index) => `${name} ${this.values[index].textContent}`).join(", ");
    setAttribute(this.drawing, "aria-label", `${this.title}, last 5 minutes: now ${present}; at most ${this.format(highest)}`);
  }
}

function path(points, newest, scale) {
  return points.map(({ at, value }, index) => {
    const x = WIDTH - ((newest - at) * WIDTH) / WINDOW;
    const y = HEIGHT - 1 - (value / scale) * (HEIGHT - 4);
    return `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
  }).join("");
}

/// The next of 1, 2, 5, 10, 20 … that is not lower.
function roundUp(value) {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((factor) => factor * power >= value) * power;
}
