// The statistics of the last five minutes, and what is wrong in them.

import { clock, closeMeaning, count, proxyMeaning, refusalMeaning, share, span } from "./format.js";

export const WINDOW = 300_000; // milliseconds
const MOST_ITEMS = 10_000; // of a list in the statistics

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const areNumbers = (value, ...names) => isObject(value) && names.every((name) => Number.isFinite(value[name]));
const isList = (value) => Array.isArray(value) && value.length <= MOST_ITEMS && value.every(isObject);
const isMap = (value, isRight) => value === undefined || (isObject(value) && Object.values(value).every(isRight));
const COUNTS = ["connections", "channels", "subscriptions", "users"];

/// Whether a value has the shape of `GET /api/ops/stats`, as far as the views use it. A sample stays for minutes, so one of
/// another shape would fail at each update of a view.
export function isStats(value) {
  return areNumbers(value, ...COUNTS, "opened", "closed", "unconfirmed", "slowConsumers")
    && areNumbers(value.messages, "sent", "received") && areNumbers(value.bytes, "sent", "received")
    && isList(value.loops) && value.loops.every((loop) => areNumbers(loop, "loop", "mailbox", "outboxBytes", "requests"))
    && isList(value.apps) && value.apps.every((app) => areNumbers(app, ...COUNTS))
    && (value.nodes === undefined || isList(value.nodes))
    && isMap(value.http, (period) => areNumbers(period, "requests", "errors", "p50Ms", "p99Ms"))
    && isMap(value.funnel, isObject) && isMap(value.perEvent, (event) => areNumbers(event, "subscribed", "none"))
    && [value.closes, value.refusedSubscriptions, value.refusedProxyHeaders].every((counts) => isMap(counts, Number.isFinite))
    && isMap(value.store, Number.isFinite) && (value.push === undefined || areNumbers(value.push, "queued"));
}

/// Statistics with the times at which they arrived. Rates are differences between neighbours.
export class History {
  samples = [];

  /// Returns false for what are no statistics, which are not kept.
  add(stats, at = Date.now()) {
    if (!isStats(stats)) return false;
    // Counters begin again with each process.
    if (this.newest && (stats.opened ?? 0) < (this.newest.opened ?? 0)) this.samples = [];
    this.samples.push({ stats, at });
    while (this.samples[0].at < at - WINDOW) this.samples.shift();
    return true;
  }

  get newest() {
    return this.samples.at(-1)?.stats;
  }

  /// How long the samples reach back, in milliseconds.
  get reach() {
    return this.samples.length ? this.samples.at(-1).at - this.samples[0].at : 0;
  }

  /// The points `{at, value}` of a gauge.
  levels(select) {
    return this.samples.map(({ stats, at }) => ({ at, value: select(stats) ?? 0 }));
  }

  /// The points of a counter's increase per second.
  rates(select) {
    return this.samples.slice(1).map(({ stats, at }, index) => {
      const before = this.samples[index];
      return { at, value: ((select(stats) ?? 0) - (select(before.stats) ?? 0)) * 1_000 / Math.max(1, at - before.at) };
    });
  }

  /// A counter's increase since the oldest sample.
  increase(select) {
    return this.samples.length < 2 ? 0 : (select(this.newest) ?? 0) - (select(this.samples[0].stats) ?? 0);
  }
}

/// Codes with which connections end in ordinary operation: closes by the peer, a gateway that stops, phones that have
/// lost their network.
const ORDINARY = new Set(["1000", "1001", "4200", "4201"]);

