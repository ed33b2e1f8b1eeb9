// Services: whoever ails first, and a page of each with what was done to it.

import { badge, card, html, keyOf, nothing, page, said, sign, time, toDo, toneOf, when, word } from "./parts.js";
import { orderButtons } from "./orders.js";
import { cellOf, filtered, more, table } from "./tables.js";
import { t } from "./texts.js";

const STATUS = { pausing: "stopping", paused: "held", resuming: "starting" };
export const stateOf = ({ status, serves, health }) => (status !== "running" || serves ? STATUS[status] || status
  : /^(unhealthy|starting)$/.test(health) ? health : "not serving");

const WORST = ["bad", "warn", "busy", "held", "calm", "good"];
const rank = (c) => WORST.indexOf(toneOf(stateOf(c)));
const inOrder = new Intl.Collator(undefined, { numeric: true }).compare;
export const worstFirst = (containers) => containers.toSorted((a, b) => rank(a) - rank(b) || inOrder(a.name, b.name));
export const ails = (c) => toneOf(stateOf(c)) !== "good" || c.warnings?.length > 0;

export const wholeOf = (c) => ["group", "project", "unit"].filter((name) => c[name]).map((name) => t(name, { name: c[name] }))[0] || "";

const reasonOf = (c) => html`${said(c.reason)}
  ${c.ready && html`<div class="quiet">${c.ready} → ${said(c.answer || "…")}</div>`}
  ${c.warnings?.map((w) => html`<div class="warn">${sign("warn", 12)} ${said(w)}</div>`)}`;

const ROW = (state) => ({
  Name: (c) => html`<a href="#/services/${encodeURIComponent(c.called)}"><strong>${c.name}</strong></a>${c.namespace ? ` · ${c.namespace}` : ""}`,
  State: (c) => html`${word(stateOf(c))} ${orderButtons(state, c.orders)}`, Reason: reasonOf,
});
const sinceOf = (c) => (c.reason || !c.since ? "" : html`<span class="quiet">${t("since", { at: when(c.since) })}</span>`);
const servicesTable = (state, name, rows) => table(name, rows, "Name Chips State Reason", { ...ROW(state), Reason: (c) => html`${sinceOf(c)}${reasonOf(c)}` });

export const servicesView = (state, route) => html`${page(t("Services"))}${filtered(state, route, {
  name: "Services", all: worstFirst(state.status.containers), filters: { state: ["State", t, stateOf], whole: ["Part of", String, wholeOf] },
  heads: "Name Chips State Since Reason", none: t("noServices"),
  own: { ...ROW(state), Name: (c) => html`${ROW(state).Name(c)}${wholeOf(c) && html`<div class="quiet">${wholeOf(c)}</div>`}` },
})}`;

export function serviceView(state, called) {
  const c = state.status.containers.find((one) => one.called === called);
  if (!c) return html`${page(called)}<p>${t("There is no such service.")} <a href="#/services">${t("Services")}</a></p>`;
  const lines = (state.history || []).filter((line) => line.container && keyOf(line.container) === keyOf(c)).toReversed();
  const facts = {
    Chips: c.chips.length && cellOf("Chips")(c), Slots: c.slots?.join(", "), "Part of": wholeOf(c), Runtime: c.runtime, Since: c.since && time(c.since),
    Strategy: c.strategy, "Started by": c.owner, Health: c.health && word(c.health), "Asked by cmgr": c.ready && html`${c.ready} → ${said(c.answer || "…")}`,
    Restarts: c.heal && `${c.heal.restarts} ${t("of")} ${c.heal.limit}`,
  };
  return html`
    ${page(c.name, word(stateOf(c)), c.reason && html`<p>${said(c.reason)}</p>`, c.hint && html`<p>${toDo(c.hint)}</p>`, html`
      <div class="acts">${orderButtons(state, c.orders)}</div>`)}
    ${c.warnings?.map((text) => html`<p>${badge("warn", t("warning"))} ${said(text)}</p>`)}
    ${card(t("State"), html`<dl class="facts">${Object.entries(facts).map(([name, fact]) => (fact ? html`<dt>${t(name)}</dt><dd>${fact}</dd>` : nothing))}</dl>`)}
    ${card(t("What was done to it"), html`${lines.length ? table(t("What was done to it"), lines, "When Number Category Text") : html`<p class="empty">${t("noLinesOfIt")}</p>`}
      ${more(state, "history")}`)}`;
}

// Of many only those that ail, and not all of these: the rest is one step away.
const MOST = 12;

export function servicesNow(state) {
  const all = worstFirst(state.status.containers);
  if (!all.length) return card(t("Services"), html`<p class="empty">${t("noServices")}</p>`);
  const link = html`<a class="more" href="#/services">${t("allServices", { n: all.length })}</a>`;
  if (all.length > MOST) {
    const ill = all.filter(ails);
    return card(t("Services"), html`${ill.length ? servicesTable(state, t("Services"), ill.slice(0, MOST)) : ""}
      <p class="empty">${ill.length > MOST ? t("moreAil", { n: ill.length - MOST }) : ""} ${t("othersWell", { n: all.length - ill.length })}</p>`, link);
  }
  const groups = Object.entries(Object.groupBy(all, wholeOf)).sort(([a], [b]) => !a - !b || inOrder(a, b));
  return card(t("Services"), groups.map(([title, rows]) => html`
    ${groups.length > 1 ? html`<h3 class="group">${title || t("On their own")}</h3>` : ""}
    ${servicesTable(state, title || t("Services"), rows)}`), link);
}
