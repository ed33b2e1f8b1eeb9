// History, faults, chips, slots and groups: tables that name their columns and filters.

import { advice, badge, card, chipState, empty, html, nothing, page, ranges, readings, said, span, time, took, word } from "./parts.js";
import { orderButtons } from "./orders.js";
import { faultsPerDay, recoveryTimes, series } from "./plots.js";
import { t } from "./texts.js";

const chipLinks = (chips) => chips.map((id, n) => html`${n ? ", " : ""}<a href="#/chips/${id}">${id}</a>`);
const value = (number, unit) => (number === undefined ? html`<span class="quiet">–</span>` : `${Math.round(number)} ${unit}`);
const memory = (m) => (m.memory === undefined ? value() : `${(m.memory / 1024).toFixed(1)} ${t("of")} ${((m.memoryAll || 0) / 1024).toFixed(0)} GiB`);

// What a row has below a head, where that is not what the row has by the same name.
const CELLS = {
  Chip: (row) => chipLinks([row.chip]), Chips: (row) => chipLinks(row.chips), State: (row) => word(row.state),
  Services: (row) => row.containers.join(", "), Since: (row) => time(row.since), Reason: (row) => said(row.reason), Round: (row) => row.round || "",
  Number: ({ number, episode = number }) => (episode ? html`<a href="#/episodes/${episode}">${episode}</a>` : ""),
  Began: (row) => time(row.began), Took: took, Outcome: (row) => word(row.outcome), Cause: (row) => said(row.cause),
  When: (row) => time(row.at), Category: (row) => word(row.kind), Text: (row) => said(row.text),
  Code: ({ code }) => html`<a class="code" href="#/faults?code=${encodeURIComponent(code)}&all=true">${code}</a>`, Level: (row) => word(row.level),
  Came: (row) => time(row.since), Times: (row) => row.count, Cleared: (row) => time(row.cleared), Temperature: (row) => value(row.m.temperature, "°C"),
  Load: (row) => value(row.m.load, "%"), Memory: (row) => memory(row.m), Power: (row) => value(row.m.power, "W"),
};
const cellOf = (head, own) => own?.[head] || CELLS[head] || ((row) => row[head.toLowerCase()]);

