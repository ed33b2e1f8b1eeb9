// The view of what is: is all well, what is being done about it, and how every chip and service is.

import { ago, badge, card, chipState, empty, html, keyOf, nothing, passed, readings, ringName, said, seconds, sign, span, time, toDo,
  toneOf, took, when, word } from "./parts.js";
import { heatMap } from "./heat.js";
import { orderButtons } from "./orders.js";
import { servicesNow } from "./services.js";
import { table } from "./tables.js";
import { t } from "./texts.js";
import { faultsPerDay, recoveryTimes } from "./plots.js";

const PHASES = ["listing", "draining", "waiting", "resetting", "verifying", "resuming"];
// More chips than that are a heat map, more names than that a number, more troubles than that folded.
const MOST_TILES = 16, MOST_NAMES = 3, MOST_TROUBLES = 12;

// What is held for a recovery that is under way, and what is wrong beside such recoveries: each thing once, with all that is
// said of it. In maintenance, and where it only observes, cmgr recovers nothing.
const heldBack = (status) => status.containers.filter((c) => c.held && c.status !== "failed");
const inEpisode = (status) => status.rings.filter((ring) => ring.episode !== null);
const recovering = (status) => (status.service.maintenance || status.service.observe ? [] : inEpisode(status));
function apart(status) {
  const under = recovering(status), chips = under.flatMap((ring) => ring.chips);
  if (!under.length) return status.troubles;
  const told = { episode: () => true, unhealthy: (about) => chips.some((n) => about === `chip ${n}`),
    down: (about) => heldBack(status).some((c) => about === keyOf(c) && c.chips.some((n) => chips.includes(n))) };
  return status.troubles.filter(({ kind, about }) => !told[kind]?.(about));
}

function waits(status) {
  const names = heldBack(status).map((c) => c.name), shown = names.slice(0, MOST_NAMES).join(", "), n = names.length - MOST_NAMES;
  return n > 0 ? t("downUntilMany", { held: names.length, all: status.containers.length, names: shown, n }) : names.length ? t("downUntil", { names: shown }) : "";
}

export function verdict(state) {
  const { status, away } = state;
  if (away) return { tone: "calm", title: t("The service does not answer"), sub: t("awaySub", { ago: ago(state.since) }) };
  const { maintenance, state: how } = status.service, under = recovering(status).length, real = apart(status);
  const isGrave = ({ kind, severity }) => severity === "critical" && !(kind === "service" && how === "starting");
  const tone = real.some(isGrave) ? "bad" : under || how === "starting" ? "busy" : real.length ? "warn" : maintenance ? "held" : "good";
  const recovery = under && t(under > 1 ? "recoveries" : "A recovery is under way", { n: under });
  // A service that was not restarted after an update does not tell the first line yet.
  const [worst, ...more] = status.headline ?? status.troubles.map(({ text }) => text);
  const what = worst ? more.length ? t("worstAndMore", { worst, n: more.length }) : worst : recovery || t(maintenance ? "nothing is wrong" : "All is well");
  const sub = under ? `${t("recoveringSub", { recovery })} ${waits(status)}`
    : tone === "good" && !status.warnings.length ? t("wellSub", { chips: status.chips.length, services: status.containers.length }) : "";
  return { tone, title: maintenance ? t("inMaintenance", { what }) : what, sub };
}

export function nowView(state) {
  const { status } = state;
  const rings = () => html`<div class="rings">${status.rings.map((ring) => ringCard(ring, state))}</div>`;
  return html`
    ${hero(state)}
    ${others(state)}
    <div class="workings">${inEpisode(status).map((ring) => underWay(ring, state))}</div>
    <div class="columns">
      <div>
        ${status.chips.length > MOST_TILES ? card(t("Chips"), heatMap(state), html`<a class="more" href="#/chips">${t("As a list")}</a>`)
          : card(t("Rings"), status.rings.length ? rings() : empty(t("noChips")))}
        ${servicesNow(state)}
      </div>
      <aside>
        ${latest(state)}
        ${rounds(state.groups || [])}
        ${state.faults?.length ? card(t("Faults per day, 90 days"), faultsPerDay(state.faults)) : ""}
      </aside>
    </div>`;
}

function hero(state) {
  const { status } = state;
  const found = verdict(state);
  const own = status.service;
  const last = state.episodes?.find((episode) => episode.ended);
  const rows = [...apart(status), ...status.warnings.map(({ subject, text, ...more }) => ({ ...more, text: `${subject}: ${text}` }))];
  return html`
    <section class="hero ${found.tone}">
      <div class="mark">${sign(found.tone, 28)}</div>
      <div class="words">
        <div role="status"><h1>${said(found.title)}</h1></div>
        ${found.sub && html`<p>${found.sub} ${found.tone === "good" && last
          ? t("lastRecovery", { length: span(last.seconds), ago: ago(last.ended) }) : ""}</p>`}
        ${own.maintenance ? html`<p>${badge("warn", t("maintenance", { at: own.maintenance_until ? when(own.maintenance_until) : "" }))} ${t("maintenanceSub")}</p>` : ""}
        ${state.session.orders ? "" : html`<p class="quiet">${t("ordersOff")}</p>`}
        ${own.observe ? html`<p>${t("observe")}</p>` : ""}
        ${spent(status.downtime)}
      </div>
      <div class="acts">${orderButtons(state, [{ do: "maintenance", args: { on: !own.maintenance } }])}</div>
    </section>
    ${rows.length ? troubles(rows, state) : ""}`;
}

