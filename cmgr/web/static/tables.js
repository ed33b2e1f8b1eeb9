// History, faults, chips, slots, groups and the fleet: tables that name their columns and filters.

import { advice, badge, card, chipState, empty, html, nothing, page, ranges, readings, runs, said, span, time, took, when, word } from "./parts.js";
import { orderButtons } from "./orders.js";
import { faultsPerDay, recoveryTimes, series } from "./plots.js";
import { t } from "./texts.js";

const chipLink = (id) => html`<a href="#/chips/${id}">${id}</a>`;
const chipLinks = (chips) => runs(chips).map(([a, b], n) => html`${n ? ", " : ""}${chipLink(a)}${a === b ? "" : html`–${chipLink(b)}`}`);
const value = (number, unit) => (number === undefined ? html`<span class="quiet">–</span>` : `${Math.round(number)} ${unit}`);
const memory = (m) => (m.memory === undefined ? value() : `${(m.memory / 1024).toFixed(1)} ${t("of")} ${((m.memoryAll || 0) / 1024).toFixed(0)} GiB`);
const load = (m) => html`${value(m.load, "%")}${m.load === undefined ? "" : html`<span class="load" aria-hidden="true"><span .style=${`width:${Math.max(2, m.load)}%`}></span></span>`}`;

// What a row has below a head, where that is not what the row has by the same name.
const CELLS = {
  Chip: (row) => chipLinks([row.chip]), Chips: (row) => chipLinks(row.chips), State: (row) => word(row.state),
  Services: (row) => row.containers.join(", "), Since: (row) => time(row.since), Reason: (row) => said(row.reason), Round: (row) => row.round || "",
  Number: ({ number, episode = number }) => (episode ? html`<a href="#/episodes/${episode}">${episode}</a>` : ""),
  Began: (row) => time(row.began), Took: took, Outcome: (row) => word(row.outcome), Cause: (row) => said(row.cause),
  When: (row) => time(row.at), Category: (row) => word(row.kind), Text: (row) => said(row.text),
  Code: ({ code }) => html`<a class="code" href="#/faults?code=${encodeURIComponent(code)}&all=true">${code}</a>`, Level: (row) => word(row.level),
  Came: (row) => time(row.since), Times: (row) => row.count, Cleared: (row) => time(row.cleared), Temperature: (row) => value(row.m.temperature, "°C"),
  Load: (row) => load(row.m), Memory: (row) => memory(row.m), Power: (row) => value(row.m.power, "W"),
};
export const cellOf = (head, own) => own?.[head] || CELLS[head] || ((row) => row[head.toLowerCase()]);

// Columns of sentences and of names by strangers: they take the room that is left, and break anywhere. No other is broken.
const FREE = new Set(["Name", "Services", "Members", "Reason", "Cause", "Text", "Module", "Template"]);

