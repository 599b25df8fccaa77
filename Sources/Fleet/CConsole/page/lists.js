// The lists of connections and channels.

import { age, bytes, clock, count } from "./format.js";
import { element, field, MOST_ROWS, Poll, setText, Table } from "./page.js";

const PAGE = 100;
const PERIOD = 5_000;

/// A list from the gateway with filters. It loads itself again while it is visible.
class Listing {
  #request = 0;

  constructor(gateway, table, filters, note) {
    Object.assign(this, { gateway, table });
    this.poll = new Poll(PERIOD, () => this.load());
    this.status = element("p", { class: "note" });
    this.refused = element("p", { class: "refused", role: "alert" });
    this.form = element("form", { class: "filters", role: "search", submit: (event) => {
      event.preventDefault();
      this.changed();
    } }, filters, element("button", { class: "primary" }, "Show"));
    this.element = element("div", {}, this.form, element("p", { class: "note" }, note), this.refused, this.status, table.element);
  }

  get firstField() {
    return this.form.querySelector("input");
  }

  hide() {
    this.poll.stop();
  }

  refresh() {
    this.poll.start();
  }

  /// Gets a list. The answers to earlier requests are dropped, because they may arrive later.
  async fetch(path, parameters) {
    const request = this.#request += 1;
    try {
      const answer = await this.gateway.get(path, parameters);
      if (request !== this.#request) return null;
      setText(this.refused, "");
      return answer;
    } catch (refusal) {
      if (request === this.#request) setText(this.refused, refusal.advice);
      return null;
    }
  }
}

export class Connections extends Listing {
  title = "Connections";
  #connections = [];
  #next; // where the next page begins; undefined at the end
  #isExtended = false; // with older pages: then the list stays as it is
  #isCut = false; // without the newest ones, which have given way to older pages

  constructor({ gateway }) {
    const channel = element("input", { autocomplete: "off" }), user = element("input", { autocomplete: "off" });
    const order = element("select", { change: () => this.#show() },
      element("option", { value: "wrong" }, "What is wrong first"), element("option", { value: "new" }, "Newest first"));
    super(gateway, new Table("Connections", [
      { title: "Socket", text: ({ socketId }) => socketId },
      { title: "User", text: ({ user }) => user ?? "" },
      { title: "Queued", isNumber: true, text: ({ outboxBytes }) => bytes(outboxBytes),
        mark: ({ outboxBytes }) => outboxBytes > 65_536 && "warn" },
      { title: "Silent for", isNumber: true, text: ({ lastSeenAt }) => age(lastSeenAt), hint: ({ lastSeenAt }) => lastSeenAt },
      { title: "Open for", isNumber: true, text: ({ since }) => age(since), hint: ({ since }) => since },
      { title: "Channels", text: ({ channels, channelCount }) => some(channels, channelCount ?? channels.length),
        hint: ({ channels }) => channels.join("\n") },
      { title: "Address", text: ({ address }) => address ?? "" },
      { title: "App", text: ({ app }) => app },
      { title: "Node", isOptional: true, text: ({ node }) => node ?? "" },
      { title: "Loop", isNumber: true, text: ({ loop }) => loop },
    ], ({ socketId }) => socketId, "No connection matches"),
    [field("Channel", channel), field("User", user), field("Order", order)],
    "Queued bytes wait because the client does not read. Silence is the time since anything arrived from the client.");
    this.fields = { channel, user, order };
    this.more = element("button", { type: "button", hidden: true, click: () => this.#loadMore() }, "Load older connections");
    this.element.append(this.more);
  }

  show({ parameters }) {
    this.fields.channel.value = parameters.get("channel") ?? "";
    this.fields.user.value = parameters.get("user") ?? "";
    this.refresh();
  }

  changed() {
    const given = new URLSearchParams(this.#filters().filter(([, value]) => value));
    const hash = `#connections${given.size ? `?${given}` : ""}`;
    if (location.hash === hash) this.refresh();
    else location.hash = hash;
  }

  refresh() {
    this.#isExtended = this.#isCut = false;
    super.refresh();
  }

  #filters() {
    return [["channel", this.fields.channel.value.trim()], ["user", this.fields.user.value.trim()]];
  }

  /// A page of the connections; in a cluster, of those of all nodes.
  #page(before) {
    return this.fetch("/api/ops/connections",
      { ...Object.fromEntries(this.#filters()), limit: PAGE, cluster: true, before });
  }

  async load() {
    if (this.#isExtended) return;
    const answer = await this.#page();
    if (!answer || this.#isExtended) return;
    this.#connections = answer.connections;
    this.#next = answer.next;
    this.#show();
  }

  async #loadMore() {
    this.#isExtended = true;
    const answer = await this.#page(this.#next);
    if (!answer) return;
    const all = [...this.#connections, ...answer.connections];
    this.#isCut ||= all.length > MOST_ROWS;
    this.#connections = all.slice(-MOST_ROWS);
    this.#next = answer.next;
    this.#show();
  }

  #show() {
    const isWrongFirst = this.fields.order.value === "wrong";
    this.table.show(isWrongFirst ? [...this.#connections].sort((a, b) =>
      b.outboxBytes - a.outboxBytes || Date.parse(a.lastSeenAt) - Date.parse(b.lastSeenAt)) : this.#connections);
    this.more.hidden = !this.#next;
    const which = this.#isCut ? ", older ones" : this.#next ? ", the newest ones" : "";
    setText(this.status, `${count(this.#connections.length)} connections${which}`
      + (this.#isExtended ? `, as of ${clock(Date.now())}` : ""));
  }
}

/// The first names of a list, and the number of the others. `total`: the list may have been cut.
function some(names, total) {
  return total <= 3 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${count(total - 3)} more`;
}

export class Channels extends Listing {
  title = "Channels";

  constructor({ gateway }) {
    const prefix = element("input", { autocomplete: "off" });
    super(gateway, new Table("Channels", [
      { title: "Name", text: ({ name }) => name, link: ({ name }) => `#log/${encodeURIComponent(name)}`,
        hint: () => "Show its events" },
      { title: "Subscriptions", isNumber: true, text: ({ subscriptions }) => count(subscriptions) },
      { title: "Users", isNumber: true, text: ({ users }) => users === undefined || users === null ? "" : count(users) },
      { title: "Events, last 5 min", isNumber: true, text: ({ eventsLast5Minutes }) => count(eventsLast5Minutes) },
      { title: "Who", text: () => "Connections", link: ({ name }) => `#connections?channel=${encodeURIComponent(name)}` },
      { title: "App", text: ({ app }) => app },
    ], ({ app, name }) => `${app} ${name}`, "No channel matches"), [field("Name begins with", prefix)],
    "The channels with the most events first. A name opens its live log.");
    this.prefix = prefix;
  }

  show({ parameters }) {
    this.prefix.value = parameters.get("prefix") ?? "";
    this.refresh();
  }

  changed() {
    const prefix = this.prefix.value.trim();
    const hash = `#channels${prefix ? `?prefix=${encodeURIComponent(prefix)}` : ""}`;
    if (location.hash === hash) this.refresh();
    else location.hash = hash;
  }

  async load() {
    const answer = await this.fetch("/api/ops/channels", { prefix: this.prefix.value.trim(), limit: 200 });
    if (!answer) return;
    const load = ({ eventsLast5Minutes = 0, subscriptions }) => eventsLast5Minutes * 1e6 + subscriptions;
    this.table.show([...answer.channels].sort((a, b) => load(b) - load(a)));
    setText(this.status, `${count(answer.channels.length)} channels`);
  }
}
