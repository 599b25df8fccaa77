// Notifications: those that are unconfirmed, a search, and the timeline of one.

import { age, clip, clock, compact, count, indented, span } from "./format.js";
import { element, field, List, MOST_ROWS, Poll, setAttribute, setText, setTexts, Table } from "./page.js";

const PAGE = 50;
const PERIOD = 5_000;
const LONGEST = 2_000; // characters of what a step says
const STATES = ["unconfirmed", "created", "written", "confirmed", "acknowledged", "expired", "all"];
const MARKS = { confirmed: "good", acknowledged: "good", expired: "none" };
const BAD_STEPS = new Set(["push_failed", "push_rejected", "push_expired"]);

const link = (id) => `#notifications/${encodeURIComponent(id)}`;

export class Notifications {
  title = "Notifications";
  #gateway;
  #poll = null;
  #round = 0;

  constructor({ gateway }) {
    this.#gateway = gateway;
    this.#makeSearch();
    this.#makeList();
    this.timeline = new Timeline();
    this.refused = element("p", { class: "refused", role: "alert" });
    this.element = element("div", {}, this.search, this.refused, this.list, this.timeline.element);
  }

  get firstField() {
    return this.fields.value;
  }

  /// Shows the timeline of the route's notification, or the list that its parameters describe.
  show({ rest, parameters }) {
    this.hide();
    setText(this.refused, "");
    this.list.hidden = rest !== "";
    this.timeline.element.hidden = rest === "";
    if (rest) this.#showTimeline(rest);
    else this.#showList(parameters);
  }

  hide() {
    this.#poll?.stop();
    this.#round += 1;
  }

  refresh() {
    this.#poll?.start();
  }

  /// Gets JSON. Nil if the view shows something else by now, or the gateway refuses.
  async #get(path, parameters) {
    const round = this.#round;
    try {
      const answer = await this.#gateway.get(path, parameters);
      if (round !== this.#round) return null;
      setText(this.refused, "");
      return answer;
    } catch (refusal) {
      if (round === this.#round) setText(this.refused, refusal.advice);
      return null;
    }
  }

  #makeSearch() {
    const kind = element("select", {}, element("option", { value: "order" }, "Order code"),
      element("option", { value: "driver" }, "Driver id"), element("option", { value: "id" }, "Notification id"));
    const value = element("input", { autocomplete: "off", spellcheck: "false", required: true });
    this.fields = { kind, value };
    this.search = element("form", { class: "filters", role: "search", submit: (event) => {
      event.preventDefault();
      const text = encodeURIComponent(value.value.trim());
      if (text) location.hash = kind.value === "id" ? `#notifications/${text}` : `#notifications?${kind.value}=${text}`;
    } }, field("Search by", kind), field("Value", value), element("button", { class: "primary" }, "Search"));
  }

  #makeList() {
    this.state = element("select", { change: () => this.#changed() },
      STATES.map((state) => element("option", { value: state }, state)));
    this.channel = element("input", { autocomplete: "off", change: () => this.#changed() });
    this.filters = element("form", { class: "filters", submit: (event) => {
      event.preventDefault();
      this.#changed();
    } }, field("State", this.state), field("Channel", this.channel));
    this.heading = element("h2");
    this.table = new Table("Notifications", [
      { title: "Created", text: ({ createdAt }) => clock(createdAt), hint: ({ createdAt }) => createdAt },
      { title: "Event", text: ({ event }) => event, link: ({ id }) => link(id), hint: () => "Show its timeline" },
      { title: "Channel", text: ({ channel }) => channel },
      { title: "State", text: ({ state }) => state, mark: ({ state }) => MARKS[state] },
      { title: "Confirmed after", isNumber: true, text: ({ createdAt, confirmedAt }) =>
        confirmedAt ? span(Date.parse(confirmedAt) - Date.parse(createdAt)) : "" },
      { title: "Age", isNumber: true, text: ({ createdAt }) => age(createdAt) },
      { title: "Caused by", texts: ({ actor, action }) => [actor, action].filter(Boolean) },
    ], ({ id }) => id, "No notification matches");
    this.status = element("p", { class: "note" });
    this.more = element("button", { type: "button", hidden: true, click: () => this.#loadMore() }, "Load older notifications");
    this.list = element("div", {}, this.heading, this.filters, this.status, this.table.element, this.more);
  }

  #changed() {
    const given = [["state", this.state.value], ["channel", this.channel.value.trim()]].filter(([, value]) => value);
    location.hash = `#notifications?${new URLSearchParams(given)}`;
  }

  #showList(parameters) {
    const order = parameters.get("order"), driver = parameters.get("driver");
    const state = STATES.includes(parameters.get("state")) ? parameters.get("state") : "unconfirmed";
    this.filters.hidden = Boolean(order || driver);
    this.state.value = state;
    this.channel.value = parameters.get("channel") ?? "";
    if (order || driver) {
      this.fields.kind.value = order ? "order" : "driver";
      this.fields.value.value = order ?? driver;
    }
    setText(this.heading, order ? `Notifications of order ${order}` : driver ? `Notifications to driver ${driver}`
      : state === "all" ? "All notifications" : `Notifications: ${state}`);
    this.query = order ? { order } : driver ? { driver }
      : { state: state === "all" ? "" : state, channel: this.channel.value };
    this.shown = [];
    this.isExtended = false;
    this.#display([]);
    this.#poll = new Poll(PERIOD, async () => {
      if (this.isExtended) return;
      const answer = await this.#get("/api/ops/notifications", { ...this.query, limit: PAGE });
      if (answer && !this.isExtended) this.#display(answer.notifications, answer.notifications.length === PAGE);
    });
    this.#poll.start();
  }