// `own`: cells of this table alone. On a narrow screen a row is a block whose cells are named by `data-name`.
export function table(name, rows, heads, own) {
  const cells = heads.split(" ").map((head) => [t(head), cellOf(head, own)]);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}><table>
    <thead><tr>${cells.map(([head]) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${cells.map(([head, cell]) => html`<td data-name=${head}>${cell(row)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

const tableCard = (name, rows, heads, own, none, more) => card(name, rows.length || !none ? table(name, rows, heads, own) : empty(none), more);

// A table below its filters: of each name in the address its label, the words for what it may be, what a row has there, and
// which rows there are while nothing is chosen. They stand in the address, so that a look can be sent to somebody else.
function filtered(route, name, all, filters, heads, own, none, more) {
  const wishes = Object.entries(filters).map(([key, [label, text = String, of = (row) => row[key], plain = () => true]]) => {
    const wish = route.query.get(key) || "";
    return { key, label, text, of, wish, fits: (row) => (wish ? wish === String(of(row)) : plain(row)) };
  });
  const rows = all.filter((row) => wishes.every(({ fits }) => fits(row)));
  const change = (key) => (event) => {
    const query = new URLSearchParams(route.query);
    if (event.target.value) query.set(key, event.target.value); else query.delete(key);
    location.hash = `#/${route.path}${query.size ? `?${query}` : ""}`;
  };
  return html`<section class="card">
    <div class="filters" role="group" aria-label=${t("Filter")}>${wishes.map(({ key, label, text, of, wish }) => html`
      <label>${t(label)}<select @change=${change(key)} .value=${wish}>
        <option value="">${t("any")}</option>
        ${[...new Set(all.map(of))].filter((value) => value !== null).sort((a, b) => (a > b) - (a < b)).map((value) => html`
          <option value=${value} ?selected=${wish === String(value)}>${text(value)}</option>`)}
      </select></label>`)}</div>
    ${rows.length ? table(t(name), rows, heads, own) : empty(t(none))}${more}</section>`;
}

const MOST = 1000;  // The service tells no more at once.

const more = (state, name) => (state[name]?.length >= state.limits[name] && state.limits[name] < MOST
  ? html`<p><button class="quiet" @click=${() => state.more(name)}>${t("Show more")}</button></p>` : "");

export function historyView(state, route) {
  const every = route.query.get("lines") === "all";
  const tab = (to, text, here) => html`<a href="#/history${to}" aria-current=${here ? "page" : nothing}>${t(text)}</a>`;
  return html`
    ${page(t("History"), html`<nav aria-label=${t("History")}>${tab("", "Episodes", !every)}${tab("?lines=all", "Every line", every)}</nav>`)}
    ${every ? lines(state, route) : episodes(state, route)}`;
}

function episodes(state, route) {
  const all = state.episodes || [];
  return html`${all.length > 1 ? card(t("How long recoveries took"), recoveryTimes(all)) : ""}
    ${filtered(route, "Episodes", all, { outcome: ["Outcome", t], ring: ["Ring"] }, "Number Ring Began Took Outcome Cause", {},
      all.length ? "There are no such lines." : "noEpisodes", more(state, "episodes"))}`;
}

const lines = (state, route) => filtered(route, "Every line", (state.history || []).toReversed(), { kind: ["Category", t], ring: ["Ring"] },
  "When Ring Number Category Text", {}, "There are no such lines.", more(state, "history"));

export function faultsView(state, route) {
  const is = (fault) => fault.cleared === null, code = route.query.get("code");
  const all = (state.faults || []).toSorted((a, b) => is(b) - is(a) || Date.parse(b.since) - Date.parse(a.since));
  return html`${page(t("Faults"))}
    ${state.faults && card(t("Faults per day, 90 days"), faultsPerDay(all))}
    ${explained(state[`explain/${encodeURIComponent(code)}`])}
    ${filtered(route, "Faults", all, {
      all: ["State", () => t("cleared ones, too"), () => true, is], chip: ["Chip"], code: ["Code"], level: ["Level"],
    }, "State Chip Code Level Came Times Cleared Module", { State: (fault) => (is(fault) ? word("active") : badge("calm", t("cleared"))) },
    route.query.get("all") || code ? "There are no such faults." : "No fault is active.")}`;
}

const explained = (told) => told && card(html`<span class="code">${told.code}</span>`, html`<p>${said(told.meaning)}</p>
  <h3>${t("What cmgr does about it")}</h3><ul class="does">${told.does.map((text) => html`<li>${said(text)}</li>`)}</ul>`, word(told.level || "–"));

const moved = (slot) => ranges(slot.chips) !== ranges(slot.home);

export const slotsView = (state, route) => html`${page(t("Slots"))}${filtered(route, "Slots", state.slots || [], {
  moved: ["State", (is) => t(is ? "moved" : "at home"), moved],
}, "Name State Chips Services Since Reason", {
  State: (slot) => (moved(slot) ? badge("held", t("movedFrom", { chips: ranges(slot.home) })) : word("at home")),
}, "There are no such slots.")}`;

export const groupsView = (state, route) => html`${page(t("Groups"))}${filtered(route, "Groups", state.groups || [], { phase: ["State", t] },
  "Name State Members Round Since Reason", {
    Name: (group) => html`<a href="#/groups/${encodeURIComponent(group.name)}">${group.name}</a>`,
    State: (group) => badge(group.phase !== "running" ? "busy" : group.down ? "bad" : "good", t(group.phase)),
    Members: (group) => `${group.members.length - group.down} ${t("of")} ${group.size || group.members.length}`,
  }, "There are no such groups.")}${fleetCard(state.fleet)}`;

function fleetCard(fleet) {
  if (!fleet?.engine) return "";
  const { up, why, hint } = fleet.engine;
  return card(t("Fleet"), html`
    ${why && html`<p>${word(up ? "degraded" : "away")} ${said(why)} ${advice(hint)}</p>`}
    ${fleet.remarks.map((text) => html`<p>${said(text)}</p>`)}
    ${table(t("Fleet"), fleet.appliances, "Name State Since Reason", {
      Since: (a) => time(a.gone || a.since), Reason: (a) => a.wrong.map((w) => html`<div>${said(w.text)} ${advice(w.hint)}</div>`),
    })}`);
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

export const chipsView = (state, route) => html`${page(t("Chips"))}${filtered(route, "Chips", known(state), {
  state: ["State", t], ring: ["Ring"],
}, "Chip State Ring Model Temperature Load Memory Services Reason", {
  Model: (chip) => (chip.shares?.length ? `${chip.model} · ${t("Shares")}: ${chip.shares.length}` : chip.model),
}, "No chips are known.")}`;

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
  const used = state.status.containers.some((c) => c.status === "running" && c.chips.some((n) => ring?.chips.includes(n)));
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
