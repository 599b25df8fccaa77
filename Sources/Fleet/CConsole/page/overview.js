// The overview: what is wrong first, then the figures.

import { Chart } from "./chart.js";
import { age, bytes, clock, closeMeaning, count, rate, share, span } from "./format.js";
import { element, List, Poll, setAttribute, setText, Table } from "./page.js";
import { problems } from "./stats.js";

const FUNNEL = ["created", "pushed", "received", "viewed", "accepted", "dismissed"];
const sum = (loops, name) => (loops ?? []).reduce((total, loop) => total + (loop[name] ?? 0), 0);

export class Overview {
  title = "Overview";
  #history;
  #poll;
  #lanes = [];
  #delivery = null;
  #nodes = []; // of the cluster, as of the last answer
  #nodesAt = 0;
  #isNodeSilent = false;
  #announced = "";

  constructor({ gateway, history }) {
    this.#history = history;
    this.#poll = new Poll(5_000, () => this.#load(gateway));
    this.#makeProblems();
    this.#makeCharts();
    this.#makeTables();
    this.element = element("div", {}, this.wrong,
      element("h2", {}, "Now"), this.levels,
      element("div", { class: "charts" }, Object.values(this.charts).map((chart) => chart.element)),
      element("h2", {}, "Notifications"), this.funnel.element, this.deliveryNote, this.lanes.element,
      this.cluster, element("h2", {}, "Gateway"),
      element("div", { class: "pair" }, this.http.element, this.closes.element, this.loops.element, this.apps.element,
        this.events.element));
  }

  show() {
    this.#poll.start();
    this.onStats();
  }

  hide() {
    this.#poll.stop();
  }

  async #load(gateway) {
    try {
      [{ lanes: this.#lanes }, this.#delivery] = await Promise.all(
        [gateway.get("/api/ops/push"), gateway.get("/api/ops/delivery")]);
    } catch {
      return; // the state of the connection tells it
    }
    await this.#loadNodes(gateway);
    this.lanes.show(this.#lanes);
    const { created, confirmed, acknowledged, p50Ms, p99Ms } = this.#delivery;
    setText(this.deliveryNote, `Guaranteed delivery in the last hour: ${count(created)} created, ${count(confirmed)} confirmed, `
      + `${count(acknowledged)} acknowledged; confirmed after ${span(p50Ms ?? NaN)} (half), ${span(p99Ms ?? NaN)} (99 %).`);
    this.#showProblems();
  }

  /// The nodes of the cluster. A gateway that is none has no list.
  async #loadNodes(gateway) {
    try {
      const { nodes = [] } = await gateway.get("/api/ops/stats", { cluster: true });
      this.#showNodes(nodes, performance.now());
      this.#isNodeSilent = false;
    } catch ({ status }) {
      this.#isNodeSilent = status === 503;
    }
  }

