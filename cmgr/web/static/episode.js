// One episode: swim lanes over one axis of time, and the same as a list. While it goes on it grows.

import { badge, card, html, keyOf, outcomeBadge, page, passed, ringName, said, span, svg, time, took } from "./parts.js";
import { t } from "./texts.js";

const KINDS = { fault: "bad", opened: "busy", phase: "info", action: "busy", result: "good", hold: "held", isolation: "warn", warning: "warn", closed: "good" };
const CHANGE = /^(\w+) → (\w+)/;

// What a container does after a line of the timeline, by how the line begins or ends.
const STEPS = [
  ["action", /^(stop|pause|kill) /, "stopping"],
  ["result", /\bis (stopped|paused|down)\b|\bhas ended\b|\bis killed\b/, "held"],
  ["action", /^(start|resume|unpause|restart) /, "starting"],
  ["result", /\bruns again\b|\bruns\b|\bis ready\b/, "running"],
];
// Where the members of a group on another appliance are.
const OTHER = /^group (\S+): appliance (\S+) (?:is|has)(?: left)? (\w+)/;
const OTHERS = { running: "good", halting: "warn", halted: "held", ready: "held", failed: "bad" };
const NAME = [/^(?:stop|pause|kill|start|resume|unpause|restart) (\S+)/, /^(\S+) (?:will be|is stopped|is paused|runs)/];

export function lanes(told, end) {
  const bands = [], faults = new Map(), containers = new Map(), others = new Map(), resets = [];
  const cut = (rows, moment) => { const last = rows.at(-1); if (last && last.to === null) last.to = moment; };
  for (const note of told.notes) {
    const x = Math.max(0, note.offset);
    const change = note.kind === "phase" && CHANGE.exec(note.text);
    if (change) {
      cut(bands, x); cut(resets, x);
      const phase = change[2];
      if (phase !== "healthy") bands.push({ state: phase, from: x, to: null });
      if (phase === "resetting") resets.push({ text: /reset \d+ of \d+/.exec(note.text)?.[0] || t("reset"), from: x, to: null });
    }
    if (note.kind === "fault" && note.chip !== null) {
      const rows = faults.get(note.chip) || faults.set(note.chip, []).get(note.chip);
      const code = /\b[0-9A-F]{8}\b|Xid \d+/.exec(note.text)?.[0] || "";
      const open = rows.findLast((row) => row.code === code && row.to === null);
      if (/no longer/.test(note.text)) { if (open) open.to = x; } else if (!open) rows.push({ code, from: x, to: null });
    }
    const of = (lanes, key, name) => lanes.get(key) || lanes.set(key, { name, spans: [{ state: "running", from: 0, to: null }] }).get(key);
    const enters = ({ spans }, state) => { if (spans.at(-1).state !== state) { cut(spans, x); spans.push({ state, from: x, to: null }); } };
    const [, group, appliance, state] = OTHER.exec(note.text) || [];
    if (group) enters(of(others, `${appliance} ${group}`, `${appliance} (${group})`), state);
    if (note.container) {
      const lane = of(containers, keyOf(note.container), note.container.id);
      for (const form of NAME) lane.name = form.exec(note.text)?.[1]?.replace(/[:;,]$/, "") || lane.name;
      const step = STEPS.find(([kind, form]) => kind === note.kind && form.test(note.text));
      if (step) enters(lane, step[2]);
    }
  }
  const whole = Math.max(end, ...told.notes.map((note) => note.offset), 0.5);
  for (const rows of [bands, resets, ...[...containers.values(), ...others.values()].map((lane) => lane.spans)]) cut(rows, whole);
  for (const rows of faults.values()) for (const row of rows) if (row.to === null) row.last = true, row.to = whole;
  const named = (lanes) => [...lanes.values()].sort((a, b) => a.name.localeCompare(b.name));
  return { bands, faults, containers: named(containers), others: named(others), resets, whole };
}

const STEP_SECONDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];

