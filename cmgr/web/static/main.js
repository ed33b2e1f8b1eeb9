// The page: its state, its address, the frame around every view, and the one place that draws.

import { render } from "./lit-html.js";
import { enter, follow, forget, leave, read } from "./api.js";
import { dialogView } from "./orders.js";
import { episodeView } from "./episode.js";
import { html, nothing, now, setClock, sign, when } from "./parts.js";
import { lang, t } from "./texts.js";
import { nowView, verdict } from "./now.js";
import { chipsView, chipView, faultsView, groupsView, groupView, historyView, slotsView } from "./tables.js";

const HOUR_MS = 3600e3;

// What was read stands in it under the names of PATHS or its own path, and what was heard under those of HEARD.
const state = {
  series: {}, laneWidth: 0, limits: { episodes: 200, lines: 200 },
  render: () => schedule(),
  tell(text) { state.toast = text; schedule(); setTimeout(() => { if (state.toast === text) state.tell(""); }, 6000); },
  over() { forget(); state.session = null; state.entry = t("The session is over."); schedule(); },
  more(name) { state.limits[name] *= 5; refresh(name); },
};

function routeOf() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path, query: new URLSearchParams(query || "") };
}

const VIEWS = [["", "Now"], ["history", "History"], ["faults", "Faults"], ["chips", "Chips"], ["slots", "Slots"], ["groups", "Groups"]];

const ALL = { __proto__: null, history: historyView, faults: faultsView, chips: chipsView, slots: slotsView, groups: groupsView };
const ONE = { __proto__: null, episodes: episodeView, chips: chipView, groups: groupView };

// Anybody can type anything there.
function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

function view(route) {
  const [name, id] = route.path.split("/");
  if (id && ONE[name]) return ONE[name](state, name === "groups" ? decoded(id) : Number(id));
  return (ALL[name] || nowView)(state, route);
}

// ---- Drawing. Many things happen at once in a storm: it is drawn once a frame.

let due = false;
function schedule() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; draw(); });
}

const root = document.getElementById("page");

function draw() {
  const route = routeOf();
  document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
  if (!state.session) { render(gate(), root); return; }
  if (!state.status) { render(frame(route, html`<p class="quiet">${t("connecting")}…</p>`), root); return; }
  const found = verdict(state);
  document.title = `${{ bad: "✕ ", warn: "! ", busy: "… ", good: "", calm: "" }[found.tone]}${found.title} · cmgr`;
  render(frame(route, view(route)), root);
  const box = document.querySelector(".lanesbox");
  if (box && Math.abs(box.clientWidth - state.laneWidth) > 1) { state.laneWidth = box.clientWidth; schedule(); }
}

function frame(route, body) {
  const here = route.path.split("/")[0];
  const current = here === "episodes" ? "history" : here;
  const own = state.status?.service;
  const other = new URL(location.href);
  other.searchParams.set("lang", lang === "zh" ? "en" : "zh");
  return html`
    <a class="skip" href="#main" @click=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>${t("Skip to content")}</a>
    <header class="top">
      <a class="brand" href="#/"><img src="/static/icon.svg" alt="" width="22" height="22"><span>cmgr</span></a>
      <nav aria-label=${t("Main")}>${VIEWS.map(([path, title]) => html`
        <a href="#/${path}" aria-current=${current === path ? "page" : nothing}>${t(title)}</a>`)}</nav>
      <div class="right">${liveSign()}
        <a class="lang" href="${other.search}${location.hash}" lang=${lang === "zh" ? "en" : "zh-CN"}>${lang === "zh" ? "English" : "中文"}</a>
        <button class="quiet" @click=${async () => { await leave(); state.over(); }}>${t("Leave")}</button></div>
    </header>
    <main id="main" tabindex="-1" class=${state.away ? "stale" : ""}>${body}</main>
    <footer>${own && `cmgr ${own.version} · ${own.driver} · ${own.runtimes.join(", ")} · ${own.strategy} · ${state.session.who}`}</footer>
    <div class="toast" role="status">${state.toast && html`<span>${sign("good")} ${state.toast}</span>`}</div>
    ${dialogView(state)}`;
}

function liveSign() {
  const [tone, text] = state.live && !state.away ? ["good", t("live")] : state.since
    ? ["bad", t("notLive", { at: when(state.since) })] : ["calm", t("connecting")];
  return html`<span class="live ${tone}"><span class="dot" aria-hidden="true"></span>${text}</span>`;
}

function gate() {
  document.title = "cmgr";
  if (state.entry === undefined) return nothing;
  return html`<main id="main" class="gate">
    <img src="/static/icon.svg" alt="" width="56" height="56">
    <h1>${t("Open the page with a link")}</h1>
    ${state.entry && html`<p role="status">${state.entry}</p>`}
    <p>${t("enterText")}</p>
    <pre tabindex="0"><code>cmgr web</code></pre>
    <p class="quiet">${t("enterWhy")}</p></main>`;
}

