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

export function span(seconds) {
  const s = Math.max(0, seconds);
  if (s < 1) return t("ms", { n: Math.round(s * 1000) });
  if (s < 10) return t("s", { n: s.toFixed(1) });
  if (s < 60) return t("s", { n: Math.round(s) });
  const pair = (n, big, rest, small) => t(big, { n }) + (rest ? ` ${t(small, { n: rest })}` : "");
  const minutes = Math.floor(s / 60), hours = Math.floor(s / 3600);
  if (hours < 1) return pair(minutes, "min", minutes < 10 ? Math.round(s - minutes * 60) % 60 : 0, "s");
  if (hours < 24) return pair(hours, "h", minutes - hours * 60, "min");
  return pair(Math.floor(hours / 24), "d", hours % 24, "h");
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

export function ranges(numbers) {
  const found = [];
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && last[1] === n - 1) last[1] = n;
    else found.push([n, n]);
  }
  return found.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ");
}

// What the service says, in its own language.
export const said = (text) => (text && lang !== "en" ? html`<span lang="en">${text}</span>` : text);

// A hint of the service's, with the commands in it set apart.
export const advice = (hint) => html`<span lang="en">${hint.split(/((?:cmgr|systemctl|journalctl) [^;,:]+)/).map((part, n) => (n % 2 ? html`<code>${part}</code>` : part))}</span>`;
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

export function chipState(chip, ring) {
  if (chip.isolated) return ["warn", "isolated"];
  if (["resetting", "verifying"].includes(ring?.phase)) return ["busy", "in a reset"];
  if (!chip.healthy) return ["bad", chip.faults.length ? "faulty" : "not well"];
  return ["good", "well"];
}

const OUTCOME = { recovered: "good", cleared: "good", isolated: "warn", failed: "bad", "under way": "busy" };
export const outcomeBadge = (outcome) => badge(OUTCOME[outcome] || "calm", t(outcome));

// Measurements have many names; the page shows these four where there are any.
const first = (m, names) => names.map((name) => m?.[name]).find((value) => typeof value === "number");
export function readings(m) {
  return {
    temperature: first(m, ["temperature_celsius", "chip_celsius"]),
    load: first(m, ["aicore_percent", "ai_core_percent", "gpu_percent", "npu_percent", "utilisation_percent"]),
    memory: first(m, ["hbm_used_megabytes", "memory_used_megabytes", "ddr_used_megabytes"]),
    memoryAll: first(m, ["hbm_megabytes", "memory_megabytes", "ddr_megabytes"]),
    power: first(m, ["power_watts"]),
  };
}
