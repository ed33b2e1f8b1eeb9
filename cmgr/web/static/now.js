// The view of what is: is all well, what is being done about it, and how every chip and service is.

import { ago, badge, card, chipState, empty, html, keyOf, nothing, now, outcomeBadge, passed, ranges, readings, ringName, said,
  seconds, sign, span, time, toDo, took, when } from "./parts.js";
import { orderButtons } from "./orders.js";
import { t } from "./texts.js";
import { faultsPerDay, recoveryTimes } from "./plots.js";

const PHASES = ["listing", "draining", "waiting", "resetting", "verifying", "resuming"];

// What is held for a recovery that is under way, and what is wrong beside such recoveries.
const heldBack = (status) => status.containers.filter((c) => c.held && c.status !== "failed");
const inEpisode = (status) => status.rings.filter((ring) => ring.episode !== null);
function apart(status) {
  const chips = inEpisode(status).flatMap((ring) => ring.chips);
  const told = { episode: () => true, unhealthy: (about) => chips.some((n) => about === `chip ${n}`),
    down: (about) => heldBack(status).some((c) => about === keyOf(c) && c.chips.some((n) => chips.includes(n))) };
  return status.troubles.filter(({ kind, about }) => !told[kind]?.(about)).sort((a, b) => (b.severity === "critical") - (a.severity === "critical"));
}

export function verdict(state) {
  const { status, away } = state;
  if (away) return { tone: "calm", title: t("The service does not answer"), sub: status ? t("awaySub", { ago: ago(status.at) }) : "" };
  const real = apart(status);
  const grave = real.filter((trouble) => trouble.severity === "critical");
  if (grave.length) return { tone: "bad", title: grave.length > 1 ? t("wrongs", { n: grave.length }) : t("Something is wrong") };
  if (inEpisode(status).length) {
    const waiting = heldBack(status).map((c) => c.name);
    const sub = waiting.length ? `${t("recoveringSub")} ${t("downUntil", { names: waiting.join(", ") })}` : t("recoveringSub");
    return { tone: "busy", title: t("A recovery is under way"), sub };
  }
  if (status.service.state === "starting") return { tone: "busy", title: t("cmgr is starting"), sub: t("startingSub") };
  if (real.length) return { tone: "warn", title: real.length > 1 ? t("watchOuts", { n: real.length }) : t("Something needs a look") };
  const counts = { chips: status.chips.length, services: status.containers.length };
  return { tone: "good", title: t("All is well"), sub: t("wellSub", counts) };
}

export function nowView(state) {
  const { status } = state;
  return html`
    ${hero(state)}
    ${inEpisode(status).map((ring) => underWay(ring, state))}
    <div class="columns">
      <div>
        ${card(t("Rings"), status.rings.length ? html`<div class="rings">${status.rings.map((ring) => ringCard(ring, state))}</div>`
          : empty(t("No chips are known.")))}
        ${services(status, state)}
      </div>
      <aside>
        ${latest(state)}
        ${state.faults && card(t("Faults per day, 90 days"), faultsPerDay(state.faults))}
      </aside>
    </div>`;
}

function hero(state) {
  const { status } = state;
  const found = verdict(state);
  const own = status.service;
  const last = state.episodes?.find((episode) => episode.ended);
  const rows = [...apart(status), ...status.warnings.map(({ subject, text, hint }) => ({ text: `${subject}: ${text}`, hint }))];
  return html`
    <section class="hero ${found.tone}">
      <div class="mark">${sign(found.tone, 34)}</div>
      <div class="words">
        <div role="status"><h1>${found.title}</h1></div>
        ${found.sub && html`<p>${found.sub} ${found.tone === "good" && last
          ? t("lastRecovery", { length: span(last.seconds), ago: ago(last.ended) }) : ""}</p>`}
        ${own.maintenance ? html`<p>${badge("warn", t("maintenance", { at: own.maintenance_until ? when(own.maintenance_until) : "" }))} ${t("maintenanceSub")}</p>` : ""}
        ${state.session.orders ? "" : html`<p class="quiet">${t("ordersOff")}</p>`}
        ${own.observe ? html`<p>${t("observe")}</p>` : ""}
      </div>
      <div class="acts">${orderButtons(state, [["maintenance", { on: !own.maintenance }]], "quiet")}</div>
    </section>
    ${rows.length ? html`<ul class="troubles">${rows.map((row) => troubleRow(row, state))}</ul>` : ""}`;
}

