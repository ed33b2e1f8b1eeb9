// The page: its state, its address, the frame around every view, and the one place that draws.

import { render } from "./lit-html.js";
import { enter, follow, forget, leave, read } from "./api.js";
import { dialogView } from "./orders.js";
import { episodeView } from "./episode.js";
import { badge, html, nothing, now, page, passed, setClock, sign, span, when } from "./parts.js";
import { lang, locale, t } from "./texts.js";
import { helpView, help, listen, searches } from "./keys.js";
import { nowView, verdict } from "./now.js";
import { servicesView, serviceView } from "./services.js";
import { chipsView, chipView, faultsView, fleetView, groupsView, groupView, historyView, slotsView } from "./tables.js";

// What was read stands in it under the path that it was read by, and what was heard under the names of HEARD.
const state = {
  laneWidth: 0, limits: { episodes: 200, history: 200 },
  render: () => schedule(),
  tell(text) { state.toast = text; schedule(); setTimeout(() => { if (state.toast === text) state.tell(""); }, 6000); },
  over() { forget(); state.session = null; state.entry = t("The session is over."); schedule(); },
  more(name) { state.limits[name] *= 5; refresh(name); },
};

function routeOf() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?"), [view, id] = path.split("/");
  return { path, view, id, query: new URLSearchParams(query || "") };
}

const ALL = {
  __proto__: null, "": ["Now", nowView], services: ["Services", servicesView], chips: ["Chips", chipsView],
  faults: ["Faults", faultsView], history: ["History", historyView], slots: ["Slots", slotsView], groups: ["Groups", groupsView],
  fleet: ["Fleet", fleetView],
};
const ONE = { __proto__: null, episodes: episodeView, chips: chipView, groups: groupView, services: serviceView };
const NAMED = new Set(["groups", "services"]);

// Where no view is there is none of what is: somebody would take it for an answer.
const nowhere = ({ path }) => html`${page(t("There is no such page."))}<p><code>#/${path}</code></p>
  <p>${Object.entries(ALL).map(([to, [title]]) => html`<a href="#/${to}">${t(title)}</a> `)}</p>`;

function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

function body(route) {
  const { view, id } = route;
  if (id && ONE[view]) return ONE[view](state, NAMED.has(view) ? decoded(id) : Number(id));
  return ALL[view] && !id ? ALL[view][1](state, route) : nowhere(route);
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
  document.documentElement.lang = locale;
  if (!state.session) { render(gate(), root); return; }
  if (!state.status) { render(frame(route, html`<p class="quiet">${t("connecting")}…</p>`), root); return; }
  const found = verdict(state);
  document.title = [`${{ bad: "✕ ", warn: "! ", busy: "… " }[found.tone] || ""}${found.title}`, state.status.service.name, "cmgr"].filter(Boolean).join(" · ");
  render(frame(route, body(route)), root);
  searches(state);
  const box = document.querySelector(".lanesbox");
  if (box && Math.abs(box.clientWidth - state.laneWidth) > 1) { state.laneWidth = box.clientWidth; schedule(); }
}

function frame({ view }, shown) {
  const here = view === "episodes" ? "history" : view;
  const own = state.status?.service;
  const [other, language] = lang === "zh" ? ["en", "English"] : ["zh", "中文"];
  return html`
    <a class="skip" href="#main" @click=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>${t("Skip to content")}</a>
    <header class="top">
      <a class="brand" href="#/"><img src="/static/icon.svg" alt="" width="22" height="22"><span>cmgr</span>${own?.name && html`<span class="host">${own.name}</span>`}</a>
      <nav aria-label=${t("Main")}>${Object.entries(ALL).filter(([path]) => path !== "fleet" || state.fleet?.engine).map(([path, [title]]) => html`
        <a href="#/${path}" aria-current=${here === path ? "page" : nothing}>${t(title)}</a>`)}</nav>
      <div class="right">${liveSign()}
        <button class="quiet" aria-label=${t("Keys")} aria-keyshortcuts="?" @click=${help}>?</button>
        <a class="lang" href="?lang=${other}${location.hash}" lang=${other}>${language}</a>
        <button class="quiet" @click=${() => leave().then(state.over)}>${t("Leave")}</button></div>
    </header>
    <main id="main" tabindex="-1" class=${state.away ? "stale" : ""}>${shown}</main>
    <footer>${own && `${own.name ?? ""} · cmgr ${own.version} · ${own.driver} · ${own.runtimes.join(", ")} · ${own.strategy} · ${state.session.who}`}</footer>
    <div class="toast" role="status">${state.toast && html`<span>${sign("good")} ${state.toast}</span>`}</div>
    ${dialogView(state)}${helpView(ALL)}`;
}

