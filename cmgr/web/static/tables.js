// History, faults and chips: tables whose filters stand in the address.

import { advice, badge, card, chipState, empty, html, LEVELS, nothing, now, outcomeBadge, ranges, readings, said, seconds, span, time } from "./parts.js";
import { orderButtons } from "./orders.js";
import { faultsPerDay, recoveryTimes, series } from "./plots.js";
import { t, word } from "./texts.js";

// A filter is a choice in the address: what is shown can be sent to somebody else.
function filters(route, wishes) {
  const change = (name) => (event) => {
    const query = new URLSearchParams(route.query);
    if (event.target.value) query.set(name, event.target.value); else query.delete(name);
    const text = query.toString();
    location.hash = `#/${route.path}${text ? `?${text}` : ""}`;
  };
  return html`<div class="filters" role="group" aria-label=${t("filter")}>${wishes.map(([name, label, choices]) => html`
    <label>${label}<select @change=${change(name)} .value=${route.query.get(name) || ""}>
      <option value="">${t("any")}</option>
      ${choices.map(([value, text]) => html`<option value=${value} ?selected=${route.query.get(name) === value}>${text}</option>`)}
    </select></label>`)}</div>`;
}

const distinct = (values, name = String) => [...new Set(values)].sort((a, b) => (a > b) - (a < b)).map((value) => [String(value), name(value)]);

// On a narrow screen each row becomes a block whose cells are named by `data-name`.
const table = (name, heads, rows) => html`
  <div class="scroll" tabindex="0" role="region" aria-label=${name}><table>
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell, index) => html`<td data-name=${heads[index]}>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;

export function historyView(state, route) {
  const every = route.query.get("lines") === "all";
  return html`
    <section class="title"><h1>${t("history")}</h1>
      <nav class="tabs" aria-label=${t("history")}>
        <a href="#/history" aria-current=${every ? nothing : "page"}>${t("episodes")}</a>
        <a href="#/history?lines=all" aria-current=${every ? "page" : nothing}>${t("lines")}</a>
      </nav></section>
    ${every ? lines(state, route) : episodes(state, route)}`;
}

function episodes(state, route) {
  const all = state.episodes || [];
  const rows = all.filter((e) => matches(route, { outcome: e.outcome, ring: e.ring }));
  const outcomes = distinct(all.map((e) => e.outcome), word);
  return html`
    ${all.length > 1 ? card(t("recoveryTimes"), recoveryTimes(all)) : nothing}
    ${card(t("episodes"), html`
      ${filters(route, [["outcome", t("outcome"), outcomes], ["ring", t("ringOf"), distinct(all.map((e) => e.ring).filter((ring) => ring !== null))]])}
      ${rows.length ? table(t("episodes"), [t("number"), t("ringOf"), t("began"), t("length"), t("outcome"), t("cause")], rows.map((e) => [
        html`<a href="#/episodes/${e.number}">${e.number}</a>`, e.ring, time(e.began),
        e.ended ? span(e.seconds) : seconds((now() - Date.parse(e.began)) / 1000), outcomeBadge(e.outcome, word(e.outcome)), said(e.cause),
      ])) : empty(all.length ? t("noLines") : t("noEpisodes"))}
      ${more(state, "episodes", all.length)}`)}`;
}

function lines(state, route) {
  const all = state.lines || [];
  const rows = all.filter((n) => matches(route, { kind: n.kind, ring: n.ring, chip: n.chip })).toReversed();
  const kinds = distinct(all.map((n) => n.kind), (kind) => t(`k_${kind}`));
  return card(t("lines"), html`
    ${filters(route, [["kind", t("kind"), kinds], ["ring", t("ringOf"), distinct(all.map((n) => n.ring).filter((ring) => ring !== null))]])}
    ${rows.length ? table(t("lines"), [t("at"), t("ringOf"), t("number"), t("kind"), t("text")], rows.map((n) => [
      time(n.at), n.ring ?? "", n.episode ? html`<a href="#/episodes/${n.episode}">${n.episode}</a>` : "", t(`k_${n.kind}`), said(n.text),
    ])) : empty(t("noLines"))}
    ${more(state, "lines", all.length)}`);
}