function spent(told) {
  if (!told || Math.max(told.minutes, told.unseen_minutes) < 1) return "";
  const [minutes, recovered, unseen] = [told.minutes, told.recovery_minutes, told.unseen_minutes].map((n) => n.toFixed(0));
  return html`<p class="quiet"><a href="#/history?lines=downtime">${t("downtime", { quarter: told.quarter, minutes, recovered })}</a>
    ${told.unseen_minutes ? t("unseenOf", { minutes: unseen }) : ""}</p>`;
}

const listOf = (name, rows, state) => table(name, rows, rows.some(({ orders }) => orders?.length) ? "Level Text Order Since" : "Level Text Since", {
  Level: ({ severity = "warning" }) => word(severity),
  Text: ({ text, why, hint }) => html`<strong>${said(text)}</strong> <div class="quiet">${said(why)}</div> ${hint && html`<div>${toDo(hint)}</div>`}`,
  Order: ({ orders }) => orderButtons(state, orders),
});

const troubles = (rows, state) => html`<section class="card">${listOf(t("What to do"), rows.slice(0, MOST_TROUBLES), state)}
  ${rows.length > MOST_TROUBLES ? folded(t("andMore", { n: rows.length - MOST_TROUBLES }), rows.slice(MOST_TROUBLES), state) : ""}</section>`;

const folded = (name, rows, state) => html`<details><summary>${name}</summary>${listOf(name, rows, state)}</details>`;

// Of the others of a fleet those that are not well, and the groups that stop and start: also where all is well here.
function others({ fleet, groups = [] }) {
  const ill = fleet?.engine ? fleet.appliances.filter((a) => !a.here && a.state !== "ready") : [], moving = groups.filter((g) => g.phase !== "running");
  if (!ill.length && !moving.length) return "";
  return html`<section class="card others">
    ${ill.map((a) => html`<p>${word(a.state)} <a href="#/fleet">${a.name}</a> ${a.wrong.slice(0, 1).map((w) => said(w.text))}</p>`)}
    ${moving.map((g) => html`<p>${badge("busy", t(g.phase))} <a href="#/groups/${encodeURIComponent(g.name)}">${t("group", { name: g.name })}</a> ${said(g.reason || g.cause)}</p>`)}</section>`;
}

function rounds(groups) {
  const all = groups.flatMap((group) => group.history.map((round) => ({ ...round, group: group.name })));
  const rows = all.sort((a, b) => Date.parse(b.began) - Date.parse(a.began)).slice(0, 3);
  return rows.length ? card(t("Rounds of groups"), table(t("Rounds of groups"), rows, "Name Cause", {
    Name: (r) => html`<a href="#/groups/${encodeURIComponent(r.group)}">${r.group}</a>`,
    Cause: (r) => html`${said(r.cause)}<div class="when">${word(r.outcome)} · ${ago(r.began)}</div>`,
  })) : "";
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
          <li class=${index < at ? "good" : index === at ? "busy" : ""} aria-current=${index === at ? "step" : nothing}>
            ${index < at ? sign("good", 12) : ""} ${t(phase)}
            <span class="unseen">${t(index < at ? "done" : index === at ? "now" : "to come")}</span>
          </li>`)}
      </ol>
      <p class="reason">${said(ring.reason)}</p>
      <p class="countdown">
        <span>${t("forLength", { length: seconds(gone) })}</span>
        ${ring.deadline ? html`
          <span class="track" aria-hidden="true"><span .style=${`width:${(share * 100).toFixed(1)}%`}></span></span>
          <span>${t(left >= 0 ? "left" : "overdue", { length: seconds(left) })}</span>` : html`<span>${t("waits for an answer")}</span>`}
      </p>
      ${ring.hint && html`<p>${toDo(ring.hint)} ${orderButtons(state, ring.orders)}</p>`}
    </section>`;
}

function ringCard(ring, state) {
  const chips = state.status.chips.filter((chip) => chip.ring === ring.id);
  const names = [...new Set(chips.flatMap((chip) => chip.containers))];
  const tone = ring.episode !== null ? "busy" : "good";
  return html`
    <section class="ring ${tone}">
      <header><h3>${ringName(ring.chips)}</h3>${badge(tone, t(ring.phase))}</header>
      <div class="tiles ${chips.length > 4 ? "many" : ""}">${chips.map((chip) => tile(chip, ring, state))}</div>
      <p class="users">${names.length ? names.map((name) => html`<span class="pill">${name}</span>`) : html`<span class="quiet">${t("nobody uses it")}</span>`}</p>
    </section>`;
}

function tile(chip, ring, state) {
  const how = chipState(chip, ring), tone = toneOf(how);
  const m = readings(state.measured?.[chip.id]);
  const code = chip.faults[0]?.code;
  return html`
    <a class="tile ${tone}" href="#/chips/${chip.id}">
      <span class="id"><span class="unseen">${t("Chip")} </span>${chip.id}${sign(tone, 14)}</span>
      <span class="word">${t(how)}</span>
      <span class="reading">${code ? html`<span class="code">${code}</span>` : m.temperature === undefined ? "" : `${Math.round(m.temperature)} °C`}</span>
      ${m.load === undefined ? "" : html`<span class="load" title="${t("Load")} ${Math.round(m.load)} %"><span .style=${`width:${Math.max(2, m.load)}%`}></span></span>`}
    </a>`;
}

function latest(state) {
  const rows = state.episodes;
  if (!rows) return "";
  const body = rows.length ? html`
    ${recoveryTimes(rows)}
    ${table(t("Recoveries"), rows.slice(0, 6), "Number Cause", {
      Cause: (e) => html`${said(e.cause)}<div class="when">${word(e.outcome)} ${took(e)} · ${ago(e.began)}</div>`,
    })}` : empty(t("noEpisodes"));
  return card(t("Recoveries"), body, html`<a class="more" href="#/history">${t("All episodes")}</a>`);
}