// The time at which the service was heard last goes on like a clock; where it stands still, so does all that is shown.
function liveSign() {
  if (state.live && !state.away) return badge("good", t("liveAt", { at: when(state.heard + now() - Date.now()) }));
  if (!state.since) return badge("calm", t("connecting"));
  return badge("bad", t("notLive", { at: when(state.since), length: span(Math.max(1, Math.floor(passed(state.since)))) }));
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

const asking = new Map();

async function refresh(path) {
  // One at a time of each: what changes meanwhile is asked for once more, the later the longer an answer takes.
  if (asking.has(path)) { asking.set(path, true); return; }
  asking.set(path, false);
  const began = performance.now();
  const limit = state.limits[path], query = limit ? `?limit=${limit}` : path === "faults" ? "?since=90d" : "";
  try {
    const told = await read(path + query);
    state[path] = told[path === "history" ? "notes" : path] ?? told;
    if (path === "faults") state.machine = told.machine;
  } catch (refusal) {
    if (refusal.status === 401) state.over();
    if (refusal.status === 400 || refusal.status === 404) state[path] = null;
  }
  schedule();
  setTimeout(() => {
    const again = asking.get(path);
    asking.delete(path);
    if (again) refresh(path);
  }, Math.max(250, 4 * (performance.now() - began)));
}

const soon = (path) => setTimeout(() => refresh(path), 500);

const OWN = { __proto__: null, "": ["groups"], slots: ["slots"], groups: ["groups"], fleet: ["fleet"] };
function own() {
  const { view, query } = routeOf();
  OWN[view]?.forEach(refresh);
  if (view === "history" && query.get("lines") === "downtime") refresh("downtime");
}

function needed() {
  const { view, id, query } = routeOf(), code = query.get("code");
  own();
  if (view === "episodes" && id) refresh(`episodes/${Number(id)}`);
  if ((view === "history" && query.get("lines") === "all") || (view === "services" && id)) refresh("history");
  if (view === "chips" && id) refresh("series");
  if (view === "faults" && code) refresh(`explain/${encodeURIComponent(code)}`);
}

// ---- The stream. What is heard is drawn, but for what says `false`: it changes nothing that is shown.

// A recovery is shown by its first line: the picture takes a moment where many containers are stopped. One that was made before
// that line must not take it back, for so long: the clock of the service may be set back, too.
let begun = {};
function begins({ ring: id, episode, text: reason, at: since }) {
  begun = { at: since, until: performance.now() + 2000 };
  const ring = state.status?.rings.find((one) => one.id === id);
  if (ring) Object.assign(ring, { phase: "listing", reason, episode, since, deadline: null, hint: "", orders: [] });
}

const HEARD = {
  status(told) {
    if (told.at < begun.at && performance.now() < begun.until) return false;
    const before = state.status;
    state.status = told;
    state.away = null;
    state.live = true;
    setClock(told.at);
    if (before?.service.since !== told.service.since) ["episodes", "faults", "fleet"].forEach(refresh);
    if (before) own();
  },
  away(told) {
    if (!state.away) state.since = told.since;
    state.away = told;
  },
  beat() {
    state.heard = Date.now();
    if (!state.away?.silent) return false;
    state.away = null;
  },
  note(line) {
    if (line.kind === "opened") begins(line);
    if (line.kind === "opened" || line.kind === "closed") soon("episodes");
    if (line.kind === "fault") soon("faults");
    const { path } = routeOf();
    if (path === `episodes/${line.episode}`) refresh(path);
    if (state.history) state.history = [...state.history, line].slice(-state.limits.history);
    // Where no lines are shown, the picture that comes behind them must not wait for a drawing of the old one.
    return Boolean(state.history) || line.kind === "opened";
  },
  chips({ chips }) {
    state.measured = Object.fromEntries(chips.map((chip) => [chip.id, chip.measured || {}]));
    state.series = [...(state.series || []), { at: now(), chips: state.measured }].filter(({ at }) => at > now() - 3600e3);
  },
  over: () => state.over(),
};

async function watch() {
  let pause = 500;
  while (state.session) {
    try {
      const ended = follow((name, data) => { pause = 500; if (HEARD[name]?.(data) !== false) schedule(); });
      needed();
      await ended;
    } catch (refusal) {
      if (refusal.status === 401) { state.over(); return; }
    }
    if (state.live && !state.away) state.since = new Date().toISOString();
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
listen(state);
// Nothing tells of the other appliances.
setInterval(() => { if (state.fleet?.engine && !document.hidden && state.session) refresh("fleet"); }, 10_000);
setInterval(() => {
  const silent = Date.now() - state.heard;
  if (silent > 4000 && state.status && !state.away) HEARD.away({ silent, since: new Date(now() - silent).toISOString() });
  if (!document.hidden && state.session) schedule();
}, 1000);
begin();
