// One episode: swim lanes over one axis of time, and the same as a list. While it goes on it grows.

import { badge, card, html, outcomeBadge, page, passed, ringName, said, span, svg, time, took } from "./parts.js";
import { t } from "./texts.js";

const KINDS = { fault: "bad", opened: "busy", phase: "info", action: "busy", result: "good", hold: "held", isolation: "warn", warning: "warn", closed: "good" };
const TONES = {
  listing: "calm", draining: "warn", waiting: "held", resetting: "bad", verifying: "busy", resuming: "good",
  running: "good", stopping: "warn", held: "held", starting: "busy", halting: "warn", halted: "held", ready: "held", failed: "bad",
};

const STEP_SECONDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];

function picture(told, width) {
  const { episode, lanes } = told, under = episode.ended === null;
  const whole = Math.max(under ? passed(episode.began) : 0, ...told.notes.map((note) => note.offset), 0.5);
  const narrow = width < 560, left = narrow ? 76 : 128, right = 12, row = 30, top = 26;
  const x = (s) => left + (s / whole) * (width - left - right);
  const names = { ring: () => ringName(told.ring || [episode.ring]), chip: (n) => t("chip", { n }), reset: () => t("Resets") };
  const height = top + lanes.length * row + 8;
  const step = STEP_SECONDS.find((s) => whole / s <= (narrow ? 4 : 9)) || 86400;
  const ticks = Array.from({ length: Math.floor(whole / step) + 1 }, (_, n) => n * step);
  const label = t("laneText", { n: episode.number, cause: episode.cause, outcome: t(episode.outcome), length: span(episode.seconds) });
  return html`<svg class="lanes" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${label}>
    ${ticks.map((s) => svg`<line class="grid" x1=${x(s)} x2=${x(s)} y1=${top - 6} y2=${height - 4}></line>
      <text class="tick" x=${x(s)} y="13" text-anchor=${s === 0 ? "start" : x(s) > width - 40 ? "end" : "middle"}>${s === 0 ? "0" : `+${step < 1 ? t("s", { n: s.toFixed(1) }) : span(s).replace(".0", "")}`}</text>`)}
    ${lanes.map(({ kind, name, spans }, index) => {
      const title = names[kind]?.(name) ?? name;
      return svg`<g transform="translate(0 ${top + index * row})">
        <line class="rule" x1="0" x2=${width} y1=${row - 0.5} y2=${row - 0.5}></line>
        <text class="lane" x="0" y="19">${short(title, narrow ? 10 : 17)}<title>${title}</title></text>
        ${spans.map(({ state, start, end }) => (kind === "chip" ? fault : block)(state, x(start), x(end ?? whole), end, (end ?? whole) - start))}
      </g>`;
    })}
    ${under ? svg`<line class="nowline" x1=${x(whole)} x2=${x(whole)} y1=${top - 6} y2=${height - 4}></line>` : ""}
  </svg>`;
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function block(state, from, to, _, length) {
  const width = Math.max(2, to - from), text = t(state);
  return svg`<g class="bar ${TONES[state] || (/^reset/.test(state) ? "bad" : "calm")}"><rect x=${from} y="5" width=${width} height="20" rx="4"></rect>
    ${width > text.length * 6.6 + 12 ? svg`<text x=${from + 7} y="19">${text}</text>` : ""}<title>${text}: ${span(length)}</title></g>`;
}

function fault(code, from, to, end) {
  return svg`<g class="mark"><line x1=${from} x2=${to} y1="15" y2="15"></line>
    <path d="M${from} 8l6 11h-12z" class="comes"><title>${t("faultMark", { code })}</title></path>
    ${end === null ? "" : svg`<circle cx=${to} cy="15" r="4.5" class="goes"><title>${t("faultGone", { code })}</title></circle>`}
    ${to - from > 78 ? svg`<text x=${from + 12} y="11">${code}</text>` : ""}</g>`;
}

export function episodeView(state, number) {
  const told = state[`episodes/${number}`];
  const title = t("episode", { n: number });
  if (!told) return told === null ? page(title, html`<p>${t("There is no such episode.")}</p>`) : html`<p class="quiet">${t("Looking…")}</p>`;
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
