// The page of driver.js with pusher-js, a stock Pusher SDK. pusher-js connects again by itself. What it does not do is
// here: the page authorizes each subscription with a token that is valid then, subscribes again when that failed, repeats
// what had no answer, and shows once what comes twice.
"use strict";

const query = new URLSearchParams(location.search);
const gateway = new URL(query.get("gateway") ?? "http://127.0.0.1:6001");
const backend = query.get("backend") ?? "http://127.0.0.1:6003"; // backend.py
const key = query.get("key") ?? "key1";
const retryMs = 1000 * (query.get("retry-seconds") ?? 15);
const silenceMs = 1000 * (query.get("silence-seconds") ?? 20);
// Of each list, however long an outage lasts. What the gateway sends again is among the latest 1,000.
const keptMax = 2000;

// The gateway remembers what each device has got: a device must keep its name.
localStorage.device ??= `page-${Math.random().toString(36).slice(2)}`;

let driver, password, token, pusher;
let isAnswering = false;
const seen = new Set(), unanswered = [];

document.getElementById("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  ({ driver, password } = Object.fromEntries(new FormData(event.target)));
  token = null;
  event.target.hidden = true;
  listen();
});

function listen() {
  pusher?.disconnect();
  const isSecure = gateway.protocol === "https:";
  const port = Number(gateway.port) || (isSecure ? 443 : 80);
  pusher = new Pusher(key, {
    wsHost: gateway.hostname, wsPort: port, wssPort: port, forceTLS: isSecure, enabledTransports: ["ws", "wss"],
    cluster: "", enableStats: false,
    // By default, pusher-js notices a dead network after two and a half minutes.
    activityTimeout: silenceMs, pongTimeout: silenceMs / 2,
    // pusher-js asks at each connection.
    channelAuthorization: { customHandler: authorize },
  });
  const name = `private-driver-${driver}`;
  const channel = pusher.subscribe(name);
  channel.bind("pusher:subscription_succeeded", () => {
    show(`Subscribed to ${name}`);
    answer();
  });
  // pusher-js does not repeat a subscription that was not authorized. At random, so that after an outage not all pages
  // come at the same moment.
  channel.bind("pusher:subscription_error", (error) => {
    show(error.error ?? "Not subscribed");
    if (driver) setTimeout((client) => client === pusher && client.subscribe(name), pause(), pusher);
  });
  channel.bind("job-assigned", receive);
  pusher.connection.bind("state_change", ({ current }) => show(`The connection is ${current}`));
  // During an outage, the pauses of pusher-js grow to a minute.
  pusher.connection.bind("unavailable", () => setTimeout((client) => {
    if (client !== pusher || client.connection.state !== "unavailable") return;
    client.disconnect();
    client.connect();
  }, pause(), pusher));
  // Versions before 8.2 stay `failed` after two connections that were lost within four minutes.
  pusher.connection.bind("failed", () => setTimeout((client) => client === pusher && listen(), pause(), pusher));
}

const pause = () => retryMs * (0.5 + Math.random() / 2);

function authorize({ socketId, channelName }, done) {
  call("/pusher/auth", { socket_id: socketId, channel_name: channelName, device_id: localStorage.device })
    .then((grant) => done(null, grant), (error) => done(error, null));
}

async function newToken() {
  const headers = { Authorization: `Basic ${btoa(`${driver}:${password}`)}` };
  const response = await fetch(`${backend}/token`, { method: "POST", headers, signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  if (response.ok) return text;
  if (response.status === 401) {
    driver = null; // who has to sign in again
    document.getElementById("sign-in").hidden = false;
  }
  throw new Error(text);
}

/** Makes a request; if the token is refused, once more with a new one. */
async function call(path, body, mayBeExpired = true) {
  token ??= await newToken();
  const response = await fetch(gateway.origin + path, {
    method: "POST", body: JSON.stringify(body), signal: AbortSignal.timeout(10_000),
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
  });
  if (response.status === 401) {
    token = null;
    if (mayBeExpired) return call(path, body, false);
  }
  if (response.ok) return response.json();
  const error = new Error(`${path}: ${response.status} ${await response.text()}`);
  throw Object.assign(error, { isFinal: [400, 403, 404, 409].includes(response.status) });
}

/** Shows a job once, and notes what the gateway is to know of it. */
function receive(job) {
  if (seen.has(job.notificationId)) return;
  seen.add(job.notificationId);
  if (seen.size > keptMax) seen.delete(seen.values().next().value);
  const item = document.createElement("li");
  item.textContent = job.bookingReference;
  const list = document.getElementById("jobs");
  list.append(item);
  if (list.children.length > keptMax) list.firstChild.remove();
  unanswered.push(["/api/driver/notifications/log", {
    notificationId: job.notificationId, type: "new_job", entityId: job.bookingId,
    event: "received", timestamp: new Date().toISOString(),
  }]);
  // Your app asks the driver.
  unanswered.push([`/api/driver/jobs/${encodeURIComponent(job.bookingId)}/accept`, {}]);
  // The oldest jobs are over by then.
  unanswered.splice(0, unanswered.length - keptMax);
  answer();
}

/** Tells the gateway, until it has answered everything. */
async function answer() {
  if (isAnswering) return;
  isAnswering = true;
  while (unanswered.length) {
    const request = unanswered.shift();
    try {
      const { message } = await call(...request);
      if (message) show(message);
    } catch (error) {
      show(error.message);
      if (error.isFinal) continue;
      unanswered.unshift(request);
      await new Promise((resolve) => setTimeout(resolve, pause()));
    }
  }
  isAnswering = false;
}

function show(text) {
  document.getElementById("status").textContent = text;
}

// Chromium loses what a page has not read when it is frozen.
for (const [target, left, back] of [[document, "freeze", "resume"], [window, "pagehide", "pageshow"]]) {
  target.addEventListener(left, () => pusher?.disconnect());
  target.addEventListener(back, () => driver && pusher?.connect());
}
