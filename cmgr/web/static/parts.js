// Small parts that every view is made of: times, numbers, signs, badges.

import { html, svg, nothing } from "./lit-html.js";
import { lang, locale, t } from "./texts.js";

export { html, svg, nothing };

// The service's clock, not the browser's: set with each picture.
let skew = 0;
export const setClock = (at) => { skew = Date.parse(at) - Date.now(); };
export const now = () => Date.now() + skew;

const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
export const day = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" });
const whole = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

export function when(at) {
  const moment = new Date(at);
  const today = Math.abs(now() - moment) < 12 * 3600e3;
  return today ? clock.format(moment) : `${day.format(moment)}, ${clock.format(moment)}`;
}

export const time = (at) => (at ? html`<time datetime=${at} title=${whole.format(new Date(at))}>${when(at)}</time>` : nothing);

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
export function span(seconds) {
  if (seconds < 1) return t("ms", { n: Math.round(Math.max(0, seconds) * 1000) });
  if (seconds < 10) return t("s", { n: seconds.toFixed(1) });
  const s = Math.round(seconds) || 0, at = UNITS.findIndex(([, length]) => s >= length);
  const [unit, length] = UNITS.at(at), [small, part] = UNITS[at + 1] || ["s", Infinity], n = Math.floor(s / length);
  const rest = small === "s" && n >= 10 ? 0 : Math.floor((s % length) / part);
  return t(unit, { n }) + (rest ? ` ${t(small, { n: rest })}` : "");
}

// Counts down and up in whole seconds: a text that changes ten times a second cannot be read.
export const seconds = (n) => span(Math.abs(n) < 60 ? Math.ceil(Math.abs(n) - 0.5) || 1 : Math.abs(n));

export const passed = (since) => (now() - Date.parse(since)) / 1000;

export function ago(at) {
  const length = passed(at);
  return length < 5 ? t("just now") : t("ago", { length: span(length < 60 ? Math.floor(length) : length) });
}

export const took = (episode) => (episode.ended ? span(episode.seconds) : t("tookSoFar", { length: seconds(passed(episode.began)) }));

export const keyOf = (c) => `${c.runtime}/${c.namespace}/${c.id}`;

// Runs of numbers that follow each other, each with its first and last.
export function runs(numbers) {
  const found = [];
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && last[1] === n - 1) last[1] = n;
    else found.push([n, n]);
  }
  return found;
}

export const ranges = (numbers) => runs(numbers).map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ");

// What the service says, in the page's language or in English; the times in it as they are here.
const STAMP = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;
const local = (text) => text.replace(STAMP, (at) => when(at));
const isForeign = (text) => lang !== "en" && !/\p{Script=Han}/u.test(text);
const spoken = (text, shown) => (isForeign(text) ? html`<span lang="en">${shown}</span>` : shown);
export const said = (text) => text && spoken(text, local(text));

// A hint of the service's, with the commands in it set apart: each ends at a sign, or where Chinese goes on.
const COMMAND = /((?:cmgr|systemctl|journalctl) [^;,:\u2e80-\uffef]+)/;
export const advice = (hint) => spoken(hint, local(hint).split(COMMAND).map((part, n) => (n % 2 ? html`<code>${part}</code>` : part)));
export const toDo = (hint) => html`<span class="label">${t("What to do")}</span> ${advice(hint)}`;

// Signs beside words: colour alone says nothing to many.
const PATHS = {
  good: "M3.5 8.5l3 3 6-7",
  bad: "M4 4l8 8M12 4l-8 8",
  warn: "M8 3v6M8 12.2v.3",
  busy: "M12.6 6.2A5 5 0 1 0 13 8M13 3v3.5H9.5",
  calm: "M3.5 8h9",
  held: "M5.5 4v8M10.5 4v8",
  info: "M8 7.2V12M8 4v.3",
};
export const sign = (name, size = 16) =>
  svg`<svg class="sign" viewBox="0 0 16 16" width=${size} height=${size} aria-hidden="true"><path d=${PATHS[name]}></path></svg>`;

export const badge = (tone, text) => html`<span class="badge ${tone}">${sign(tone, 12)}${text}</span>`;

export const ringName = (chips) => t("ring", { chips: ranges(chips) });

export const card = (title, body, more = nothing) => html`
  <section class="card">
    <header><h2>${title}</h2>${more}</header>
    ${body}
  </section>`;

export const page = (title, ...body) => html`<section class="title"><h1>${title}</h1>${body}</section>`;

export const empty = (text) => html`<p class="empty">${text}</p>`;

// The tone of each word, whatever it tells of: a phase, chip, container, appliance, fault, line or outcome.
const TONES = {
  well: "good", healthy: "good", running: "good", ready: "good", resuming: "good", recovered: "good", cleared: "good", closed: "good", result: "good", "at home": "good",
  draining: "warn", unhealthy: "warn", degraded: "warn", isolated: "warn", isolation: "warn", warning: "warn",
  RestartRequest: "warn", RestartBusiness: "warn", FreeRestartNPU: "warn",
  resetting: "bad", reset: "bad", faulty: "bad", "not well": "bad", "not serving": "bad", failed: "bad", down: "bad", away: "bad", hangs: "bad", active: "bad", fault: "bad", critical: "bad",
  "lost in the reset": "bad", RestartNPU: "bad", SeparateNPU: "bad",
  verifying: "busy", "in a reset": "busy", stopping: "busy", starting: "busy", settling: "busy", halting: "busy", opened: "busy", action: "busy", "under way": "busy",
  waiting: "held", held: "held", halted: "held", hold: "held", phase: "info",
};
export const toneOf = (name) => TONES[name] || "calm";
export const word = (name) => badge(toneOf(name), t(name));

export function chipState(chip, ring) {
  if (chip.isolated) return "isolated";
  if (["resetting", "verifying"].includes(ring?.phase)) return "in a reset";
  return chip.healthy ? "well" : chip.faults.length ? "faulty" : "not well";
}

// Measurements have many names; the page shows these where there are any.
const MEASURED = {
  temperature: ["temperature_celsius", "chip_celsius"],
  load: ["aicore_percent", "ai_core_percent", "gpu_percent", "npu_percent", "utilisation_percent"],
  memory: ["hbm_used_megabytes", "memory_used_megabytes", "ddr_used_megabytes"],
  memoryAll: ["hbm_megabytes", "memory_megabytes", "ddr_megabytes"],
  power: ["power_watts"],
};
export const readings = (m = {}) => Object.fromEntries(Object.entries(MEASURED).map(([name, keys]) =>
  [name, keys.map((key) => m[key]).find((value) => typeof value === "number")]));