  async #loadMore() {
    this.isExtended = true; // from now on the list stays as it is
    const before = this.shown.at(-1)?.id;
    const answer = await this.#get("/api/ops/notifications", { ...this.query, limit: PAGE, before });
    if (answer) this.#display([...this.shown, ...answer.notifications], answer.notifications.length === PAGE);
  }

  /// The newest ones give way to older pages.
  #display(notifications, mayHaveMore = false) {
    this.isCut = this.isExtended && (this.isCut || notifications.length > MOST_ROWS);
    this.shown = notifications.slice(-MOST_ROWS);
    this.table.show(this.shown);
    this.more.hidden = !mayHaveMore;
    const which = this.isCut ? ", older ones" : mayHaveMore ? ", the newest ones" : "";
    setText(this.status, `${count(this.shown.length)} notifications${which}`);
  }

  #showTimeline(id) {
    this.fields.kind.value = "id";
    this.fields.value.value = id;
    this.timeline.clear(id);
    this.#poll = new Poll(2_000, async () => {
      const answer = await this.#get(`/api/ops/notifications/${encodeURIComponent(id)}`);
      if (answer) this.timeline.show(answer);
    });
    this.#poll.start();
  }
}

/// A notification's steps with their times, and the time between them.
class Timeline {
  constructor() {
    this.heading = element("h2");
    this.facts = element("dl", { class: "facts" });
    this.steps = element("ol", { class: "timeline" });
    this.none = element("p", { class: "empty" });
    this.data = element("pre");
    this.element = element("section", { hidden: true },
      element("p", {}, element("a", { href: "#notifications" }, "All unconfirmed")),
      this.heading, this.facts, this.steps, this.none, element("details", {}, element("summary", {}, "Data"), this.data));
    this.list = new List(this.steps, (step) => step.key, () => new Step());
  }

  clear(id) {
    this.list.show([]);
    this.facts.replaceChildren();
    this.shown = "";
    setText(this.heading, id);
    setText(this.none, "");
    setText(this.data, "");
  }

  show({ notification, steps }) {
    const text = compact(notification);
    if (text !== this.shown) this.#showFacts(notification);
    this.shown = text;
    setText(this.none, steps.length === 0 ? "The gateway knows no step of this id"
      : steps.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${count(steps.length)} steps` : "");
    const start = steps.length ? Date.parse(steps[0].at) : 0;
    this.list.show(steps.slice(0, MOST_ROWS).map((step, index) => ({
      ...step, key: index, sinceStart: Date.parse(step.at) - start,
      sinceBefore: index === 0 ? null : Date.parse(step.at) - Date.parse(steps[index - 1].at),
    })));
  }

  #showFacts(notification) {
    if (!notification) {
      this.facts.replaceChildren(element("div", {}, element("dt", {}, "Notification"),
        element("dd", {}, "Not in the gateway's log; an app reported this id")));
      return;
    }
    const { event, channel, state, createdAt, expiresAt, readAt } = notification;
    const { actor, action, correlationId, collapseKey, sequence } = notification;
    setText(this.heading, event);
    const cause = element("span"), causes = [actor, action].filter(Boolean);
    setTexts(cause, causes);
    this.facts.replaceChildren(...Object.entries({
      Id: notification.id, Channel: channel, State: state, Created: clock(createdAt, true), Expires: clock(expiresAt),
      "Caused by": causes.length > 0 && cause, "Read": readAt ? clock(readAt) : "", "Sequence": count(sequence),
      "Collapse key": collapseKey, "Correlation id": correlationId,
    }).filter(([, value]) => value).map(([name, value]) => element("div", {}, element("dt", {}, name),
      element("dd", { class: name === "State" && MARKS[state] }, value))));
    setText(this.data, indented(compact(notification.data)));
  }
}

class Step {
  constructor() {
    this.name = element("strong");
    this.time = element("time");
    this.after = element("span", { class: "after" });
    this.more = element("p", { class: "note" });
    this.node = element("li", {}, this.after, element("div", {}, this.name, " ", this.time, this.more));
  }

  update({ step, at, by, device, toldAt, detail, sinceStart, sinceBefore }) {
    setText(this.name, step);
    setAttribute(this.node, "class", BAD_STEPS.has(step) ? "bad" : step === "push_cancelled" ? "none" : null);
    setText(this.time, clock(at, true));
    setAttribute(this.time, "datetime", at);
    setText(this.after, sinceBefore === null ? "0" : `+${span(sinceBefore)}`);
    setAttribute(this.after, "title", `${span(sinceStart)} after the first step`);
    const details = Object.entries(detail ?? {}).map(([name, value]) =>
      `${name} ${typeof value === "object" ? compact(value) : value}`);
    const more = [by, device && `device ${device}`, toldAt && `told ${toldAt}`, ...details].filter(Boolean).join(" · ");
    setText(this.more, clip(more, LONGEST));
  }
}