/// What is wrong: `{key, isBad, text, link}`, the worst first. `lanes` and `delivery` may be missing; `isNodeSilent`: a node
/// of the cluster did not answer.
export function problems(history, lanes = [], delivery = null, isNodeSilent = false) {
  const stats = history.newest;
  if (!stats) return [];
  const found = [];
  const add = (condition, isBad, key, text, link) => condition && found.push({ key, isBad, text, link });
  const lately = `in the last ${span(history.reach)}`;
  const increased = (select) => history.increase(select);

  add(isNodeSilent, true, "node", "A node of the cluster does not answer. See the log for node_lost, and NATS.");
  const refused = increased(({ store }) => store?.unavailable);
  add(refused > 0, true, "unavailable",
    `Commands that the store could not take: ${count(refused)} ${lately}. See the disk and the log.`);
  const failed = increased(({ store }) => store?.failed);
  add(failed > 0, true, "failed", `Commands that failed in the store: ${count(failed)} ${lately}. See the log.`);
  for (const lane of lanes) {
    const why = lane.lastError ? `: ${lane.lastError.reason}` : "";
    add(lane.state === "stopped", true, `lane ${lane.lane}`, `Push lane ${lane.lane} is stopped${why}`);
    const until = lane.pausedUntil ? ` until ${clock(lane.pausedUntil)}` : "";
    add(lane.state === "paused", false, `lane ${lane.lane}`, `Push lane ${lane.lane} is paused${until}${why}`);
    const wait = lane.oldestAt ? Date.now() - Date.parse(lane.oldestAt) : 0;
    add(lane.state === "running" && wait > 60_000, false, `queue ${lane.lane}`,
      `Pushes waiting in lane ${lane.lane}: ${count(lane.depth)}, the oldest for ${span(wait)}`);
  }
  const { requests = 0, errors = 0, p99Ms = 0 } = stats.http?.lastMinute ?? {};
  add(errors > 0, errors * 100 > requests && requests >= 100, "errors",
    `Failed requests: ${count(errors)} of ${count(requests)} in the last minute (${share(errors, requests)})`);
  add(p99Ms > 1_000, p99Ms > 5_000, "latency",
    `Slow requests: one in a hundred took more than ${span(p99Ms)} in the last minute`);
  for (const { loop, mailbox } of stats.loops ?? []) {
    add(mailbox > 1_024, mailbox > 8_192, `mailbox ${loop}`, `Messages waiting for event loop ${loop}: ${count(mailbox)}`);
  }
  const { writerQueue = 0 } = stats.store ?? {};
  add(writerQueue > 1_000, false, "writer", `Commands waiting for the store: ${count(writerQueue)}`);
  const unconfirmed = stats.unconfirmed ?? delivery?.unconfirmed ?? 0;
  add(unconfirmed > 0, false, "unconfirmed", `Unconfirmed notifications: ${count(unconfirmed)}`, "#notifications");
  const slow = increased(({ slowConsumers }) => slowConsumers);
  add(slow > 0, false, "slow", `Slow consumers disconnected: ${count(slow)} ${lately}`, "#connections");
  for (const code of Object.keys(stats.closes ?? {}).filter((code) => !ORDINARY.has(code))) {
    const closed = increased(({ closes }) => closes?.[code]), meaning = closeMeaning(code);
    add(closed > 0, false, `close ${code}`,
      `Connections closed with ${code}${meaning && ` (${meaning})`}: ${count(closed)} ${lately}`, "#connections");
  }
  for (const key of Object.keys(stats.refusedSubscriptions ?? {})) {
    const subscriptions = increased(({ refusedSubscriptions }) => refusedSubscriptions?.[key]);
    const [pattern, reason] = key.split(" ");
    add(subscriptions > 0, false, `refused ${key}`, `Subscriptions refused (${refusalMeaning(reason)}), `
      + `${pattern === "none" ? "channels without a rule" : `channels ${pattern}`}: ${count(subscriptions)} ${lately}`);
  }
  for (const reason of Object.keys(stats.refusedProxyHeaders ?? {})) {
    const headers = increased(({ refusedProxyHeaders }) => refusedProxyHeaders?.[reason]);
    add(headers > 0, true, `proxy ${reason}`,
      `Connections without a valid PROXY header (${proxyMeaning(reason)}): ${count(headers)} ${lately}`);
  }
  for (const outcome of ["rejected", "expired"]) {
    const pushes = increased(({ push }) => push?.[outcome]);
    add(pushes > 0, false, `push ${outcome}`, `Pushes ${outcome}: ${count(pushes)} ${lately}`);
  }
  return found.sort((a, b) => b.isBad - a.isBad);
}