const more = (state, name, count) => count >= state.limits[name]
  ? html`<p><button class="quiet" @click=${() => state.more(name)}>${t("more")}</button></p>` : nothing;

const matches = (route, values) => Object.entries(values).every(([name, value]) => !route.query.get(name) || route.query.get(name) === String(value));

const codeLink = (fault) => html`<a class="code" href="#/faults?code=${encodeURIComponent(fault.code)}&all=true">${fault.code}</a>`;
const level = (name) => badge(LEVELS[name] || "calm", name);
const NONE = html`<span class="quiet">–</span>`;

export function faultsView(state, route) {
  const every = route.query.get("all") === "true";
  const all = (state.faults || []).filter((fault) => every || fault.cleared === null);
  const rows = all.filter((fault) => matches(route, { chip: fault.chip, code: fault.code, level: fault.level }));
  rows.sort((a, b) => (a.cleared !== null) - (b.cleared !== null) || Date.parse(b.since) - Date.parse(a.since));
  const code = route.query.get("code");
  const values = (name) => distinct((state.faults || []).map((fault) => fault[name]));
  return html`
    <section class="title"><h1>${t("faults")}</h1></section>
    ${state.faults ? card(t("faultsPerDay"), faultsPerDay(state.faults)) : nothing}
    ${code ? explained(state.explained.get(code)) : nothing}
    ${card(t("faults"), html`
      ${filters(route, [["all", t("state"), [["true", t("withCleared")]]], ["chip", t("oneChip"), values("chip")],
        ["code", t("code"), values("code")], ["level", t("level"), values("level")]])}
      ${rows.length ? table(t("faults"), [t("state"), t("oneChip"), t("code"), t("level"), t("came"), t("went"), t("count"), t("module")], rows.map((fault) => [
        fault.cleared === null ? badge("bad", t("active")) : badge("calm", t("cleared")), html`<a href="#/chips/${fault.chip}">${fault.chip}</a>`,
        codeLink(fault), level(fault.level),
        time(fault.since), fault.cleared ? time(fault.cleared) : "", fault.count, fault.module,
      ])) : empty(every || code ? t("noFaultsAll") : t("noFaults"))}`)}`;
}

function explained(told) {
  if (!told) return nothing;
  return card(html`<span class="code">${told.code}</span>`, html`
    ${told.meaning ? html`<p>${said(told.meaning)}</p>` : nothing}
    <h3>${t("does")}</h3><ul class="does">${told.does.map((text) => html`<li>${said(text)}</li>`)}</ul>`, level(told.level || "–"));
}

export function slotsView(state, route) {
  const rows = (state.slots || []).filter((slot) => matches(route, { moved: moved(slot) }));
  return listed("slots", html`
    ${filters(route, [["moved", t("state"), [["true", t("moved")], ["false", t("atHome")]]]])}
    ${rows.length ? table(t("slots"), [t("name"), t("state"), t("chips"), t("services"), t("sinceWhen"), t("reason")], rows.map((slot) => [
      slot.name, moved(slot) ? badge("held", t("movedFrom", { chips: ranges(slot.home) })) : badge("good", t("atHome")),
      chipLinks(slot.chips), slot.containers.join(", "), time(slot.since), said(slot.reason),
    ])) : empty(t("noSlots"))}`);
}

const moved = (slot) => ranges(slot.chips) !== ranges(slot.home);
const chipLinks = (chips) => chips.map((id, n) => html`${n ? ", " : ""}<a href="#/chips/${id}">${id}</a>`);
const listed = (name, body) => html`<section class="title"><h1>${t(name)}</h1></section>${card(t(name), body)}`;

