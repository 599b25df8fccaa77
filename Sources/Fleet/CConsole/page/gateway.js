// The gateway's REST API, with the token of the person who has signed in.

/// The path below which the gateway is reached, such as /ws behind a proxy; empty: none. This file is in /console/.
export const BASE = new URL("..", import.meta.url).pathname.replace(/\/$/, "");

/// A request that the gateway refused, or that did not reach it (status 0).
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /// What to tell a person whose token does not permit something.
  get advice() {
    return this.status === 403 ? `This needs an admin's token. ${this.message}` : this.message;
  }
}

export class Gateway {
  #token;
  #onEnd;
  #abort = new AbortController();

  /// `onEnd(message)` is called when the gateway no longer accepts the token.
  constructor(token, onEnd) {
    this.#token = token;
    this.#onEnd = onEnd;
  }

  get isEnded() {
    return this.#abort.signal.aborted;
  }

  /// Ends all requests and forgets the token.
  end() {
    this.#token = null;
    this.#abort.abort();
  }

  /// Gets JSON. Parameters that are empty are left out.
  get(path, parameters = {}) {
    const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const query = new URLSearchParams(given).toString();
    return this.#request(query ? `${path}?${query}` : path, {});
  }

  /// The signature that permits a connection to subscribe to a channel.
  authorize(socketId, channel) {
    const body = new URLSearchParams({ socket_id: socketId, channel_name: channel });
    return this.#request("/pusher/auth", { method: "POST", body });
  }

  async #request(path, options) {
    let response, body;
    try {
      response = await fetch(BASE + path, {
        ...options, headers: { Authorization: `Bearer ${this.#token}` }, signal: this.#abort.signal,
        cache: "no-store", credentials: "omit", redirect: "error",
      });
      body = await response.json().catch(() => null);
    } catch (error) {
      throw new Refusal(0, this.isEnded ? "Signed out" : "The gateway cannot be reached");
    }
    if (response.ok && body !== null) return body;
    const refusal = new Refusal(response.status, body?.error ?? body?.message ?? `The gateway answered ${response.status}`);
    if (response.status === 401 && !this.isEnded) this.#onEnd(this.#reasonOf(response, refusal));
    throw refusal;
  }

  #reasonOf(response, refusal) {
    const hasExpired = response.headers.get("WWW-Authenticate")?.includes('error_description="expired"');
    return hasExpired ? "The token has expired. Sign in with a new one." : `The gateway refuses the token: ${refusal.message}`;
  }
}
