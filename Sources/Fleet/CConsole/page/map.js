// The map of drivers and the trips that are followed, with the same as a list.

import { age, count } from "./format.js";
import { element, field, MOST_ROWS, Poll, setAttribute, setText, Table } from "./page.js";
import { MapCanvas } from "./mapcanvas.js";

const PERIOD = 15_000; // milliseconds between two readings of all positions; events come in between
const STALE = 60_000;
const TRAIL = 30; // positions that a driver's line has
const CHANNEL = "private-admin-channel";

export class FleetMap {
  title = "Map";
  #gateway;
  #feed;
  #poll = new Poll(PERIOD, () => this.#load());
  #drivers = new Map(); // by id
  #sorted = null; // the same by id; nil when one has come or gone
  #hasChanged = false; // since the last display
  #places = [];
  #selected = null;
  #isFitted = false;
  #leave = null;
  #ticks = null;

  constructor({ gateway, feed, tileUrl }) {
    this.#gateway = gateway;
    this.#feed = feed;
    this.map = new MapCanvas(tileUrl, { onSelect: (id) => this.#select(id), onMove: () => this.#list() });
    setAttribute(this.map.canvas, "aria-label",
      "Map of the drivers. Arrow keys move it, + and − zoom, F shows all. The list beside it has the same.");
    setAttribute(this.map.canvas, "role", "application");
    this.refused = element("p", { class: "refused", role: "alert" });
    this.status = element("p", { class: "note" });
    this.code = element("input", { autocomplete: "off", spellcheck: "false", required: true });
    this.search = element("input", { autocomplete: "off", spellcheck: "false", input: () => this.#list() });
    const button = (label, text, act) =>
      element("button", { type: "button", "aria-label": label, title: label, click: act }, text);
    this.table = new Table("Drivers on a trip", [
      { title: "Driver", text: ({ id }) => id, act: ({ id }) => this.#select(id, true), hint: () => "Show on the map" },
      { title: "Booking", text: ({ bookingReference }) => bookingReference ?? "" },
      { title: "Status", text: ({ status }) => status ?? "" },
      { title: "ETA", isNumber: true, text: ({ eta }) => Number.isFinite(eta) ? `${eta} min` : "" },
      { title: "Position", isNumber: true, text: (driver) =>
        isLocated(driver) ? `${driver.latitude.toFixed(4)}, ${driver.longitude.toFixed(4)}` : "unknown" },
      { title: "Age", isNumber: true, text: ({ at }) => at ? age(at) : "", mark: ({ isStale }) => isStale && "warn" },
    ], ({ id }) => id, "No driver is on a trip");
    this.detail = element("p", { class: "note", role: "status" });
    this.element = element("div", {}, this.refused,
      element("div", { class: "map" },
        element("div", { class: "sheet" }, this.map.canvas, element("div", { class: "zoom" },
          button("Zoom in", "+", () => this.map.zoomBy(1)), button("Zoom out", "−", () => this.map.zoomBy(-1)),
          button("Show all", "Fit", () => this.map.fit()))),
        element("div", { class: "beside" },
          element("form", { class: "filters", submit: (event) => {
            event.preventDefault();
            this.#showOrder(this.code.value.trim());
          } }, field("Follow order", this.code), element("button", { class: "primary" }, "Show"),
            field("Only drivers with", this.search)),
          this.status, this.detail, this.table.element)));
  }

  get firstField() {
    return this.code;
  }

  show() {
    this.#leave = this.#feed.subscribe(CHANNEL, {
      onEvent: (event, data) => event === "driver-location" && this.#receive(JSON.parse(data)),
    });
    this.#poll.start();
    this.#ticks = setInterval(() => this.#tick(), 1_000);
    this.#tick();
  }

  hide() {
    this.#poll.stop();
    this.#leave?.();
    clearInterval(this.#ticks);
  }

  refresh() {
    this.#poll.start();
  }

  onKey(key) {
    if (key === "f") this.map.fit();
  }

  async #load() {
    let positions;
    try {
      ({ data: { positions } } = await this.#gateway.get("/api/admin/drivers/positions"));
      setText(this.refused, "");
    } catch (refusal) {
      return setText(this.refused, refusal.advice);
    }
    const present = new Set(positions.map(({ driverId }) => driverId));
    for (const id of this.#drivers.keys()) {
      if (present.has(id)) continue;
      this.#drivers.delete(id);
      this.#sorted = null;
    }
    for (const position of positions) this.#receive(position);
    this.#hasChanged = true;
    this.#tick();
    if (!this.#isFitted && [...this.#drivers.values()].some(isLocated)) {
      this.#isFitted = true;
      this.map.fit();
    }
  }

  /// Takes a driver's position, of the list or of an event. An event has no ETA: the last one stays.
  #receive(position) {
    const { driverId: id, bookingReference, latitude, longitude, heading, status, last_updated: at } = position;
    let driver = this.#drivers.get(id);
    if (!driver) {
      driver = { id, label: id, trail: [] };
      this.#drivers.set(id, driver);
      this.#sorted = null;
    } else if (isLocated(driver) && (driver.latitude !== latitude || driver.longitude !== longitude)) {
      driver.trail.push({ latitude: driver.latitude, longitude: driver.longitude });
      if (driver.trail.length > TRAIL) driver.trail.shift();
    }
    Object.assign(driver, { bookingReference, latitude, longitude, heading, status, at, recordedAt: Date.parse(at) });
    if (position.estimated_arrival_minutes !== undefined) driver.eta = position.estimated_arrival_minutes;
    this.#hasChanged = true;
  }

  /// Shows what has changed in the last second. If nothing has, only ages in the list grow.
  #tick() {
    const now = Date.now();
    for (const driver of this.#drivers.values()) {
      const isStale = !(now - driver.recordedAt <= STALE);
      if (isStale !== driver.isStale) [driver.isStale, this.#hasChanged] = [isStale, true];
    }
    if (this.#hasChanged) this.#display();
    else this.table.refresh();
  }

  #display() {
    this.#hasChanged = false;
    this.map.show({ places: this.#places, selected: this.#selected,
      drivers: [...this.#drivers.values()].filter(isLocated) });
    this.#list();
  }

  /// Lists the drivers that match the search. Without one, lists all; those in sight of the map if they are too many.
  #list() {
    const drivers = this.#sorted ??= [...this.#drivers.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    const search = this.search.value.trim().toLowerCase(), isInSight = this.map.sight;
    const isListed = search ? ({ id, bookingReference }) => `${id} ${bookingReference ?? ""}`.toLowerCase().includes(search)
      : drivers.length > MOST_ROWS ? (driver) => isLocated(driver) && isInSight(driver) : () => true;
    const found = drivers.filter(isListed), listed = found.slice(0, MOST_ROWS);
    setText(this.table.empty, drivers.length === 0 ? "No driver is on a trip"
      : search ? "No driver matches" : "No driver is in sight of the map");
    this.table.show(listed);
    const all = `${count(drivers.length)} ${drivers.length === 1 ? "driver" : "drivers"} on a trip`;
    setText(this.status, listed.length === drivers.length ? all : `${count(listed.length)} of ${all}`
      + (found.length > listed.length ? `, of ${count(found.length)} that ${search ? "match" : "are in sight"}` : ""));
  }

  #select(id, isCentered = false) {
    this.#selected = id;
    const driver = this.#drivers.get(id);
    this.detail.replaceChildren(...(driver ? [`Driver ${id}, booking ${driver.bookingReference}, ${driver.status}. `,
      element("a", { href: `#notifications?driver=${encodeURIComponent(id)}` }, "Notifications")] : []));
    if (isCentered && driver && isLocated(driver)) this.map.centerOn(driver);
    this.#display();
  }

  /// Shows an order's pickup and drop-off, and chooses its driver.
  async #showOrder(code) {
    try {
      const { data: { order } } = await this.#gateway.get(`/api/admin/orders/${encodeURIComponent(code)}`);
      this.#places = [
        { kind: "pickup", latitude: order.pickupLatitude, longitude: order.pickupLongitude },
        { kind: "drop-off", latitude: order.dropoffLatitude, longitude: order.dropoffLongitude },
      ].filter(isLocated).map((place) => ({ ...place, label: `${place.kind} ${code}` }));
      this.#select(order.driverId ?? null);
      setText(this.refused, this.#places.length ? "" : `Order ${code} has no coordinates`);
      this.map.fit();
    } catch (refusal) {
      setText(this.refused, refusal.advice);
    }
  }
}

const isLocated = ({ latitude, longitude }) => Number.isFinite(latitude) && Number.isFinite(longitude);