export function groupsView(state, route) {
  const all = state.groups || [];
  const rows = all.filter((group) => matches(route, { phase: group.phase }));
  const whole = (group) => group.phase === "running" && !group.down;
  return html`${listed("groups", html`
    ${filters(route, [["phase", t("state"), distinct(all.map((group) => group.phase), word)]])}
    ${rows.length ? table(t("groups"), [t("name"), t("state"), t("members"), t("round"), t("sinceWhen"), t("reason")], rows.map((group) => [
      html`<a href="#/groups/${encodeURIComponent(group.name)}">${group.name}</a>`,
      badge(whole(group) ? "good" : group.phase === "running" ? "bad" : "busy", word(group.phase)),
      `${group.members.length - group.down} ${t("of")} ${group.size || group.members.length}`, group.round || "", time(group.since), said(group.reason),
    ])) : empty(t("noGroups"))}`)}${fleetCard(state.fleet)}`;
}

const APPLIANCE = { ready: "good", running: "good", degraded: "warn", away: "bad", failed: "bad", unknown: "calm", out: "calm" };
const applianceBadge = (state) => badge(APPLIANCE[state] || "busy", word(state));

function fleetCard(fleet) {
  if (!fleet?.engine) return nothing;
  const { up, why, hint } = fleet.engine;
  return card(t("fleet"), html`
    ${up ? nothing : html`<p>${applianceBadge("away")} ${said(why)} ${advice(hint)}</p>`}
    ${fleet.remarks.map((text) => html`<p>${said(text)}</p>`)}
    ${table(t("fleet"), [t("name"), t("state"), t("sinceWhen"), t("reason")], fleet.appliances.map((a) => [
      a.name, applianceBadge(a.state), time(a.gone || a.since), a.wrong.map((w) => html`<div>${said(w.text)} ${advice(w.hint)}</div>`),
    ]))}`);
}

export function groupView(state, name) {
  const group = (state.groups || []).find((one) => one.name === name);
  if (!group) return html`<h1>${t("group", { name })}</h1><p>${t("noGroups")}</p>`;
  return html`
    <section class="title"><h1>${t("group", { name })}</h1>${group.reason ? html`<p>${said(group.reason)}</p>` : nothing}
      ${[group.hint, ...group.remarks].filter(Boolean).map((text) => html`<p class="hint">${advice(text)}</p>`)}</section>
    ${card(t("members"), table(t("members"), [t("name"), t("state"), t("chips"), t("sinceWhen"), t("reason")], group.members.map((m) => [
      m.name, m.running ? badge("good", t("running")) : m.held ? badge("held", t("held")) : badge("bad", t("down")), chipLinks(m.chips), time(m.since), said(m.reason),
    ])))}
    ${group.fleet ? card(t("fleet"), table(t("fleet"), [t("name"), t("state"), t("round"), t("members"), t("sinceWhen"), t("reason")], group.fleet.appliances.map((a) => [
      a.name, applianceBadge(a.state), a.round, a.containers.join(", "), time(a.since), said(a.reason),
    ]))) : nothing}
    ${card(t("history"), group.history.length ? table(t("history"), [t("round"), t("began"), t("length"), t("outcome"), t("cause")], group.history.map((r) => [
      r.number, time(r.began), span((Date.parse(r.ended) - Date.parse(r.began)) / 1000), outcomeBadge(r.outcome, word(r.outcome)), said(r.cause),
    ])) : empty(t("noRounds")))}`;
}

export function chipsView(state, route) {
  const { chips, rings } = state.status;
  const ringOf = (chip) => rings.find((ring) => ring.id === chip.ring);
  const rows = chips.filter((chip) => matches(route, { ring: chip.ring, state: chipState(chip, ringOf(chip))[1] }));
  const states = distinct(chips.map((chip) => chipState(chip, ringOf(chip))[1]), (key) => t(key));
  return html`
    <section class="title"><h1>${t("chips")}</h1></section>
    ${card(t("chips"), html`
      ${filters(route, [["state", t("state"), states], ["ring", t("ringOf"), distinct(chips.map((chip) => chip.ring))]])}
      ${table(t("chips"), [t("oneChip"), t("state"), t("ringOf"), t("model"), t("temperature"), t("load"), t("memory"), t("services"), t("reason")], rows.map((chip) => {
        const [tone, key] = chipState(chip, ringOf(chip)), m = readings(state.measured?.[chip.id]);
        return [html`<a href="#/chips/${chip.id}">${chip.id}</a>`, badge(tone, t(key)), chip.ring, chip.shares?.length ? `${chip.model} · ${t("shares")}: ${chip.shares.length}` : chip.model, value(m.temperature, "°C"), value(m.load, "%"), memory(m),
          chip.containers.join(", "), said(chip.reason)];
      }))}`)}`;
}