  #showNodes(nodes, at) {
    const before = new Map(this.#nodes.map((node) => [node.node, node])), seconds = (at - this.#nodesAt) / 1_000;
    const perSecond = (node, name) => before.has(node.node) && node[name] >= before.get(node.node)[name]
      ? rate((node[name] - before.get(node.node)[name]) / seconds) : "";
    this.cluster.hidden = nodes.length === 0;
    this.nodes.show(nodes.map((node) => ({ ...node, received: perSecond(node, "messagesReceived"),
      sent: perSecond(node, "messagesSent"), requested: perSecond(node, "requests") })));
    const [own] = this.#history.newest?.nodes ?? [];
    setText(this.clusterNote, own ? `All other figures of this page are those of ${own.node}, which answers it.` : "");
    [this.#nodes, this.#nodesAt] = [nodes, at];
  }

  onStats() {
    if (!this.#history.newest) return;
    this.#showProblems();
    this.#showCharts();
    this.#showTables();
  }

  // What is wrong

  #makeProblems() {
    const list = element("ul", { class: "problems", role: "list" });
    this.problems = new List(list, ({ key }) => key, () => {
      const text = element("span"), link = element("a", {}, "Show");
      return { node: element("li", {}, text, " ", link), update: (problem) => {
        setText(text, problem.text);
        setAttribute(text.parentNode, "class", problem.isBad ? "bad" : "warn");
        setAttribute(link, "href", problem.link);
        link.hidden = !problem.link;
      } };
    });
    this.verdict = element("h2", { class: "verdict" }, "Waits for the first figures");
    // Speaks when a problem comes or goes, not when its number changes.
    this.spoken = element("p", { class: "unseen", role: "status" });
    this.wrong = element("section", { class: "wrong", "aria-label": "What is wrong" }, this.verdict, list, this.spoken);
  }

  #showProblems() {
    if (!this.#history.newest) return;
    const found = problems(this.#history, this.#lanes, this.#delivery, this.#isNodeSilent);
    this.problems.show(found);
    const verdict = found.length === 0 ? "Nothing is wrong"
      : found.length === 1 ? "1 thing is wrong" : `${found.length} things are wrong`;
    setText(this.verdict, verdict);
    setAttribute(this.verdict, "class", `verdict ${found.length === 0 ? "good" : found[0].isBad ? "bad" : "warn"}`);
    const keys = found.map(({ key }) => key).join();
    if (keys !== this.#announced) setText(this.spoken, [verdict, ...found.map(({ text }) => text)].join(". "));
    this.#announced = keys;
  }

  // Charts

  #makeCharts() {
    this.levels = element("dl", { class: "levels" });
    this.level = Object.fromEntries(
      ["Connections", "Channels", "Subscriptions", "Users", "Unconfirmed", "Pushes queued", "Bytes queued"].map((name) => {
        const value = element("dd", {}, "–");
        this.levels.append(element("div", {}, element("dt", {}, name), value));
        return [name, value];
      }));
    this.charts = {
      connections: new Chart("Connections", ["open"], count),
      flow: new Chart("Connections per second", ["opened", "closed"], rate),
      messages: new Chart("Messages per second", ["sent", "received"], rate),
      bytes: new Chart("Bytes per second", ["sent", "received"], bytes),
      requests: new Chart("Requests per second", ["requests"], rate),
      latency: new Chart("Latency of requests", ["p99", "p50"], span),
    };
  }

  #showCharts() {
    const history = this.#history, stats = history.newest, level = this.level;
    setText(level.Connections, count(stats.connections));
    setText(level.Channels, count(stats.channels));
    setText(level.Subscriptions, count(stats.subscriptions));
    setText(level.Users, count(stats.users));
    setText(level.Unconfirmed, count(stats.unconfirmed));
    setText(level["Pushes queued"], count(stats.push?.queued));
    setText(level["Bytes queued"], bytes(sum(stats.loops, "outboxBytes")));
    const { lastMinute = {} } = stats.http ?? {};
    this.charts.connections.show([history.levels(({ connections }) => connections)]);
    this.charts.flow.show([history.rates(({ opened }) => opened), history.rates(({ closed }) => closed)],
      `${count(stats.opened)} opened, ${count(stats.closed)} closed since the start`);
    this.charts.messages.show(
      [history.rates(({ messages }) => messages.sent), history.rates(({ messages }) => messages.received)]);
    this.charts.bytes.show([history.rates(({ bytes }) => bytes.sent), history.rates(({ bytes }) => bytes.received)]);
    this.charts.requests.show([history.rates(({ loops }) => sum(loops, "requests"))],
      `${count(lastMinute.errors)} of ${count(lastMinute.requests)} failed in the last minute`);
    this.charts.latency.show(
      [history.levels(({ http }) => http?.lastMinute.p99Ms), history.levels(({ http }) => http?.lastMinute.p50Ms)],
      "over the last minute");
  }

  // Tables

  #makeTables() {
    const number = (title, name) => ({ title, isNumber: true, text: (item) => count(item[name]) });
    this.funnel = new Table("From created to accepted", [
      { title: "Notifications", text: ({ period }) => period },
      ...FUNNEL.map((step) => ({ title: step, isNumber: true, text: (item) => count(item[step]) })),
      ...[["received", "pushed"], ["viewed", "received"], ["accepted", "viewed"]].map(([step, before]) => ({
        title: `${step} of ${before}`, isNumber: true, text: (item) => share(item[step], item[before]) })),
    ], ({ period }) => period);
    this.deliveryNote = element("p", { class: "note" });
    this.lanes = new Table("Push lanes", [
      { title: "Lane", text: ({ lane }) => lane },
      { title: "State", text: ({ state }) => state,
        mark: ({ state }) => ({ running: "good", paused: "warn", stopped: "bad" })[state] },
      { title: "Paused until", isOptional: true, text: ({ pausedUntil }) => pausedUntil ? clock(pausedUntil) : "" },
      number("Queued", "depth"), number("In flight", "inFlight"),
      { title: "Oldest", isNumber: true, text: ({ oldestAt }) => oldestAt ? age(oldestAt) : "" },
      { title: "Last accepted", isNumber: true, text: ({ lastAcceptedAt }) => lastAcceptedAt ? clock(lastAcceptedAt) : "" },
      { title: "Last error", text: ({ lastError }) => lastError ? `${clock(lastError.at)} ${lastError.reason}` : "" },
    ], ({ lane }) => lane);
    this.nodes = new Table("Nodes", [
      { title: "Node", text: ({ node }) => node }, number("Connections", "connections"), number("Channels", "channels"),
      number("Subscriptions", "subscriptions"), number("Users", "users"),
      ...[["Received per second", "received"], ["Sent per second", "sent"], ["Requests per second", "requested"]].map(
        ([title, name]) => ({ title, isNumber: true, text: (node) => node[name] })),
      { title: "Queued", isNumber: true, text: ({ outboxBytes }) => bytes(outboxBytes) },
      number("Store queue", "storeQueue"),
    ], ({ node }) => node);
    this.clusterNote = element("p", { class: "note" });
    this.cluster = element("section", { hidden: true }, element("h2", {}, "Cluster"), this.nodes.element, this.clusterNote);
    this.http = new Table("HTTP requests", [
      { title: "Requests", text: ({ period }) => period },
      number("Number", "requests"), { title: "Failed", isNumber: true, text: ({ errors }) => count(errors),
        mark: ({ errors }) => errors > 0 && "warn" },
      { title: "p50", isNumber: true, text: ({ p50Ms }) => span(p50Ms) },
      { title: "p99", isNumber: true, text: ({ p99Ms }) => span(p99Ms) },
    ], ({ period }) => period);
    this.closes = new Table("Closes by the gateway", [
      { title: "Code", text: ({ code }) => code },
      { title: "Meaning", text: ({ code }) => closeMeaning(code) },
      number("Last 5 min", "recent"), number("Since the start", "total"),
    ], ({ code }) => code);
    this.loops = new Table("Event loops", [
      { title: "Loop", text: ({ loop }) => loop }, number("Connections", "connections"),
      { title: "Queued", isNumber: true, text: ({ outboxBytes }) => bytes(outboxBytes) },
      { title: "Mailbox", isNumber: true, text: ({ mailbox }) => count(mailbox),
        mark: ({ mailbox }) => mailbox > 1_024 && "warn" },
    ], ({ loop }) => loop);
    this.apps = new Table("Applications", [
      { title: "Id", text: ({ id }) => id }, number("Connections", "connections"), number("Channels", "channels"),
      number("Subscriptions", "subscriptions"), number("Users", "users"),
    ], ({ id }) => id);
    this.events = new Table("Events of the fleet since the start", [
      { title: "Event", text: ({ name }) => name }, number("With subscribers", "subscribed"), number("Without", "none"),
    ], ({ name }) => name);
  }

  #showTables() {
    const stats = this.#history.newest;
    const { funnel = {}, http = {}, closes = {}, perEvent = {} } = stats;
    this.funnel.show([["15 minutes", funnel.last15Minutes], ["hour", funnel.lastHour], ["day", funnel.lastDay]]
      .filter(([, counts]) => counts).map(([period, counts]) => ({ period: `Last ${period}`, ...counts })));
    this.http.show([["minute", http.lastMinute], ["15 minutes", http.last15Minutes]]
      .filter(([, figures]) => figures).map(([period, figures]) => ({ period: `Last ${period}`, ...figures })));
    this.closes.show(Object.entries(closes).map(([code, total]) => ({
      code, total, recent: this.#history.increase((stats) => stats.closes?.[code]) })));
    this.loops.show(stats.loops);
    this.apps.show(stats.apps);
    this.events.show(Object.entries(perEvent).map(([name, counts]) => ({ name, ...counts }))
      .sort((a, b) => b.none + b.subscribed - a.none - a.subscribed));
  }
}