function picture(told, width) {
  const under = told.episode.ended === null;
  const found = lanes(told, under ? passed(told.episode.began) : 0);
  const narrow = width < 560, left = narrow ? 76 : 128, right = 12, row = 30, top = 26;
  const x = (s) => left + (s / found.whole) * (width - left - right);
  const rows = [
    { name: ringName(told.ring || [told.episode.ring]), bars: found.bands.map((b) => ({ ...b, text: t(b.state), tone: `p-${b.state}` })) },
    ...[...found.faults].sort(([a], [b]) => a - b).map(([chip, marks]) => ({ name: t("chip", { n: chip }), marks })),
    ...(found.resets.length ? [{ name: t("Resets"), bars: found.resets.map((r) => ({ ...r, tone: "p-resetting" })) }] : []),
    ...found.containers.map((lane) => ({ name: lane.name, bars: lane.spans.map((s) => ({ ...s, text: t(s.state), tone: `c-${s.state}` })) })),
    ...found.others.map((lane) => ({ name: lane.name, bars: lane.spans.map((s) => ({ ...s, text: t(s.state), tone: OTHERS[s.state] || "calm" })) })),
  ];
  const height = top + rows.length * row + 8;
  const step = STEP_SECONDS.find((s) => found.whole / s <= (narrow ? 4 : 9)) || 86400;
  const ticks = Array.from({ length: Math.floor(found.whole / step) + 1 }, (_, n) => n * step);
  const label = t("laneText", { n: told.episode.number, cause: told.episode.cause, outcome: t(told.episode.outcome), length: span(told.episode.seconds) });
  return html`<svg class="lanes" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${label}>
    ${ticks.map((s) => svg`<line class="grid" x1=${x(s)} x2=${x(s)} y1=${top - 6} y2=${height - 4}></line>
      <text class="tick" x=${x(s)} y="13" text-anchor=${s === 0 ? "start" : x(s) > width - 40 ? "end" : "middle"}>${s === 0 ? "0" : `+${step < 1 ? t("s", { n: s.toFixed(1) }) : span(s).replace(".0", "")}`}</text>`)}
    ${rows.map((lane, index) => {
      const y = top + index * row;
      return svg`<g transform="translate(0 ${y})">
        <line class="rule" x1="0" x2=${width} y1=${row - 0.5} y2=${row - 0.5}></line>
        <text class="lane" x="0" y="19">${short(lane.name, narrow ? 10 : 17)}<title>${lane.name}</title></text>
        ${lane.bars?.map((bar) => block(bar, x))}
        ${lane.marks?.map((mark) => fault(mark, x))}
      </g>`;
    })}
    ${under ? svg`<line class="nowline" x1=${x(found.whole)} x2=${x(found.whole)} y1=${top - 6} y2=${height - 4}></line>` : ""}
  </svg>`;
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function block(bar, x) {
  const from = x(bar.from), width = Math.max(2, x(bar.to) - from);
  const room = width > (bar.text || "").length * 6.6 + 12;
  return svg`<g class="bar ${bar.tone}"><rect x=${from} y="5" width=${width} height="20" rx="4"></rect>
    ${room ? svg`<text x=${from + 7} y="19">${bar.text}</text>` : ""}<title>${bar.text}: ${span(bar.to - bar.from)}</title></g>`;
}

function fault(mark, x) {
  const from = x(mark.from), to = x(mark.to), inside = to - from > 78;
  return svg`<g class="mark"><line x1=${from} x2=${to} y1="15" y2="15"></line>
    <path d="M${from} 8l6 11h-12z" class="comes"><title>${t("faultMark", { code: mark.code })}</title></path>
    ${mark.last ? "" : svg`<circle cx=${to} cy="15" r="4.5" class="goes"><title>${t("faultGone", { code: mark.code })}</title></circle>`}
    ${inside ? svg`<text x=${from + 12} y="11">${mark.code}</text>` : ""}</g>`;
}

export function episodeView(state, number) {
  const told = state.timelines.get(number);
  const title = t("episode", { n: number });
  if (!told) return Object.is(state.missing, number) ? page(title, html`<p>${t("There is no such episode.")}</p>`) : html`<p class="quiet">${t("Looking…")}</p>`;
  const { episode } = told;
  told.ring = state.status.rings.find((ring) => ring.id === episode.ring)?.chips ?? told.ring;
  return html`
    ${page(title, outcomeBadge(episode.outcome), html`
      <p><span class="cause">${said(episode.cause)}</span> <span class="quiet">${time(episode.began)} · ${took(episode)}</span></p>`)}
    ${card(t("Timeline"), html`<div class="lanesbox">${state.laneWidth ? picture(told, state.laneWidth) : ""}</div>`)}
    ${card(t("As a list"), html`<ol class="notes">${told.notes.map((note) => html`
      <li class=${note.kind}>
        <span class="offset">+${span(note.offset)}</span>
        ${badge(KINDS[note.kind] || "calm", t(note.kind))}
        <span class="text">${said(note.text)}</span>
        ${time(note.at)}
      </li>`)}</ol>`)}`;
}
