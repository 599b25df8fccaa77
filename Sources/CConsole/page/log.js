// The live log: the events of one channel as they come.

import { clock, count } from "./format.js";
import { element, field, setAttribute, setText } from "./page.js";

const LENGTH = 300; // events that are kept

export class Log {
  title = "Live log";
  #feed;
  #gateway;
  #leave = null;
  #waiting = []; // events that came while the log was paused
  #isPaused = false;
  #isScheduled = false;
  #received = 0;
  #skipped = 0;

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
      onEvent: (event, data, channel) => this.#receive({ event, data, channel, at: Date.now() }),
    });
  }

  /// Events of one frame are shown together, and no more than are kept.
  #receive(event) {
    this.#received += 1;
    this.#waiting.push(event);
    if (this.#waiting.length > LENGTH) {
      this.#waiting.shift();
      this.#skipped += 1;
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#display();
    }, 100);
  }

  #display() {
    if (!this.#isPaused) {
      this.events.prepend(...this.#waiting.reverse().map((event) => this.#row(event)));
      this.#waiting = [];
      while (this.events.childElementCount > LENGTH) this.events.lastElementChild.remove();
    }
    setText(this.number, `${count(this.#received)} events`
      + (this.#isPaused ? `, ${count(this.#waiting.length)} wait` : "")
      + (this.#skipped ? `, ${count(this.#skipped)} came too fast to show` : ""));
  }

  #row({ event, data, channel, at }) {
    const text = typeof data === "string" ? data : JSON.stringify(data) ?? "";
    const row = element("li", {}, element("time", { datetime: new Date(at).toISOString() }, clock(at, true)), " ",
      element("strong", {}, event), " ", element("details", {}, element("summary", {}, text.slice(0, 300)),
        element("pre", { title: channel }, pretty(text))));
    row.hidden = !this.#matches(row);
    return row;
  }

  #matches(row) {
    return row.textContent.toLowerCase().includes(this.filter.value.trim().toLowerCase());
  }

  #applyFilter() {
    for (const row of this.events.children) row.hidden = !this.#matches(row);
  }

  togglePause() {
    this.#isPaused = !this.#isPaused;
    setAttribute(this.pause, "aria-pressed", String(this.#isPaused));
    setText(this.pause, this.#isPaused ? "Go on" : "Pause");
    this.#display();
  }

  #clear() {
    this.events.replaceChildren();
    this.#waiting = [];
    this.#received = this.#skipped = 0;
    this.#display();
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
