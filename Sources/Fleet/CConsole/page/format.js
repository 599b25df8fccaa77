// Numbers, sizes and times as texts.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fraction = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const count = (number) => Number.isFinite(number) ? whole.format(number) : "–";

/// A number per second: with one decimal while it is small.
export const rate = (number) =>
  !Number.isFinite(number) ? "–" : number === 0 || number >= 100 ? whole.format(number) : fraction.format(number);

export function share(part, all) {
  return all > 0 ? `${fraction.format((100 * part) / all)} %` : "–";
}

export function bytes(number) {
  if (!Number.isFinite(number)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let index = 0;
  for (; number >= 1000 && index < units.length - 1; index += 1) number /= 1000;
  return `${index === 0 || number >= 100 ? whole.format(number) : fraction.format(number)} ${units[index]}`;
}

/// A span of milliseconds: its two largest units.
export function span(milliseconds) {
  if (!Number.isFinite(milliseconds)) return "–";
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${fraction.format(Math.floor(ms / 100) / 10)} s`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/// How long ago a time of the gateway is, in whole seconds.
export function age(time, now = Date.now()) {
  const ms = now - Date.parse(time);
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : span(ms);
}

/// A time of the gateway, or a number of milliseconds, on this machine's clock; with the date unless it is today.
export function clock(time, withMilliseconds = false) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "–";
  const pad = (number, width = 2) => String(number).padStart(width, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const text = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return (date.toDateString() === new Date().toDateString() ? "" : `${day} `) + text
    + (withMilliseconds ? `.${pad(date.getMilliseconds(), 3)}` : "");
}

/// The beginning of a text; an ellipsis stands for the rest.
export function clip(text, most) {
  return text.length <= most ? text : `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/// A text with an escape, such as `\u{202e}`, for each character that is not shown but changes how others are: control and
/// format characters (such as bidirectional marks), line and paragraph separators. The command line writes the same.
/// `withLines`: line feeds stay.
export function visible(text, withLines = false) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    withLines && character === "\n" ? character : `\\u{${character.codePointAt(0).toString(16)}}`);
}

const LONGEST_JSON = 1 << 20; // characters of a text that is read as JSON
const LONGEST_TEXT = 1 << 16; // and of what is shown of it
const DEEPEST = 20; // levels of indentation
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s"[\]{},:]+/g;

/// JSON with a line for each member; another text as it is; of both the beginning. Clients may send thousands of nested
/// arrays: if each level were indented, their text would grow with the square of the depth.
export function indented(text) {
  if (!isJSON(text)) return clip(text, LONGEST_TEXT);
  let result = "", depth = 0, isOpen = false;
  const line = () => `\n${"  ".repeat(Math.min(depth, DEEPEST))}`;
  for (const [token] of text.matchAll(TOKENS)) {
    const isEnd = token === "]" || token === "}";
    if (isEnd) depth -= 1;
    result += isOpen === isEnd ? token : line() + token;
    isOpen = token === "[" || token === "{";
    if (isOpen) depth += 1;
    if (token === ",") result += line();
    if (token === ":") result += " ";
    if (result.length > LONGEST_TEXT) return clip(result, LONGEST_TEXT);
  }
  return result;
}

function isJSON(text) {
  if (text.length > LONGEST_JSON) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/// A value as JSON on one line. The browser refuses values that are nested too deep.
export function compact(value) {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(nested too deep to be shown)";
  }
}

/// What a close code of the gateway means.
const CLOSES = {
  1000: "normal", 1001: "going away", 1002: "protocol error", 1003: "binary message", 1007: "invalid UTF-8",
  1009: "message too large", 1011: "internal error", 4000: "requires TLS", 4001: "unknown key", 4003: "application disabled",
  4004: "too many connections", 4005: "unknown path", 4006: "invalid protocol", 4007: "unsupported protocol",
  4008: "no protocol", 4009: "not permitted", 4100: "over capacity", 4200: "gateway stops", 4201: "no answer to a ping",
};

export const closeMeaning = (code) => CLOSES[code] ?? "";

/// Why the gateway refuses subscriptions.
const REFUSALS = {
  invalid_name: "invalid name", malformed: "malformed request", missing_auth: "no signature", other_key: "another app's key",
  signature: "invalid signature", member: "invalid member data", other_user: "another user's channel",
  not_signed_in: "not signed in", forbidden: "not permitted", ended: "no longer permitted", members: "channel full",
  limit: "limit reached", rate: "too many per second",
};

export const refusalMeaning = (reason) => REFUSALS[reason] ?? reason;

/// Why it refuses connections of load balancers.
const PROXIES = {
  untrusted_peer: "peer not in server.trusted_proxies", missing: "no header", version_1: "version 1", invalid: "malformed",
};

export const proxyMeaning = (reason) => PROXIES[reason] ?? reason;
