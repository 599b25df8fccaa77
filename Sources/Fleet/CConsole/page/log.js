// The live log: the events of one channel as they come.

import { clip, clock, compact, count, indented } from "./format.js";
import { element, field, setAttribute, setText } from "./page.js";

const LENGTH = 300; // events that are kept
const SIZE = 1 << 20; // and characters of their data
const SUMMARY = 300; // characters of an event's data that are shown while it is closed
const SEARCHED = 2_000; // and in which the filter searches

export class Log {
  title = "Live log";
  #feed;
  #gateway;
  #leave = null;
  #waiting = new Newest(); // events that came while the log was paused
  #rows = new Newest(); // those that are shown
  #isPaused = false;
  #isScheduled = false;
  #received = 0;

  constructor({ gateway, feed }) {
    this.#gateway = gateway;
    this.#feed = feed;
    this.names = element("datalist", { id: "channel-names" });
    this.channel = element("input", { autocomplete: "off", spellcheck: "false", required: true, list: "channel-names" });
    this.filter = element("input", { autocomplete: "off", spellcheck: "false", input: () => this.#applyFilter() });
    this.form = element("form", { class: "filters", submit: (event) => {
      event.preventDefault();
      const hash = `#log/${encodeURIComponent(this.channel.value.trim())}`;
      if (location.hash === hash) this.#follow(this.channel.value.trim());
      else location.hash = hash;
    } }, field("Channel", this.channel), this.names, element("button", { class: "primary" }, "Follow"),
      field("Only events with", this.filter));
    this.pause = element("button", { type: "button", "aria-pressed": "false", click: () => this.togglePause() }, "Pause");
    this.clear = element("button", { type: "button", click: () => this.#clear() }, "Clear");
    this.state = element("p", { class: "note", role: "status" }, "Choose a channel, such as admin-channel or driver-42.");
    this.number = element("p", { class: "note" });
    this.events = element("ol", { class: "log", "aria-label": "Events, the newest first", tabindex: "0" });
    this.element = element("div", {}, this.form, this.state,
      element("div", { class: "bar" }, this.pause, this.clear, this.number), this.events);
  }

  get firstField() {
    return this.channel;
  }

  show({ rest }) {
    this.#loadNames();
    if (rest && rest !== this.followed) {
      this.channel.value = rest;
      this.#follow(rest);
    }
  }

  // The log goes on while another view is visible.
  hide() {}

  onKey(key) {
    if (key === "p") this.togglePause();
  }

  async #loadNames() {
    try {
      const { channels } = await this.#gateway.get("/api/ops/channels", { limit: 200 });
      this.names.replaceChildren(...["admin-channel", "drivers-channel", ...channels.map(({ name }) => name)]
        .map((name) => element("option", { value: name })));
    } catch {
      // The names are only suggestions.
    }
  }

  #follow(name) {
    this.#leave?.();
    this.#clear();
    this.followed = name;
    this.#leave = this.#feed.subscribe(name, {
      onState: ({ kind, text }) => {
        setText(this.state, kind === "live" ? `Follows ${name}` : `${name}: ${text}`);
        setAttribute(this.state, "class", kind === "refused" ? "refused" : "note");
      },
      onEvent: (event, data, channel) => this.#receive(event, data, channel),
    });
  }

  /// Events of one frame are shown together, and no more than are kept.
  #receive(event, data, channel) {
    const text = typeof data === "string" ? data : compact(data);
    this.#received += 1;
    this.#waiting.add({ event, text, channel, at: Date.now() });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#display();
    }, 100);
  }

  #display() {
    if (!this.#isPaused) {
      const rows = this.#waiting.take().map((event) => this.#row(event));
      this.events.prepend(...rows.map(({ node }) => node).reverse());
      for (const row of rows) for (const { node } of this.#rows.add(row)) node.remove();
    }
    const { skipped, length } = this.#waiting;
    setText(this.number, `${count(this.#received)} events`
      + (this.#isPaused ? `, ${count(length)} wait` : "")
      + (skipped ? `, ${count(skipped)} came too fast to show` : ""));
  }

  /// The data is formatted only while it is open: it is the clients', and there may be a megabyte of it.
  #row({ event, text, channel, at }) {
    const data = element("pre", { title: channel });
    const details = element("details", { toggle: () => setText(data, details.open ? indented(text) : "") },
      element("summary", {}, clip(text, SUMMARY)), data);
    const time = clock(at, true);
    const node = element("li", {}, element("time", { datetime: new Date(at).toISOString() }, time), " ",
      element("strong", {}, event), " ", details);
    const row = { node, text, searched: `${time} ${event} ${text.slice(0, SEARCHED)}`.toLowerCase() };
    node.hidden = !this.#matches(row);
    return row;
  }

  #matches({ searched }) {
    return searched.includes(this.filter.value.trim().toLowerCase());
  }

  #applyFilter() {
    for (const row of this.#rows.items) row.node.hidden = !this.#matches(row);
  }

  togglePause() {
    this.#isPaused = !this.#isPaused;
    setAttribute(this.pause, "aria-pressed", String(this.#isPaused));
    setText(this.pause, this.#isPaused ? "Go on" : "Pause");
    this.#display();
  }

  #clear() {
    this.events.replaceChildren();
    [this.#waiting, this.#rows] = [new Newest(), new Newest()];
    this.#received = 0;
    this.#display();
  }
}

/// The newest events, up to a number and a length of their texts together. The newest one is kept in any case.
class Newest {
  items = [];
  skipped = 0;
  #size = 0;

  get length() {
    return this.items.length;
  }

  /// Returns the events that give way.
  add(item) {
    this.items.push(item);
    this.#size += item.text.length;
    const gone = [];
    while (this.items.length > LENGTH || (this.#size > SIZE && this.items.length > 1)) {
      gone.push(this.items.shift());
      this.#size -= gone.at(-1).text.length;
    }
    this.skipped += gone.length;
    return gone;
  }

  /// Removes all.
  take() {
    const { items } = this;
    [this.items, this.#size] = [[], 0];
    return items;
  }
}