// `own`: cells of this table alone. On a narrow screen a row is a block whose cells are named by `data-name`.
export function table(name, rows, heads, own) {
  const cells = heads.split(" ").map((head) => [t(head), cellOf(head, own), FREE.has(head) ? "free" : ""]);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}><table>
    <thead><tr>${cells.map(([head]) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cells.map(([head, cell, kind]) => html`<td class=${kind} data-name=${head}>${cell(row)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

const tableCard = (name, rows, heads, own, none, more) => card(name, rows.length || !none ? table(name, rows, heads, own) : empty(none), more);

const SELECT = (label, wish, change, options) => html`<label>${t(label)}<select @change=${change} .value=${wish}>
  ${options.map(([value, text]) => html`<option value=${value} ?selected=${wish === String(value)}>${text}</option>`)}</select></label>`;

const wordsOf = (row) => Object.values(row).flat().filter((value) => /string|number/.test(typeof value)).join(" ").toLowerCase();

// A table below its search and filters: of each name in the address its label, the words for what it may be, what a row has
// there, and the word for no wish with which rows there are then. They stand in the address, so that a look can be sent to
// somebody else. `none`: said where there is no row at all, or none while nothing is wished.
export function filtered(state, route, { name, all, filters, heads, own, none, more }) {
  if (!all.length) return card(t(name), empty(none));
  const wishes = Object.entries(filters).map(([key, [label, text = String, of = (row) => row[key], usual = ["any"]]]) => {
    const wish = route.query.get(key) || "", [calls, plain = () => true] = usual;
    const values = [...new Set(all.map(of))].filter((value) => value !== null && value !== "").sort((a, b) => (a > b) - (a < b));
    return { key, label, wish, options: [["", t(calls)], ...values.map((value) => [value, text(value)])],
      fits: (row) => (wish ? wish === String(of(row)) : plain(row)) };
  });
  const sought = route.query.get("q") || "", words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (row) => { const told = words.length ? wordsOf(row) : ""; return words.every((one) => told.includes(one)); };
  const rows = all.filter((row) => wishes.every(({ fits }) => fits(row)) && found(row));
  const change = (key, typed) => (event) => {
    const query = new URLSearchParams(route.query);
    if (event.target.value) query.set(key, event.target.value); else query.delete(key);
    const place = `#/${route.path}${query.size ? `?${query}` : ""}`;
    // A letter is no step to go back by.
    if (typed) { history.replaceState(null, "", place); state.render(); } else location.hash = place;
  };
  const wished = sought || wishes.some(({ wish }) => wish);
  return html`<section class="card">
    <div class="filters" role="search" aria-label=${t("Filter")}>
      <label>${t("Search")}<input type="search" autocomplete="off" aria-keyshortcuts="/" .value=${sought} @input=${change("q", true)}></label>
      ${wishes.map(({ key, label, wish, options }) => SELECT(label, wish, change(key), options))}
      ${wished ? html`<span class="quiet" role="status">${t("nOf", { n: rows.length, all: all.length })} · <a href="#/${route.path}">${t("Show all")}</a></span>` : ""}</div>
    ${rows.length ? table(t(name), rows, heads, own) : empty(wished ? t("Nothing fits.") : none)}${more}</section>`;
}

const MOST = 1000;  // The service tells no more at once.

export const more = (state, name) => (state[name]?.length >= state.limits[name] && state.limits[name] < MOST
  ? html`<p><button class="quiet" @click=${() => state.more(name)}>${t("Show more")}</button></p>` : "");

export function historyView(state, route) {
  const [here, shown] = { all: ["all", lines], downtime: ["downtime", downtime] }[route.query.get("lines")] || ["", episodes];
  const tab = (lines, text) => html`<a href="#/history${lines && `?lines=${lines}`}" aria-current=${lines === here ? "page" : nothing}>${t(text)}</a>`;
  return html`
    ${page(t("History"), html`<nav aria-label=${t("History")}>${tab("", "Episodes")}${tab("all", "Every line")}${tab("downtime", "Downtime")}</nav>`)}
    ${shown(state, route)}`;
}

const min = (n) => n.toFixed(1);
const SPENT = { Minutes: (row) => min(row.minutes), Outages: (row) => row.outages, Ended: (row) => row.recoveries, Unseen: (row) => min(row.unseen_minutes) };

// How long services were down this quarter; what is not known of it stands with it.
function downtime({ downtime: told }) {
  if (!told) return "";
  const unknown = [
    told.counted_since > told.begins && t("notBefore", { at: when(told.counted_since) }),
    ...told.silent.map(({ runtime, since }) => t("silentSince", { runtime, at: when(since) })),
    told.unseen_minutes > 0 && t("unseenOf", { minutes: min(told.unseen_minutes) }),
  ].filter(Boolean);
  return html`${card(t("Downtime"), html`<p><strong>${t("downtimeOf", { quarter: told.period, minutes: min(told.minutes) })}</strong></p>
      ${told.recoveries ? html`<p>${t("endedByCmgr", { n: told.recoveries, minutes: min(told.recovery_minutes) })}
        ${told.by_hand_minutes === null ? "" : t("byHand", { reaction: min(told.reaction_minutes), minutes: min(told.by_hand_minutes) })}</p>` : ""}
      ${unknown.map((text) => html`<p>${text}</p>`)}
      <p class="quiet">${t("notCounted")} <code>cmgr downtime ${told.period} -o html</code></p>`)}
    ${told.now.length ? tableCard(t("Down now"), told.now, "Name Minutes Cause Since", { ...SPENT, Name: (row) => row.service, Cause: byCause }) : ""}
    ${told.causes.length ? tableCard(t("By cause"), told.causes, "Cause Minutes Outages Ended", { ...SPENT, Cause: byCause }) : ""}
    ${told.services.length ? tableCard(t("By service"), told.services, "Name Minutes Outages Ended Unseen", { ...SPENT, Name: (row) => row.service }) : ""}`;
}

const byCause = (row) => t(`by ${row.cause}`);

function episodes(state, route) {
  const all = state.episodes || [], lengths = recoveryTimes(all);
  return html`${lengths ? card(t("How long recoveries took"), lengths) : ""}
    ${filtered(state, route, { name: "Episodes", all, filters: { outcome: ["Outcome", t], ring: ["Ring"] }, heads: "Number Ring Began Took Outcome Cause",
      none: t("noEpisodes"), more: more(state, "episodes") })}`;
}

const lines = (state, route) => filtered(state, route, {
  name: "Every line", all: (state.history || []).toReversed(), filters: { kind: ["Category", t], ring: ["Ring"] }, heads: "When Ring Number Category Text",
  none: t("Nothing has happened yet."), more: more(state, "history") });

export function faultsView(state, route) {
  const is = (fault) => fault.cleared === null, code = route.query.get("code");
  const all = (state.faults || []).toSorted((a, b) => is(b) - is(a) || Date.parse(b.since) - Date.parse(a.since));
  return html`${page(t("Faults"))}
    ${all.length ? card(t("Faults per day, 90 days"), faultsPerDay(all)) : ""}
    ${explained(state[`explain/${encodeURIComponent(code)}`])}
    ${state.machine?.length ? tableCard(t("The machine"), state.machine, "Code Came Times Text", { Code: ({ code: name }) => html`<span class="code">${name}</span>` }) : ""}
    ${filtered(state, route, { name: "Faults", all, filters: {
      all: ["State", () => t("cleared ones, too"), () => true, ["active", is]], chip: ["Chip"], code: ["Code"], level: ["Level"],
    }, heads: "State Chip Code Level Came Times Cleared Module", own: { State: (fault) => (is(fault) ? word("active") : badge("calm", t("cleared"))) },
      none: all.length ? t("No fault is active.") : t("noFaults") })}`;
}

const explained = (told) => told && card(html`<span class="code">${told.code}</span>`, html`<p>${said(told.meaning)}</p>
  <h3>${t("What cmgr does about it")}</h3><ul class="does">${told.does.map((text) => html`<li>${said(text)}</li>`)}</ul>`, word(told.level || "–"));

const moved = (slot) => ranges(slot.chips) !== ranges(slot.home);

const teach = (text, command) => html`${text}<br><code>${command}</code>`;

export const slotsView = (state, route) => html`${page(t("Slots"))}${filtered(state, route, { name: "Slots", all: state.slots || [], filters: {
  moved: ["State", (is) => t(is ? "moved" : "at home"), moved],
}, heads: "Name State Chips Services Since Reason", own: {
  State: (slot) => (moved(slot) ? badge("held", t("movedFrom", { chips: ranges(slot.home) })) : word("at home")),
}, none: teach(t("noSlots"), "cmgr slot create NAME --count 1") })}`;

export const groupsView = (state, route) => html`${page(t("Groups"))}${filtered(state, route, { name: "Groups", all: state.groups || [],
  filters: { phase: ["State", t] }, heads: "Name State Members Round Since Reason", own: {
    Name: (group) => html`<a href="#/groups/${encodeURIComponent(group.name)}">${group.name}</a>`,
    State: (group) => badge(group.phase !== "running" ? "busy" : group.down ? "bad" : "good", t(group.phase)),
    Members: ({ members: { length }, down, size }) => (size > length ? t("membersHere", { up: length - down, here: length, size }) : `${length - down} ${t("of")} ${length}`),
  }, none: teach(t("noGroups"), "docker run --label cmgr.group=NAME …") })}`;

export function fleetView({ fleet }) {
  if (!fleet?.engine) return html`${page(t("Fleet"))}${card(t("Fleet"), empty(teach(t("noFleet"), "cmgr fleet setup NAME=ADDRESS …")))}`;
  const { up, why, hint } = fleet.engine;
  return html`${page(t("Fleet"))}<section class="card">
    ${why && html`<p>${word(up ? "degraded" : "away")} ${said(why)} ${advice(hint)}</p>`}
    ${fleet.remarks.map((text) => html`<p>${said(text)}</p>`)}
    ${table(t("Fleet"), fleet.appliances, "Name State Since Reason", {
      Name: (a) => html`<strong>${a.name}</strong> ${a.here ? badge("info", t("here")) : html`<div class="quiet"><code>ssh -L 9478:127.0.0.1:9478 ${a.name} cmgr web</code></div>`}`,
      Since: (a) => time(a.gone || a.since), Reason: (a) => html`${a.wrong.map((w) => html`<div>${said(w.text)} ${advice(w.hint)}</div>`)}${a.more ? t("andMore", { n: a.more }) : ""}`,
    })}</section>`;
}

export function groupView(state, name) {
  const group = state.groups?.find((one) => one.name === name);
  if (!group) return html`${page(t("group", { name }))}<p>${t("There are no such groups.")}</p>`;
  return html`
    ${page(t("group", { name }), group.reason && html`<p>${said(group.reason)}</p>`,
      [group.hint, ...group.remarks].filter(Boolean).map((text) => html`<p>${advice(text)}</p>`))}
    ${tableCard(t("Members"), group.members, "Name State Chips Since Reason", {
      State: (m) => word(m.running ? "running" : m.held ? "held" : "down"),
    })}
    ${group.fleet && tableCard(t("Fleet"), group.fleet.appliances, "Name State Round Members Since Reason", {
      Members: CELLS.Services,
    })}
    ${tableCard(t("History"), group.history, "Round Began Took Outcome Cause", {
      Round: (round) => round.number, Took: (round) => span((Date.parse(round.ended) - Date.parse(round.began)) / 1000),
    }, t("There was no round yet."))}`;
}

// Chips, each with its ring, what was measured, and a word for how it is.
const known = ({ status, measured }) => status.chips.map((chip) => {
  const whole = status.rings.find((ring) => ring.id === chip.ring);
  return { ...chip, chip: chip.id, whole, state: chipState(chip, whole), m: readings(measured?.[chip.id]) };
});

export const chipsView = (state, route) => html`${page(t("Chips"))}${filtered(state, route, { name: "Chips", all: known(state),
  filters: { state: ["State", t], ring: ["Ring"] }, heads: "Chip State Ring Model Temperature Load Memory Services Reason", own: {
    Model: (chip) => (chip.shares?.length ? `${chip.model} · ${t("Shares")}: ${chip.shares.length}` : chip.model),
  }, none: t("noChips") })}`;

// Whoever is so has nothing on its chips that a reset would have to stop.
const DOWN = new Set(["down", "paused", "failed"]);

export function chipView(state, number) {
  const chip = known(state).find((c) => c.id === number);
  if (!chip) return html`${page(t("chip", { n: number }))}<p>${t("There is no such chip.")}</p>`;
  const ring = chip.whole;
  const line = (name, ...shape) => {
    const points = (state.series || []).map((p) => [p.at, readings(p.chips[number])[name.toLowerCase()]]).filter(([, v]) => v !== undefined);
    return points.length ? series(points, t(name), ...shape) : "";
  };
  const lines = [line("Temperature", "°C"), line("Load", "%", 0, 100)].filter(Boolean);
  const facts = {
    Ring: () => (ring ? ranges(ring.chips) : chip.ring), "Used by": () => CELLS.Services(chip) || t("nobody uses it"),
    Resets: () => ring?.resets ?? 0, Slots: () => chip.slots.join(", "), Model: () => [chip.model, chip.tool_name, chip.bus, chip.serial].join(" "),
  };
  const shown = ["Ring", "Model", "Temperature", "Load", "Memory", "Power", "Used by", "Resets", ...(chip.slots?.length ? ["Slots"] : [])];
  const used = state.status.containers.some((c) => !DOWN.has(c.status) && c.chips.some((n) => ring?.chips.includes(n)));
  return html`
    ${page(t("chip", { n: number }), word(chip.state), chip.reason && html`<p>${said(chip.reason)}</p>`, html`
      <div class="acts">${orderButtons(state, [{ do: chip.isolated ? "release" : "isolate", args: { chip: number } }, { do: "reset", args: { chip: number, stop: used } }])}</div>`)}
    <div class="columns even">
      ${card(t("State"), html`<dl class="facts">${shown.map((name) => html`<dt>${t(name)}</dt><dd>${cellOf(name, facts)(chip)}</dd>`)}</dl>`)}
      ${card(t("The last hour"), lines.length ? html`${lines}<p class="quiet">${t("lastHourNote")}</p>` : empty(t("Nothing was measured yet.")))}
    </div>
    ${tableCard(t("Faults"), chip.faults, "Code Level Came Times", {}, t("No fault is active."),
      html`<a class="more" href="#/faults?chip=${number}&all=true">${t("cleared ones, too")}</a>`)}
    ${chip.shares?.length ? tableCard(t("Shares"), chip.shares, "Name Template Services Reason", {
      Name: (share) => share.id, Reason: (share) => (share.there ? "" : html`${word("lost in the reset")} ${said(share.why)}`),
    }) : ""}
    ${chip.processes.length ? tableCard(t("Processes"), chip.processes, "PID Name Memory", { Memory: (p) => `${Math.round(p.memory / 1048576)} MiB` }) : ""}`;
}
