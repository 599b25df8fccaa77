// The entry: sign-in, the views and their routes, and single keys. A route is `#view/rest?parameters`.

import { Feed } from "./feed.js";
import { BASE, Gateway } from "./gateway.js";
import { Channels, Connections } from "./lists.js";
import { Log } from "./log.js";
import { FleetMap } from "./map.js";
import { Notifications } from "./notifications.js";
import { Overview } from "./overview.js";
import { element, Poll, setAttribute, setText } from "./page.js";
import { History } from "./stats.js";

const STATS_CHANNEL = "private-fleetwire-ops";
const VIEWS = {
  overview: Overview, connections: Connections, channels: Channels, notifications: Notifications, log: Log, map: FleetMap,
};
const KEYS = [["1 … 6", "Views"], ["/", "The view's first field"], ["r", "Load the list again"], ["p", "Pause the live log"],
  ["f", "Show all on the map"], ["+ − arrows", "Zoom and move the map"], ["?", "These keys"]];

const part = (id) => document.getElementById(id);
let session = null;

/// What a person sees who has signed in. It ends with the token.
class Session {
  #views = new Map();
  #failures = new Map(); // by view, where its errors are shown
  #shown = null;

  constructor(token, { key, tileUrl }) {
    this.gateway = new Gateway(token, (message) => signOut(message));
    this.history = new History();
    // Where WebSockets do not pass, the figures still arrive, but less often.
    this.fallback = new Poll(5_000, () => this.#loadStats());
    this.feed = new Feed(this.gateway, key, (state) => this.#showState(state));
    this.tileUrl = tileUrl;
    this.feed.subscribe(STATS_CHANNEL, {
      onState: ({ kind, text }) => {
        if (kind === "live") this.fallback.stop();
        if (kind === "refused") this.#showState({ kind, text });
      },
      onEvent: (event, data) => event === "stats" && this.#receive(parsed(data)),
    });
    this.fallback.start();
  }

  #showState({ kind, text }) {
    setText(part("live"), text);
    setAttribute(part("live"), "class", { live: "good", refused: "bad", waiting: "warn" }[kind]);
    if (kind === "waiting" || kind === "refused") this.fallback.start();
  }

  async #loadStats() {
    try {
      this.#receive(await this.gateway.get("/api/ops/stats"));
    } catch {
      // The state of the connection tells it.
    }
  }

  #receive(stats) {
    if (this.history.add(stats)) this.#update(this.view, (view) => view.onStats?.());
  }

  /// An error of one view is shown in it, and ends nothing else.
  #update(view, update) {
    if (!view) return;
    const failure = this.#failures.get(view);
    try {
      update(view);
      setText(failure, "");
    } catch (error) {
      console.error(error);
      setText(failure, `This view cannot show what the gateway has sent: ${error.message}`);
    }
  }

  get view() {
    return this.#views.get(this.#shown);
  }

  show() {
    const [path, query = ""] = location.hash.slice(1).split("?");
    const [first, ...rest] = path.split("/");
    const name = Object.hasOwn(VIEWS, first) ? first : "overview";
    const isOther = name !== this.#shown;
    const before = this.view;
    before?.hide();
    if (isOther && before) before.element.hidden = true;
    if (!this.#views.has(name)) {
      const view = new VIEWS[name](this);
      setAttribute(view.element, "class", `view-${name}`);
      const failure = element("p", { class: "refused", role: "alert" });
      view.element.prepend(element("h1", { tabindex: "-1" }, view.title), failure);
      this.#failures.set(view, failure);
      this.#views.set(name, view);
      part("main").append(view.element);
    }
    this.#shown = name;
    this.view.element.hidden = false;
    document.title = `${this.view.title} – Fleetwire console`;
    for (const link of part("views").children) {
      setAttribute(link, "aria-current", link.hash === `#${name}` ? "page" : null);
    }
    const route = { rest: decode(rest.join("/")), parameters: new URLSearchParams(query) };
    this.#update(this.view, (view) => view.show(route));
    // The focus goes to where reading goes on, unless the page has just been opened.
    if (isOther && before) this.focus();
  }

  focus() {
    this.view.element.querySelector("h1").focus();
  }

  end() {
    this.view?.hide();
    this.fallback.stop();
    this.feed.end();
    this.gateway.end();
    for (const view of this.#views.values()) view.element.remove();
  }
}

/// Null for a text that is no JSON.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function signIn(token) {
  if (!/^[!-~]+$/.test(token)) {
    setText(part("message"), "This is no token: it has spaces or letters that tokens do not have.");
    return;
  }
  let refused;
  const trial = new Gateway(token, (message) => { refused = message; });
  setText(part("message"), "");
  part("sign-in").querySelector("button").disabled = true;
  try {
    // Of the endpoints for the role ops, the ones with figures are open on the gateway's own machine; this one is not.
    await trial.get("/api/ops/delivery");
    const response = await fetch(`${BASE}/console/config.json`, { credentials: "omit", cache: "no-store" });
    if (!response.ok) throw new Error(`The gateway answered ${response.status}`);
    session = new Session(token, await response.json());
  } catch (error) {
    const isForbidden = error.status === 403;
    setText(part("message"), refused ?? (isForbidden ? "This console is for the roles ops and admin. " : "") + error.message);
    return part("token").focus();
  } finally {
    trial.end();
    part("sign-in").querySelector("button").disabled = false;
  }
  setSignedIn(true);
  session.show();
}

function signOut(message) {
  session?.end();
  session = null;
  if (part("keys").open) part("keys").close();
  setSignedIn(false);
  document.title = "Fleetwire console";
  setText(part("message"), message);
  part("token").focus();
}

function setSignedIn(isSignedIn) {
  part("sign-in").hidden = isSignedIn;
  part("views").hidden = part("session").hidden = !isSignedIn;
}

function act(event) {
  const isTyping = event.target.closest?.("input:not([type=checkbox]), select, textarea");
  const isForBrowser = event.ctrlKey || event.altKey || event.metaKey;
  if (!session || isTyping || isForBrowser || !part("keys-on").checked || part("keys").open) return;
  const view = Object.keys(VIEWS)[Number(event.key) - 1];
  if (view) location.hash = `#${view}`;
  else if (event.key === "?") part("keys").showModal();
  else if (event.key === "/" && session.view.firstField) session.view.firstField.focus();
  else if (event.key === "r") session.view.refresh?.();
  else return session.view.onKey?.(event.key);
  event.preventDefault();
}

part("views").append(...Object.keys(VIEWS).map((name, index) => {
  const title = name === "log" ? "Live log" : name[0].toUpperCase() + name.slice(1);
  return element("a", { href: `#${name}` }, title, " ", element("kbd", { "aria-hidden": "true" }, index + 1));
}));
part("keys").querySelector("dl").append(...KEYS.map(([key, meaning]) =>
  element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, meaning))));
part("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = part("token").value.trim().replace(/^Bearer\s+/i, "");
  part("token").value = "";
  if (token) signIn(token);
});
part("sign-out").addEventListener("click", () => signOut("Signed out. The token is forgotten."));
part("help").addEventListener("click", () => part("keys").showModal());
document.addEventListener("keydown", act);
addEventListener("hashchange", () => session?.show());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash is the route
  (session ?? part("token")).focus();
});
part("token").focus();
