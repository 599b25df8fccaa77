// A connection of the Pusher protocol to the gateway (docs/protocol.md). It comes back when it is lost, and then
// subscribes again.

import { BASE } from "./gateway.js";

const SILENCE = 30_000; // milliseconds without a message, after which the feed asks whether the gateway is there
const PATIENCE = 15_000; // and until it gives up on the answer
const LONGEST_WAIT = 30_000;

/// One channel and those who listen to it.
class Channel {
  state = { kind: "waiting", text: "Waits for the connection" };
  listeners = new Set();

  constructor(name) {
    this.name = name;
  }

  get isSigned() {
    return /^(private|presence)-/.test(this.name);
  }

  tell(kind, text = "") {
    this.state = { kind, text };
    for (const listener of this.listeners) listener.onState?.(this.state);
  }
}

export class Feed {
  #gateway;
  #url;
  #onState;
  #socket = null;
  #socketId = null;
  #channels = new Map();
  #asked = []; // channels whose subscription is not answered; answers come in this order
  #failures = 0;
  #lastMessage = 0;
  #lastError = "";
  #timer = null;
  #watch = null;
  #isEnded = false;

  /// `onState({kind, text})`: `connecting`, `live`, `waiting` until it connects again, or `refused`.
  constructor(gateway, key, onState) {
    this.#gateway = gateway;
    this.#onState = onState;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.#url = `${scheme}://${location.host}${BASE}/app/${encodeURIComponent(key)}?protocol=7&client=fleetwire-console&version=1`;
    this.#watch = setInterval(() => this.#checkSilence(), 5_000);
    this.#connect();
  }

  /// Calls `listener.onEvent(name, data, channel)` and `listener.onState({kind, text})`: `waiting`, `asked`, `live` or
  /// `refused`. A plain name that needs a signature is subscribed in its private form. Returns a function that ends it.
  subscribe(name, listener) {
    const channel = this.#channelNamed(name);
    channel.listeners.add(listener);
    listener.onState?.(channel.state);
    return () => this.#leave(listener);
  }

  end() {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    this.#channels.clear();
    this.#socket?.close();
  }

  #channelNamed(name) {
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = new Channel(name);
      this.#channels.set(name, channel);
      if (this.#socketId) this.#ask(channel);
    }
    return channel;
  }

  #leave(listener) {
    for (const channel of this.#channels.values()) {
      if (!channel.listeners.delete(listener) || channel.listeners.size > 0) continue;
      this.#channels.delete(channel.name);
      if (channel.state.kind === "live") this.#send("pusher:unsubscribe", { channel: channel.name });
    }
  }

  #connect() {
    this.#onState({ kind: "connecting", text: "Connecting" });
    this.#lastMessage = performance.now();
    this.#lastError = "";
    const socket = this.#socket = new WebSocket(this.#url);
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = ({ code }) => this.#closed(code);
  }

  #closed(code) {
    this.#socketId = null;
    this.#asked = [];
    if (this.#isEnded) return;
    for (const channel of this.#channels.values()) channel.tell("waiting", "Waits for the connection");
    const reason = code === 1006 ? "The connection is lost" : `Closed with ${code}${this.#lastError && `: ${this.#lastError}`}`;
    if (code >= 4000 && code < 4100) return this.#onState({ kind: "refused", text: reason });
    const wait = code >= 4200 && this.#failures === 0 ? 500 : Math.min(1_000 * 2 ** this.#failures, LONGEST_WAIT);
    this.#failures += 1;
    this.#onState({ kind: "waiting", text: `${reason}; connects again in ${Math.ceil(wait / 1_000)} s` });
    this.#timer = setTimeout(() => this.#connect(), wait * (0.75 + Math.random() / 2));
  }

  #checkSilence() {
    const silence = performance.now() - this.#lastMessage;
    if (silence > SILENCE + PATIENCE) this.#socket?.close();
    else if (silence > SILENCE && this.#socketId) this.#send("pusher:ping", {});
  }

  #send(event, data) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ event, data }));
  }

  async #ask(channel) {
    const socketId = this.#socketId;
    let auth = {};
    channel.tell("asked", "Subscribing");
    try {
      if (channel.isSigned) auth = await this.#gateway.authorize(socketId, channel.name);
    } catch (refusal) {
      return channel.tell("refused", refusal.advice);
    }
    if (socketId !== this.#socketId || this.#channels.get(channel.name) !== channel) return;
    if (this.#asked.some(({ name }) => name === channel.name)) return;
    this.#asked.push(channel);
    this.#send("pusher:subscribe", { channel: channel.name, ...auth });
  }

  #receive({ event, channel: name, data }) {
    this.#lastMessage = performance.now();
    switch (event) {
      case "pusher:connection_established":
        this.#failures = 0;
        this.#socketId = JSON.parse(data).socket_id;
        this.#onState({ kind: "live", text: "Live" });
        for (const channel of [...this.#channels.values()]) this.#ask(channel);
        break;
      case "pusher:ping": return this.#send("pusher:pong", {});
      case "pusher:pong": break;
      case "pusher:error": return this.#refused(data?.message ?? "");
      case "pusher_internal:subscription_succeeded":
        this.#asked = this.#asked.filter((channel) => channel.name !== name);
        // Nobody listens any more, if the last one left while the subscription was not answered.
        if (this.#channels.has(name)) this.#channels.get(name).tell("live", "Live");
        else this.#send("pusher:unsubscribe", { channel: name });
        break;
      default:
        for (const listener of this.#channels.get(name)?.listeners ?? []) listener.onEvent(event, data, name);
    }
  }

  /// The gateway refuses the subscription that was asked for first, or is about to close the connection.
  #refused(message) {
    this.#lastError = message;
    const channel = this.#channels.get(this.#asked.shift()?.name);
    if (!channel) return;
    if (channel.isSigned) return channel.tell("refused", message);
    this.#channels.delete(channel.name);
    const signed = this.#channelNamed(`private-${channel.name}`);
    for (const listener of channel.listeners) {
      signed.listeners.add(listener);
      listener.onState?.(signed.state);
    }
  }
}
