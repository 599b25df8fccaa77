// A driver's app in a page, without an SDK. It may lose the network, the gateway and its token at any moment. It
// connects again for ever, gets a new token when the old one is refused, repeats what had no answer, and shows once
// what comes twice.
"use strict";

const query = new URLSearchParams(location.search);
const gateway = query.get("gateway") ?? "http://127.0.0.1:6001";
const backend = query.get("backend") ?? "http://127.0.0.1:6003"; // backend.py
const key = query.get("key") ?? "key1";
const retryMs = 1000 * (query.get("retry-seconds") ?? 15);
const silenceMs = 1000 * (query.get("silence-seconds") ?? 20);
// Of each list, however long an outage lasts. What the gateway sends again is among the latest 1,000.
const keptMax = 2000;

// The gateway remembers what each device has got: a device must keep its name.
localStorage.device ??= `page-${Math.random().toString(36).slice(2)}`;

let driver, password, token, socket, retry;
let attempts = 0, isAnswering = false;
const seen = new Set(), unanswered = [];

document.getElementById("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  ({ driver, password } = Object.fromEntries(new FormData(event.target)));
  token = null;
  event.target.hidden = true;
  connect();
});

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
  const response = await fetch(gateway + path, {
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

function connect() {
  clearTimeout(retry);
  end();
  const current = (socket = new WebSocket(`${gateway.replace("http", "ws")}/app/${key}?protocol=7`));
  const send = (event, data) => current.send(JSON.stringify({ event, data }));
  const lose = (problem) => {
    if (socket !== current) return; // it has been given up
    end();
    if (!driver) return show(problem);
    // At random, so that after an outage not all pages come at the same moment.
    const pause = (0.5 + Math.random() / 2) * Math.min(retryMs, 1000 * 2 ** Math.min(attempts++, 10));
    retry = setTimeout(connect, pause);
    show(`${problem}; again in ${(pause / 1000).toFixed(1)} s`);
  };
  const watch = (isAsked) => {
    clearTimeout(current.silence);
    current.silence = setTimeout(() => {
      if (isAsked || current.readyState !== WebSocket.OPEN) return lose("The gateway does not answer");
      send("pusher:ping", {});
      watch(true);
    }, silenceMs);
  };
  current.onclose = (event) => lose(event.reason || "No connection");
  current.onmessage = async (event) => {
    watch(false);
    try {
      await receive(JSON.parse(event.data), send);
    } catch (error) {
      lose(error.message);
    }
  };
  watch(false);
}

function end() {
  clearTimeout(socket?.silence);
  socket?.close();
  socket = null;
}

async function receive(message, send) {
  const data = typeof message.data === "string" ? JSON.parse(message.data) : message.data;
  const channel = `private-driver-${driver}`;
  switch (message.event) {
    case "pusher:connection_established": {
      const who = { socket_id: data.socket_id, device_id: localStorage.device };
      send("pusher:signin", await call("/pusher/user-auth", who));
      send("pusher:subscribe", { ...await call("/pusher/auth", { ...who, channel_name: channel }), channel });
      break;
    }
    case "pusher_internal:subscription_succeeded":
      attempts = 0;
      show(`Subscribed to ${channel}`);
      break;
    case "pusher:ping":
      send("pusher:pong", {});
      break;
    case "pusher:error":
      throw new Error(data.message);
    case "job-assigned":
      if (seen.has(data.notificationId)) break;
      seen.add(data.notificationId);
      if (seen.size > keptMax) seen.delete(seen.values().next().value);
      showJob(data);
      answer();
  }
}

/** Shows a job, and notes what the gateway is to know of it. */
function showJob(job) {
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
      await new Promise((resolve) => setTimeout(resolve, retryMs * (0.5 + Math.random() / 2)));
    }
  }
  isAnswering = false;
}

function show(text) {
  document.getElementById("status").textContent = text;
}

// Chromium loses what a page has not read when it is frozen, and a phone's network comes back at some moment.
for (const [target, name] of [[document, "freeze"], [window, "pagehide"]]) target.addEventListener(name, end);
for (const [target, name] of [[document, "resume"], [window, "pageshow"], [window, "online"]]) {
  target.addEventListener(name, () => driver && connect());
}
