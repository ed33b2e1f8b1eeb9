// History, faults, chips, slots and groups. Each table says its columns and filters once.

import { advice, badge, card, chipState, empty, html, nothing, now, outcomeBadge, ranges, readings, said, seconds, span, time } from "./parts.js";
import { orderButtons } from "./orders.js";
import { faultsPerDay, recoveryTimes, series } from "./plots.js";
import { t } from "./texts.js";

// `columns`: of each head, what a row has below it. On a narrow screen a row is a block whose cells are named by `data-name`.
function table(name, rows, columns) {
  const cells = Object.entries(columns).map(([head, cell]) => [t(head), cell]);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}><table>
    <thead><tr>${cells.map(([head]) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cells.map(([head, cell]) => html`<td data-name=${head}>${cell(row)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

const tableCard = (name, rows, columns, none, more) => card(name, rows.length || !none ? table(name, rows, columns) : empty(none), more);

// A table below its filters: of each name in the address its label, what a row has there, the words for that, and which
// rows there are while nothing is chosen. They stand in the address, so that a look can be sent to somebody else.
function filtered(route, name, all, filters, columns, none, more) {
  const wishes = Object.entries(filters);
  const rows = all.filter((row) => wishes.every(([key, [, of, , plain = () => true]]) => {
    const wish = route.query.get(key);
    return wish ? wish === String(of(row)) : plain(row);
  }));
  const change = (key) => (event) => {
    const query = new URLSearchParams(route.query);
    if (event.target.value) query.set(key, event.target.value); else query.delete(key);
    location.hash = `#/${route.path}${query.size ? `?${query}` : ""}`;
  };
  return html`<section class="card">
    <div class="filters" role="group" aria-label=${t("Filter")}>${wishes.map(([key, [label, of, text = String]]) => html`
      <label>${t(label)}<select @change=${change(key)} .value=${route.query.get(key) || ""}>
        <option value="">${t("any")}</option>
        ${[...new Set(all.map(of))].filter((value) => value !== null).sort((a, b) => (a > b) - (a < b)).map((value) => html`
          <option value=${value} ?selected=${route.query.get(key) === String(value)}>${text(value)}</option>`)}
      </select></label>`)}</div>
    ${rows.length ? table(name, rows, columns) : empty(none)}${more}</section>`;
}

const title = (text, more = nothing) => html`<section class="title"><h1>${text}</h1>${more}</section>`;
const more = (state, name) => (state[name]?.length >= state.limits[name]
  ? html`<p><button class="quiet" @click=${() => state.more(name)}>${t("Show more")}</button></p>` : nothing);
const ringOf = (row) => row.ring;
const episodeLink = (n) => (n ? html`<a href="#/episodes/${n}">${n}</a>` : "");
const chipLinks = (chips) => chips.map((id, n) => html`${n ? ", " : ""}<a href="#/chips/${id}">${id}</a>`);

export function historyView(state, route) {
  const every = route.query.get("lines") === "all";
  const tab = (to, text, here) => html`<a href="#/history${to}" aria-current=${here ? "page" : nothing}>${t(text)}</a>`;
  return html`
    ${title(t("History"), html`<nav class="tabs" aria-label=${t("History")}>${tab("", "Episodes", !every)}${tab("?lines=all", "Every line", every)}</nav>`)}
    ${every ? lines(state, route) : episodes(state, route)}`;
}

function episodes(state, route) {
  const all = state.episodes || [];
  return html`${all.length > 1 ? card(t("How long recoveries took"), recoveryTimes(all)) : nothing}
    ${filtered(route, t("Episodes"), all, { outcome: ["Outcome", (e) => e.outcome, t], ring: ["Ring", ringOf] }, {
      Number: (e) => episodeLink(e.number), Ring: ringOf, Began: (e) => time(e.began),
      Took: (e) => (e.ended ? span(e.seconds) : seconds((now() - Date.parse(e.began)) / 1000)),
      Outcome: (e) => outcomeBadge(e.outcome), Cause: (e) => said(e.cause),
    }, t(all.length ? "There are no such lines." : "noEpisodes"), more(state, "episodes"))}`;
}

const lines = (state, route) => filtered(route, t("Every line"), (state.lines || []).toReversed(), {
  kind: ["Category", (n) => n.kind, t], ring: ["Ring", ringOf],
}, {
  When: (n) => time(n.at), Ring: ringOf, Number: (n) => episodeLink(n.episode), Category: (n) => t(n.kind), "What happened": (n) => said(n.text),
}, t("There are no such lines."), more(state, "lines"));

const LEVELS = { NotHandleFault: "calm", RestartRequest: "warn", RestartBusiness: "warn", FreeRestartNPU: "warn", RestartNPU: "bad", SeparateNPU: "bad" };
const level = (name) => badge(LEVELS[name] || "calm", name);
const FAULT = {
  Code: ({ code }) => html`<a class="code" href="#/faults?code=${encodeURIComponent(code)}&all=true">${code}</a>`,
  Level: (fault) => level(fault.level), Came: (fault) => time(fault.since), Times: (fault) => fault.count,
};

export function faultsView(state, route) {
  const is = (fault) => fault.cleared === null, code = route.query.get("code");
  const all = (state.faults || []).toSorted((a, b) => is(b) - is(a) || Date.parse(b.since) - Date.parse(a.since));
  return html`
    ${title(t("Faults"))}
    ${state.faults ? card(t("Faults per day, 90 days"), faultsPerDay(all)) : nothing}
    ${code ? explained(state.explained.get(code)) : nothing}
    ${filtered(route, t("Faults"), all, {
      all: ["State", () => true, () => t("cleared ones, too"), is], chip: ["Chip", (fault) => fault.chip], code: ["Code", (fault) => fault.code], level: ["Level", (fault) => fault.level],
    }, {
      State: (fault) => (is(fault) ? badge("bad", t("active")) : badge("calm", t("cleared"))), Chip: (fault) => chipLinks([fault.chip]),
      ...FAULT, Cleared: (fault) => time(fault.cleared), Module: (fault) => fault.module,
    }, t(route.query.get("all") || code ? "There are no such faults." : "No fault is active."))}`;
}

const explained = (told) => (told ? card(html`<span class="code">${told.code}</span>`, html`
  ${told.meaning ? html`<p>${said(told.meaning)}</p>` : nothing}
  <h3>${t("What cmgr does about it")}</h3><ul class="does">${told.does.map((text) => html`<li>${said(text)}</li>`)}</ul>`, level(told.level || "–")) : nothing);

const moved = (slot) => ranges(slot.chips) !== ranges(slot.home);
const since = (row) => time(row.since);
const reason = (row) => said(row.reason);
const users = (row) => row.containers.join(", ");

export const slotsView = (state, route) => html`${title(t("Slots"))}${filtered(route, t("Slots"), state.slots || [], {
  moved: ["State", moved, (is) => t(is ? "moved" : "at home")],
}, {
  Name: (slot) => slot.name, State: (slot) => (moved(slot) ? badge("held", t("movedFrom", { chips: ranges(slot.home) })) : badge("good", t("at home"))),
  Chips: (slot) => chipLinks(slot.chips), Services: users, Since: since, Reason: reason,
}, t("There are no such slots."))}`;

const groupTone = (group) => (group.phase !== "running" ? "busy" : group.down ? "bad" : "good");

export const groupsView = (state, route) => html`${title(t("Groups"))}${filtered(route, t("Groups"), state.groups || [], {
  phase: ["State", (group) => group.phase, t],
}, {
  Name: (group) => html`<a href="#/groups/${encodeURIComponent(group.name)}">${group.name}</a>`, State: (group) => badge(groupTone(group), t(group.phase)),
  Members: (group) => `${group.members.length - group.down} ${t("of")} ${group.size || group.members.length}`, Round: (group) => group.round || "", Since: since, Reason: reason,
}, t("There are no such groups."))}${fleetCard(state.fleet)}`;

const APPLIANCE = { running: "good", ready: "good", halting: "busy", halted: "held", degraded: "warn", away: "bad", failed: "bad" };
const applianceBadge = ({ state }) => badge(APPLIANCE[state] || "calm", t(state));

function fleetCard(fleet) {
  if (!fleet?.engine) return nothing;
  const { up, why, hint } = fleet.engine;
  return card(t("Fleet"), html`
    ${why ? html`<p>${applianceBadge({ state: up ? "degraded" : "away" })} ${said(why)} ${advice(hint)}</p>` : nothing}
    ${fleet.remarks.map((text) => html`<p>${said(text)}</p>`)}
    ${table(t("Fleet"), fleet.appliances, {
      Name: (a) => a.name, State: applianceBadge, Since: (a) => time(a.gone || a.since), Reason: (a) => a.wrong.map((w) => html`<div>${said(w.text)} ${advice(w.hint)}</div>`),
    })}`);
}

export function groupView(state, name) {
  const group = (state.groups || []).find((one) => one.name === name);
  if (!group) return html`${title(t("group", { name }))}<p>${t("There are no such groups.")}</p>`;
  return html`
    ${title(t("group", { name }), html`${group.reason ? html`<p>${said(group.reason)}</p>` : nothing}
      ${[group.hint, ...group.remarks].filter(Boolean).map((text) => html`<p class="hint">${advice(text)}</p>`)}`)}
    ${tableCard(t("Members"), group.members, {
      Name: (m) => m.name, State: (m) => (m.running ? badge("good", t("running")) : m.held ? badge("held", t("held")) : badge("bad", t("down"))),
      Chips: (m) => chipLinks(m.chips), Since: since, Reason: reason,
    })}
    ${group.fleet ? tableCard(t("Fleet"), group.fleet.appliances, {
      Name: (a) => a.name, State: applianceBadge, Round: (a) => a.round, Members: users, Since: since, Reason: reason,
    }) : nothing}
    ${tableCard(t("History"), group.history, {
      Round: (r) => r.number, Began: (r) => time(r.began), Took: (r) => span((Date.parse(r.ended) - Date.parse(r.began)) / 1000),
      Outcome: (r) => outcomeBadge(r.outcome), Cause: (r) => said(r.cause),
    }, t("There was no round yet."))}`;
}

const value = (number, unit) => (number === undefined ? html`<span class="quiet">–</span>` : `${Math.round(number)} ${unit}`);
const memory = (m) => (m.memory === undefined ? value() : `${(m.memory / 1024).toFixed(1)} ${t("of")} ${((m.memoryAll || 0) / 1024).toFixed(0)} GiB`);
const MEASURED = { Temperature: (chip) => value(chip.m.temperature, "°C"), Load: (chip) => value(chip.m.load, "%"), Memory: (chip) => memory(chip.m) };

// The chips, each with its ring, what was measured, and the tone and the word for how it is.
const known = ({ status, measured }) => status.chips.map((chip) => {
  const whole = status.rings.find((ring) => ring.id === chip.ring), [tone, is] = chipState(chip, whole);
  return { ...chip, whole, tone, is, m: readings(measured?.[chip.id]) };
});

export const chipsView = (state, route) => html`${title(t("Chips"))}${filtered(route, t("Chips"), known(state), {
  state: ["State", (chip) => chip.is, t], ring: ["Ring", ringOf],
}, {
  Chip: (chip) => chipLinks([chip.id]), State: (chip) => badge(chip.tone, t(chip.is)), Ring: ringOf,
  Model: (chip) => (chip.shares?.length ? `${chip.model} · ${t("Shares")}: ${chip.shares.length}` : chip.model), ...MEASURED, Services: users, Reason: reason,
}, t("No chips are known."))}`;

export function chipView(state, number) {
  const chip = known(state).find(({ id }) => id === number);
  if (!chip) return html`${title(t("chip", { n: number }))}<p>${t("There is no such chip.")}</p>`;
  const ring = chip.whole;
  const line = (name, ...shape) => {
    const points = (state.series[number] || []).map((p) => [p.at, readings(p.measured)[name.toLowerCase()]]).filter(([, v]) => v !== undefined);
    return points.length ? series(points, t(name), ...shape) : "";
  };
  const lines = [line("Temperature", "°C"), line("Load", "%", 0, 100)].filter(Boolean);
  const facts = {
    Ring: () => (ring ? ranges(ring.chips) : chip.ring), Model: () => chip.model, ...MEASURED, Power: () => value(chip.m.power, "W"),
    "Used by": () => users(chip) || t("nobody uses it"), Resets: () => ring?.resets ?? 0, ...(chip.slots?.length ? { Slots: () => chip.slots.join(", ") } : {}),
  };
  const used = state.status.containers.some((c) => c.status === "running" && c.chips.some((n) => ring?.chips.includes(n)));
  return html`
    ${title(t("chip", { n: number }), html`${badge(chip.tone, t(chip.is))}
      ${chip.reason ? html`<p>${said(chip.reason)}</p>` : nothing}
      <div class="acts">${orderButtons(state, [[chip.isolated ? "release" : "isolate", { chip: number }], ["reset", { chip: number, stop: used }]])}</div>`)}
    <div class="columns even">
      ${card(t("State"), html`<dl class="facts">${Object.entries(facts).map(([name, of]) => html`<div><dt>${t(name)}</dt><dd>${of(chip)}</dd></div>`)}</dl>`)}
      ${card(t("The last hour"), lines.length ? html`${lines}<p class="quiet">${t("lastHourNote")}</p>` : empty(t("Nothing was measured yet.")))}
    </div>
    ${tableCard(t("Faults"), chip.faults, FAULT, t("No fault is active."), html`<a class="more" href="#/faults?chip=${number}&all=true">${t("cleared ones, too")}</a>`)}
    ${chip.shares?.length ? tableCard(t("Shares"), chip.shares, {
      Name: (s) => s.id, Template: (s) => s.template, Services: users, Reason: (s) => (s.there ? "" : html`${badge("bad", t("lost in the reset"))} ${said(s.why)}`),
    }) : nothing}
    ${chip.processes.length ? tableCard(t("Processes"), chip.processes, { PID: (p) => p.pid, Name: (p) => p.name, Memory: (p) => `${Math.round(p.memory / 1048576)} MiB` }) : nothing}`;
}