const value = (number, unit) => (number === undefined ? NONE : `${Math.round(number)} ${unit}`);
const memory = (m) => (m.memory === undefined ? NONE : `${(m.memory / 1024).toFixed(1)} ${t("of")} ${((m.memoryAll || 0) / 1024).toFixed(0)} GiB`);

export function chipView(state, number) {
  const chip = state.status.chips.find((c) => c.id === number);
  if (!chip) return html`<h1>${t("chip", { n: number })}</h1><p>${t("noChips")}</p>`;
  const ring = state.status.rings.find((r) => r.id === chip.ring);
  const [tone, key] = chipState(chip, ring), m = readings(state.measured?.[chip.id]);
  const points = state.series?.[chip.id] || [];
  const of = (name) => points.map((p) => [p.at, readings(p.measured)[name]]).filter(([, v]) => v !== undefined);
  const temperature = of("temperature"), load = of("load");
  const facts = [[t("ringOf"), ring ? ranges(ring.chips) : chip.ring], [t("model"), chip.model], [t("temperature"), value(m.temperature, "°C")], [t("load"), value(m.load, "%")],
    [t("memory"), memory(m)], [t("power"), value(m.power, "W")], [t("usedBy"), chip.containers.join(", ") || t("idle")], [t("resets"), ring?.resets ?? 0],
    ...(chip.slots?.length ? [[t("slots"), chip.slots.join(", ")]] : [])];
  const used = state.status.containers.some((c) => c.status === "running" && c.chips.some((n) => ring?.chips.includes(n)));
  return html`
    <section class="title"><h1>${t("chip", { n: chip.id })}</h1>${badge(tone, t(key))}
      ${chip.reason ? html`<p>${said(chip.reason)}</p>` : nothing}
      <div class="acts">${orderButtons(state, [chip.isolated ? ["release", { chip: chip.id }] : ["isolate", { chip: chip.id }], ["reset", { chip: chip.id, stop: used }]])}</div></section>
    <div class="columns even">
      ${card(t("state"), html`<dl class="facts">${facts.map(([name, text]) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`)}</dl>`)}
      ${card(t("lastHour"), temperature.length || load.length ? html`
        ${temperature.length ? series(temperature, t("temperature"), "°C") : nothing}
        ${load.length ? series(load, t("load"), "%", 0, 100) : nothing}<p class="quiet">${t("lastHourNote")}</p>` : empty(t("noSeries")))}
    </div>
    ${card(t("faults"), chip.faults.length ? table(t("faults"), [t("code"), t("level"), t("came"), t("count")], chip.faults.map((fault) => [
      codeLink(fault), level(fault.level), time(fault.since), fault.count,
    ])) : empty(t("noFaults")), html`<a class="more" href="#/faults?chip=${chip.id}&all=true">${t("withCleared")}</a>`)}
    ${chip.shares?.length ? card(t("shares"), table(t("shares"), [t("name"), t("template"), t("services"), t("reason")], chip.shares.map((s) => [
      s.id, s.template, s.containers.join(", "), s.there ? "" : html`${badge("bad", t("lost"))} ${said(s.why)}`]))) : nothing}
    ${chip.processes.length ? card(t("processes"), table(t("processes"), [t("pid"), t("name"), t("memory")], chip.processes.map((p) => [p.pid, p.name, `${Math.round(p.memory / 1048576)} MiB`]))) : nothing}`;
}