// ---- Readings. Each is asked for when something says that it has changed.

const PATHS = { episodes: "episodes?limit=", lines: "history?limit=", faults: "faults?since=90d", slots: "slots", groups: "groups", fleet: "fleet" };
// What stands on a view of its own is read while that is looked at.
const OWN = { __proto__: null, slots: ["slots"], groups: ["groups", "fleet"] };
const own = (view) => (OWN[view] || []).forEach(refresh);
const asking = new Map();

async function refresh(name) {
  // One at a time of each: what changes meanwhile is asked for once more.
  if (asking.has(name)) { asking.set(name, true); return; }
  asking.set(name, false);
  const status = await asked((PATHS[name] ?? name) + (state.limits[name] ?? ""), (told) => { state[name] = told[name === "lines" ? "notes" : name] ?? told; });
  if (status === 400 || status === 404) state[name] = null;
  const again = asking.get(name);
  asking.delete(name);
  if (again) setTimeout(() => refresh(name), 250);
}

// After the picture that is on its way.
const soon = (name) => setTimeout(() => refresh(name), 500);

async function needed() {
  const { path, query } = routeOf();
  const [name, id] = path.split("/");
  if (name === "episodes" && id) refresh(`episodes/${Number(id)}`);
  own(name);
  if (name === "history" && query.get("lines") === "all") refresh("lines");
  if (name === "chips" && id && !state.told) {
    state.told = true;
    // What was measured before this page was opened.
    await asked("series", ({ series }) => series.forEach((point) => measured(point.at, point.chips)));
  }
  if (name === "faults" && query.get("code")) refresh(`explain/${encodeURIComponent(query.get("code"))}`);
}

// Reads, and hands over what is told; returns the status of a refusal.
async function asked(path, taken) {
  try {
    taken(await read(path));
  } catch (refusal) {
    if (refusal.status === 401) state.over();
    return refusal.status;
  } finally { schedule(); }
}

function measured(at, chips) {
  for (const [id, values] of Object.entries(chips)) {
    const points = (state.series[id] ??= []);
    points.push({ at, measured: values });
    points.sort((a, b) => a.at - b.at);
    while (points[0].at < at - HOUR_MS) points.shift();
  }
}

// ---- The stream. What is heard is drawn, but for what says `false`: it changes nothing that is shown.

// A recovery is shown by its first line: a service that stops many containers needs a moment for the picture. One that was
// made before that line must not take it back; the clock of the service may be set back, too, hence the bound.
let begun = {};
function begins({ ring: id, episode, text: reason, at: since }) {
  begun = { at: since, until: performance.now() + 2000 };
  const ring = state.status?.rings.find((one) => one.id === id);
  if (ring) Object.assign(ring, { phase: "listing", reason, episode, since, deadline: null, hint: "" });
}

const HEARD = {
  status(told) {
    if (told.at < begun.at && performance.now() < begun.until) return false;
    const before = state.status;
    state.status = told;
    state.away = null;
    state.live = true;
    setClock(told.at);
    if (!before || before.service.since !== told.service.since) for (const name of ["episodes", "faults"]) refresh(name);
    if (before) own(routeOf().path.split("/")[0]);
  },
  away(told) {
    if (!state.away) state.since = new Date().toISOString();
    state.away = told;
  },
  note(line) {
    if (line.kind === "opened") begins(line);
    if (line.kind === "opened" || line.kind === "closed") soon("episodes");
    if (line.kind === "fault") soon("faults");
    if (state.lines) state.lines = [...state.lines, line].slice(-state.limits.lines);
    if (routeOf().path === `episodes/${line.episode}`) refresh(routeOf().path);
    // Where no lines are shown, the picture that comes behind them must not wait for a drawing of the old one.
    return Boolean(state.lines) || line.kind === "opened";
  },
  chips({ chips }) {
    state.measured = Object.fromEntries(chips.map((chip) => [chip.id, chip.measured || {}]));
    measured(now(), state.measured);
  },
  over: () => state.over(),
};

async function watch() {
  let pause = 500;
  while (state.session) {
    try {
      const ended = follow((name, data) => { pause = 500; if (HEARD[name]?.(data) !== false) schedule(); });
      // What was said while nobody listened is read anew.
      needed();
      await ended;
    } catch (refusal) {
      if (refusal.status === 401) { state.over(); return; }
    }
    if (state.live) state.since = new Date().toISOString();
    state.live = false;
    schedule();
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 8000);
  }
}

async function begin() {
  try {
    state.session = await enter();
  } catch (refusal) {
    state.entry = refusal.message.startsWith("HTTP") ? "" : refusal.message;
    schedule();
    return;
  }
  watch();
}

addEventListener("hashchange", () => {
  if (new URLSearchParams(location.hash.slice(1)).has("t")) { begin(); return; }
  needed();
  schedule();
  scrollTo(0, 0);
});
addEventListener("resize", schedule);
setInterval(() => { if (!document.hidden && state.session) schedule(); }, 1000);
begin();