// The hints of the service are commands; those that are orders become buttons.
const HINT = /cmgr (release|reset|resume|forget|acknowledge|maintenance off)\b(?: ([^\s,;]+|"[^"]*"|'[^']*'))?( --stop)?/g;

export function ordersOf(hint) {
  const found = [];
  for (const [, what, about, stop] of (hint || "").matchAll(HINT)) {
    const plain = (about || "").replace(/^["']|["']$/g, "");
    if (what === "maintenance off") found.push(["maintenance", { on: false }]);
    else if (what === "release" || what === "reset") {
      if (/^\d+$/.test(plain)) found.push([what, what === "reset" ? { chip: Number(plain), stop: Boolean(stop) } : { chip: Number(plain) }]);
    } else if (plain === "--all") found.push([what, { all: true }]);
    else if (plain && !/^[A-Z-]/.test(plain)) found.push([what, what === "acknowledge" ? { trouble: plain } : { container: plain }]);
  }
  return found;
}

function troubleRow(trouble, state) {
  const { severity = "warning" } = trouble, tone = severity === "critical" ? "bad" : "warn";
  const orders = trouble.stays ? [["acknowledge", { trouble: trouble.id }]] : ordersOf(trouble.hint);
  return html`
    <li class=${tone}>
      ${badge(tone, t(severity))}
      <div>
        <strong>${said(trouble.text)}</strong>
        <span class="why">${said(trouble.why)}</span>
        ${trouble.hint && html`<span class="hint">${toDo(trouble.hint)}</span>`}
      </div>
      <div class="acts"><span class="when">${time(trouble.since)}</span> ${orderButtons(state, orders)}</div>
    </li>`;
}

function underWay(ring, state) {
  const at = PHASES.indexOf(ring.phase);
  const name = ringName(ring.chips), gone = passed(ring.since), left = -passed(ring.deadline);
  const share = Math.min(1, Math.max(0, gone / Math.max(0.001, gone + left)));
  return html`
    <section class="card working">
      <header>
        <h2>${name}</h2>${badge("busy", t(ring.phase))}
        <a class="more" href="#/episodes/${ring.episode}">${t("showEpisode", { n: ring.episode })}</a>
      </header>
      <ol class="strip" aria-label=${t("phasesOf", { ring: name })}>
        ${PHASES.map((phase, index) => html`
          <li class=${index < at ? "done" : index === at ? "current" : ""} aria-current=${index === at ? "step" : nothing}>
            <span class="dot">${index < at ? sign("good", 12) : ""}</span>
            ${t(phase)} <span class="unseen">${t(index < at ? "done" : index === at ? "now" : "to come")}</span>
          </li>`)}
      </ol>
      <p class="reason">${said(ring.reason)}</p>
      <p class="countdown">
        <span>${t("forLength", { length: seconds(gone) })}</span>
        ${ring.deadline ? html`
          <span class="track" aria-hidden="true"><span .style=${`width:${(share * 100).toFixed(1)}%`}></span></span>
          <span>${t(left >= 0 ? "left" : "overdue", { length: seconds(left) })}</span>` : html`<span>${t("waits for an answer")}</span>`}
      </p>
      ${ring.hint && html`<p class="hint">${toDo(ring.hint)} ${orderButtons(state, ordersOf(ring.hint))}</p>`}
    </section>`;
}

function ringCard(ring, state) {
  const chips = state.status.chips.filter((chip) => chip.ring === ring.id);
  const names = [...new Set(chips.flatMap((chip) => chip.containers))];
  const busy = ring.episode !== null;
  return html`
    <section class="ring ${busy ? "busy" : ""}">
      <header><h3>${ringName(ring.chips)}</h3>
        ${badge(busy ? "busy" : "good", t(ring.phase))}</header>
      <div class="tiles">${chips.map((chip) => tile(chip, ring, state))}</div>
      <p class="users">${names.length ? names.map((name) => html`<span class="pill">${name}</span>`) : html`<span class="quiet">${t("nobody uses it")}</span>`}</p>
    </section>`;
}

function tile(chip, ring, state) {
  const [tone, key] = chipState(chip, ring);
  const m = readings(state.measured?.[chip.id]);
  const code = chip.faults[0]?.code;
  return html`
    <a class="tile ${tone}" href="#/chips/${chip.id}">
      <span class="id"><span class="unseen">${t("Chip")} </span>${chip.id}${sign(tone, 14)}</span>
      <span class="word">${t(key)}</span>
      <span class="reading">${code ? html`<span class="code">${code}</span>` : m.temperature === undefined ? "" : `${Math.round(m.temperature)} °C`}</span>
      ${m.load === undefined ? "" : html`<span class="load" title="${t("Load")} ${Math.round(m.load)} %"><span .style=${`width:${Math.max(2, m.load)}%`}></span></span>`}
    </a>`;
}

// By group, project or unit; those on their own come last.
function gathered(containers) {
  const found = new Map();
  for (const c of containers) {
    const key = ["group", "project", "unit"].find((name) => c[name]);
    const title = key ? t(key, { name: c[key] }) : "";
    found.set(title, [...(found.get(title) || []), c]);
  }
  return [...found].sort(([a], [b]) => !a - !b || a.localeCompare(b));
}

function services(status, state) {
  if (!status.containers.length) return card(t("Services"), empty(t("No service uses chips.")));
  const groups = gathered(status.containers);
  return card(t("Services"), groups.map(([title, rows]) => html`
    ${groups.length > 1 ? html`<h3 class="group">${title || t("On their own")}</h3>` : ""}
    <ul class="services">${rows.map((c) => serviceRow(c, state))}</ul>`));
}

const CONTAINER = {
  running: ["good", "running"], pausing: ["busy", "stopping"], paused: ["held", "held"], resuming: ["busy", "starting"],
  settling: ["busy", "settling"], failed: ["bad", "failed"], down: ["bad", "down"],
};
function containerBadge({ status, health }) {
  const ailing = { unhealthy: ["warn", health], starting: ["busy", health] };
  const [tone, key] = (status === "running" && ailing[health]) || CONTAINER[status] || ["calm", status];
  return badge(tone, t(key));
}

function serviceRow(c, state) {
  const orders = ordersOf(c.hint);
  const held = c.status === "failed" && !orders.length ? [["resume", { container: c.called }]] : orders;
  return html`
    <li>
      <span class="who"><strong>${c.name}</strong><span class="quiet">${t("on_chips", { chips: ranges(c.chips) || "–" })}${c.namespace ? ` · ${c.namespace}` : ""}</span></span>
      ${containerBadge(c)}
      <span class="why">${said(c.reason) || (c.since && html`<span class="quiet">${t("since", { at: when(c.since) })}</span>`)}
        ${c.warnings?.map((w) => html`<span class="warned">${sign("warn", 12)} ${said(w)}</span>`)}</span>
      <span class="acts">${orderButtons(state, held)}</span>
    </li>`;
}

function latest(state) {
  const rows = state.episodes;
  if (!rows) return "";
  const body = rows.length ? html`
    ${recoveryTimes(rows)}
    <ul class="latest">${rows.slice(0, 6).map((episode) => html`
      <li><a href="#/episodes/${episode.number}">
        <span class="n">${episode.number}</span>
        <span class="cause">${said(episode.cause)}</span>
        ${outcomeBadge(episode.outcome)}
        <span class="when">${took(episode)} · ${ago(episode.began)}</span>
      </a></li>`)}</ul>` : empty(t("noEpisodes"));
  return card(t("Recoveries"), body, html`<a class="more" href="#/history">${t("All episodes")}</a>`);
}
