// A map on a canvas: Web Mercator, with a graticule, or an operator's tiles, below what is drawn.

import { Tiles } from "./tiles.js";

const [LOWEST, HIGHEST] = [1, 19]; // zoom levels; a world of level z is 256 × 2^z pixels wide
const STEPS = [30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002];
const EARTH = 40_075_017; // metres around the equator
const MOST_MARKERS = 500; // drivers in sight above which they are dots, and only the chosen one has a label
const REACH = 18; // pixels around a driver that a click hits

/// The place of coordinates in a square world of side 1, as in all web maps.
export function project(latitude, longitude) {
  const sine = Math.sin((Math.max(-85.05, Math.min(85.05, latitude)) * Math.PI) / 180);
  return { x: longitude / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

export function unproject({ x, y }) {
  return { longitude: (x - 0.5) * 360, latitude: (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI };
}

export class MapCanvas {
  #center = project(51.5, -0.12);
  #zoom = 11;
  #content = { drivers: [], places: [], selected: null };
  #pointers = new Map();
  #moved = 0;
  #frame = null;
  #seen = ""; // the part of the world that was drawn last
  #tiles;

  /// `onSelect(id)` is called when a driver is chosen, with null for none; `onMove()` when another part of the world is
  /// drawn.
  constructor(tileUrl, { onSelect, onMove }) {
    Object.assign(this, { onSelect, onMove });
    this.#tiles = tileUrl ? new Tiles(tileUrl, () => this.#redraw()) : null;
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.canvas.tabIndex = 0;
    const on = (name, handler, options) => this.canvas.addEventListener(name, handler, options);
    on("pointerdown", (event) => this.#press(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#release(event));
    on("pointercancel", (event) => this.#pointers.delete(event.pointerId));
    on("wheel", (event) => this.#wheel(event), { passive: false });
    on("dblclick", (event) => this.zoomBy(1, this.#at(event)));
    on("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#redraw()).observe(this.canvas);
  }

  /// - drivers: `{id, latitude, longitude, heading, isStale, trail: [{latitude, longitude}]}`.
  /// - places: `{label, latitude, longitude, kind}`, with a line between the pickup and the drop-off.
  show(content) {
    this.#content = content;
    this.#redraw();
  }

  get zoom() {
    return this.#zoom;
  }

  get center() {
    return unproject(this.#center);
  }

  // Moving

  #scale(zoom = this.#zoom) {
    return 256 * 2 ** zoom;
  }

  moveBy(dx, dy) {
    const scale = this.#scale();
    this.#center = { x: clamp(this.#center.x - dx / scale), y: clamp(this.#center.y - dy / scale) };
    this.#redraw();
  }

  /// Zooms, and keeps what is at a point (from the middle) where it is.
  zoomBy(levels, at = { x: 0, y: 0 }) {
    const before = this.#scale();
    this.#zoom = Math.max(LOWEST, Math.min(HIGHEST, this.#zoom + levels));
    const shift = 1 / before - 1 / this.#scale();
    this.#center = { x: clamp(this.#center.x + at.x * shift), y: clamp(this.#center.y + at.y * shift) };
    this.#redraw();
  }

  centerOn({ latitude, longitude }) {
    this.#center = project(latitude, longitude);
    this.#redraw();
  }

  /// Shows everything that has a position.
  fit() {
    const { drivers, places } = this.#content;
    if (drivers.length + places.length === 0) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { latitude, longitude } of [...drivers, ...places]) {
      const { x, y } = project(latitude, longitude);
      [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
    }
    this.#center = { x: (left + right) / 2, y: (top + bottom) / 2 };
    const room = (pixels, size) => Math.max(40, pixels - 96) / Math.max(size, 1e-7);
    const scale = Math.min(room(this.canvas.clientWidth, right - left), room(this.canvas.clientHeight, bottom - top));
    this.#zoom = Math.max(LOWEST, Math.min(15, Math.log2(scale / 256)));
    this.#redraw();
  }

  #at({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect();
    return { x: clientX - box.left - box.width / 2, y: clientY - box.top - box.height / 2 };
  }

  #press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, this.#at(event));
    if (this.#pointers.size === 1) this.#moved = 0;
  }

  #move(event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const now = this.#at(event);
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, now);
    this.#moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (!other) return this.moveBy(now.x - before.x, now.y - before.y);
    // Two fingers: their middle moves the map, their distance zooms it.
    this.moveBy((now.x - before.x) / 2, (now.y - before.y) / 2);
    const distance = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
    this.zoomBy(Math.log2(distance(now) / distance(before)), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
  }

  #release(event) {
    if (!this.#pointers.delete(event.pointerId) || this.#moved > 4 || this.#pointers.size > 0) return;
    const { offsetX, offsetY } = event, pixel = this.#pixels();
    const distances = this.#content.drivers.map((driver) => {
      const { x, y } = pixel(driver);
      return { driver, distance: Math.hypot(x - offsetX, y - offsetY) };
    }).filter(({ distance }) => distance <= REACH).sort((a, b) => a.distance - b.distance);
    this.onSelect(distances[0]?.driver.id ?? null);
  }

  #wheel(event) {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    this.zoomBy(Math.max(-1, Math.min(1, -pixels / 250)), this.#at(event));
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const act = { ArrowLeft: () => this.moveBy(80, 0), ArrowRight: () => this.moveBy(-80, 0), ArrowUp: () => this.moveBy(0, 80),
      ArrowDown: () => this.moveBy(0, -80), "+": () => this.zoomBy(1), "=": () => this.zoomBy(1), "-": () => this.zoomBy(-1),
      f: () => this.fit(), 0: () => this.fit() }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  // Drawing

  #redraw() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#draw();
    });
  }

  /// A function that gives the pixel of a place, until the map is moved. The canvas is measured once: that is slow.
  #pixels() {
    const { clientWidth: width, clientHeight: height } = this.canvas, scale = this.#scale(), center = this.#center;
    return ({ latitude, longitude }) => {
      const { x, y } = project(latitude, longitude);
      return { x: (x - center.x) * scale + width / 2, y: (y - center.y) * scale + height / 2 };
    };
  }

  /// A function that tells whether a place is in sight, until the map is moved.
  get sight() {
    const { clientWidth: width, clientHeight: height } = this.canvas, pixel = this.#pixels();
    return (place) => {
      const { x, y } = pixel(place);
      return x >= 0 && x <= width && y >= 0 && y <= height;
    };
  }

  #draw() {
    const { canvas, context } = this, [width, height] = [canvas.clientWidth, canvas.clientHeight], ratio = devicePixelRatio;
    if (width === 0 || height === 0) return;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(canvas), colours = {};
    this.colour = (name) => colours[name] ??= style.getPropertyValue(`--${name}`);
    this.pixel = this.#pixels();
    this.font = (size, weight = 400) => `${weight} ${size}px ${style.fontFamily}`;
    context.fillStyle = this.colour("map");
    context.fillRect(0, 0, width, height);
    this.#tiles?.draw(context, this.#center, this.#zoom, width, height);
    this.#drawGraticule(width, height);
    this.#drawPlaces();
    this.#drawDrivers(width, height);
    this.#drawScale(width, height);
    const seen = [this.#center.x, this.#center.y, this.#zoom, width, height].join();
    if (seen !== this.#seen) this.onMove();
    this.#seen = seen;
  }

  #drawGraticule(width, height) {
    const { context } = this, scale = this.#scale();
    const { x, y } = this.#center, [dx, dy] = [width / 2 / scale, height / 2 / scale];
    const [first, last] = [unproject({ x: x - dx, y: y - dy }), unproject({ x: x + dx, y: y + dy })];
    const step = STEPS.findLast((step) => (step / 360) * scale >= 90) ?? STEPS[0];
    const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    const text = (value, [positive, negative]) =>
      `${Math.abs(value).toFixed(digits)}°${value > 1e-9 ? positive : value < -1e-9 ? negative : ""}`;
    context.strokeStyle = this.colour("graticule");
    context.fillStyle = this.colour("faint");
    context.lineWidth = 1;
    context.font = this.font(11);
    const lines = (from, to, draw) => {
      for (let index = Math.ceil(from / step); index * step <= to; index += 1) draw(index * step);
    };
    lines(Math.max(-180, first.longitude), Math.min(180, last.longitude), (longitude) => {
      const x = Math.round(this.pixel({ latitude: 0, longitude }).x) + 0.5;
      this.#line([[x, 0], [x, height]]);
      context.fillText(text(longitude, "EW"), x + 4, 14);
    });
    lines(Math.max(-85, last.latitude), Math.min(85, first.latitude), (latitude) => {
      const y = Math.round(this.pixel({ latitude, longitude: 0 }).y) + 0.5;
      this.#line([[0, y], [width, y]]);
      if (y > 30) context.fillText(text(latitude, "NS"), 4, y - 4);
    });
  }

  #line(points) {
    this.context.beginPath();
    for (const [x, y] of points) this.context.lineTo(x, y);
    this.context.stroke();
  }

  #drawPlaces() {
    const { context } = this, points = this.#content.places.map((place) => ({ ...place, ...this.pixel(place) }));
    context.strokeStyle = this.colour("ink");
    context.lineWidth = 1.5;
    context.setLineDash([5, 5]);
    if (points.length > 1) this.#line(points.map(({ x, y }) => [x, y]));
    context.setLineDash([]);
    for (const { x, y, label, kind } of points) {
      context.fillStyle = this.colour(kind === "pickup" ? "map" : "ink");
      context.beginPath();
      context.rect(x - 5, y - 5, 10, 10);
      context.fill();
      context.stroke();
      this.#label(label, x + 10, y + 4, 600);
    }
  }

  #drawDrivers(width, height) {
    const { context } = this, { drivers, selected } = this.#content;
    const points = drivers.map((driver) => ({ driver, ...this.pixel(driver) }))
      .filter(({ x, y }) => x > -50 && x < width + 50 && y > -50 && y < height + 50);
    const isSelected = ({ driver }) => driver.id === selected;
    const marked = points.length > MOST_MARKERS ? points.filter(isSelected) : points;
    if (marked !== points) this.#dots(points);
    context.lineWidth = 1.5;
    for (const { driver, x, y } of marked) {
      const colour = this.colour(driver.isStale ? "faint" : "accent");
      context.strokeStyle = colour;
      context.globalAlpha = 0.5;
      this.#line([...driver.trail.map((place) => Object.values(this.pixel(place))), [x, y]]);
      context.globalAlpha = 1;
      this.#marker(x, y, driver, colour, driver.id === selected);
    }
    // Labels where there is room; the chosen driver's in any case, and first.
    const taken = marked.map(({ x, y }) => ({ x: x - 7, y: y - 7, width: 14, height: 14 }));
    for (const { driver, x, y } of marked.sort((a, b) => isSelected(b) - isSelected(a))) {
      const box = { x: x + (driver.id === selected ? 20 : 15), y: y - 7, width: 7 * driver.label.length, height: 15 };
      if (driver.id !== selected && taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      this.#label(driver.label, box.x, y + 4, driver.id === selected ? 700 : 400);
    }
  }

  /// Drivers as squares, which are drawn fast.
  #dots(points) {
    const { context } = this;
    for (const isStale of [true, false]) {
      context.fillStyle = this.colour(isStale ? "faint" : "accent");
      for (const { driver, x, y } of points) if (driver.isStale === isStale) context.fillRect(x - 2, y - 2, 4, 4);
    }
  }

  /// A disc with a point in the direction of travel; a ring if the position is old.
  #marker(x, y, { heading, isStale }, colour, isSelected) {
    const { context } = this;
    context.fillStyle = isStale ? this.colour("map") : colour;
    context.strokeStyle = isStale ? colour : this.colour("map");
    context.beginPath();
    if (typeof heading === "number") {
      const angle = ((heading - 90) * Math.PI) / 180;
      const at = (turn, radius) => [x + radius * Math.cos(angle + turn), y + radius * Math.sin(angle + turn)];
      context.moveTo(...at(0.75, 6));
      context.lineTo(...at(0, 12));
      context.lineTo(...at(-0.75, 6));
      context.arc(x, y, 6, angle - 0.75, angle + 0.75, true);
    } else {
      context.arc(x, y, 6, 0, 2 * Math.PI);
    }
    context.closePath();
    context.fill();
    context.stroke();
    if (!isSelected) return;
    context.strokeStyle = this.colour("ink");
    context.beginPath();
    context.arc(x, y, 15, 0, 2 * Math.PI);
    context.stroke();
  }

  #label(text, x, y, weight) {
    const { context } = this;
    context.font = this.font(12, weight);
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = this.colour("map");
    context.strokeText(text, x, y);
    context.lineWidth = 1.5;
    context.fillStyle = this.colour("ink");
    context.fillText(text, x, y);
  }

  #drawScale(width, height) {
    const { context } = this, { latitude } = this.center;
    const metres = (EARTH * Math.cos((latitude * Math.PI) / 180)) / this.#scale();
    const length = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power))
      .filter((length) => length / metres <= 120).reduce((a, b) => Math.max(a, b), 1);
    const pixels = length / metres, [x, y] = [width - 12 - pixels, height - 12];
    context.strokeStyle = this.colour("ink");
    context.lineWidth = 1.5;
    this.#line([[x, y - 5], [x, y], [x + pixels, y], [x + pixels, y - 5]]);
    this.#label(length >= 1000 ? `${length / 1000} km` : `${length} m`, x + 4, y - 6, 400);
  }
}

const clamp = (part) => Math.max(0, Math.min(1, part));

const overlap = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
