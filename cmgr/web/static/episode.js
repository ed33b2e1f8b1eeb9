// One episode: swim lanes over one axis of time, and the same as a list. While it goes on it grows.

import { card, html, page, passed, ringName, said, span, svg, time, toneOf, took, word } from "./parts.js";
import { table } from "./tables.js";
import { t } from "./texts.js";

const STEP_SECONDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];

function picture({ episode, notes, lanes }, ring, width) {
  const under = episode.ended === null;
  const whole = Math.max(under ? passed(episode.began) : 0, ...notes.map((note) => note.offset), 0.5);
  const narrow = width < 560, left = narrow ? 76 : 128, right = 12, row = 30, top = 26, most = narrow ? 10 : 17;
  const x = (s) => left + (s / whole) * (width - left - right);
  const names = { ring: () => ringName(ring), chip: (n) => t("chip", { n }), reset: () => t("Resets") };
  const height = top + lanes.length * row + 8;
  const step = STEP_SECONDS.find((s) => whole / s <= (narrow ? 4 : 9)) || 86400;
  const ticks = Array.from({ length: Math.floor(whole / step) + 1 }, (_, n) => n * step);
  const label = t("laneText", { n: episode.number, cause: episode.cause, outcome: t(episode.outcome), length: span(episode.seconds) });
  const upright = (name, s) => svg`<line class=${name} x1=${x(s)} x2=${x(s)} y1=${top - 6} y2=${height - 4}></line>`;
  return html`<svg class="lanes" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${label}>
    ${ticks.map((s) => svg`${upright("grid", s)}
      <text x=${x(s)} y="13" text-anchor=${s === 0 ? "start" : x(s) > width - 40 ? "end" : "middle"}>${s === 0 ? "0" : `+${step < 1 ? t("s", { n: s.toFixed(1) }) : span(s).replace(".0", "")}`}</text>`)}
    ${lanes.map(({ kind, name, spans }, index) => {
      const title = names[kind]?.(name) ?? name;
      return svg`<g transform="translate(0 ${top + index * row})">
        <line class="rule" x1="0" x2=${width} y1=${row - 0.5} y2=${row - 0.5}></line>
        <text class="lane" x="0" y="19">${title.length > most ? `${title.slice(0, most - 1)}…` : title}<title>${title}</title></text>
        ${spans.map(({ state, start, end }) => (kind === "chip" ? fault(state, x(start), x(end ?? whole), end === null)
          : block(kind === "reset" ? "bad" : toneOf(state), t(state), x(start), x(end ?? whole), (end ?? whole) - start)))}
      </g>`;
    })}
    ${under ? upright("nowline", whole) : ""}
  </svg>`;
}

function block(tone, text, from, to, length) {
  const width = Math.max(2, to - from);
  return svg`<g class="bar ${tone}"><rect x=${from} y="5" width=${width} height="20" rx="4"></rect>
    ${width > text.length * 6.6 + 12 ? svg`<text x=${from + 7} y="19">${text}</text>` : ""}<title>${text}: ${span(length)}</title></g>`;
}

function fault(code, from, to, stays) {
  return svg`<g class="mark"><line x1=${from} x2=${to} y1="15" y2="15"></line>
    <path d="M${from} 8l6 11h-12z"><title>${t("faultMark", { code })}</title></path>
    ${stays ? "" : svg`<circle cx=${to} cy="15" r="4.5"><title>${t("faultGone", { code })}</title></circle>`}
    ${to - from > 78 ? svg`<text x=${from + 12} y="11">${code}</text>` : ""}</g>`;
}

export function episodeView(state, number) {
  const told = state[`episodes/${number}`], title = t("episode", { n: number });
  if (!told) return told === null ? page(title, html`<p>${t("There is no such episode.")}</p>`) : html`<p class="quiet">${t("Looking…")}</p>`;
  const { episode } = told;
  const ring = state.status.rings.find(({ id }) => id === episode.ring)?.chips || [episode.ring];
  return html`
    ${page(title, word(episode.outcome), html`
      <p>${said(episode.cause)} <span class="quiet">${time(episode.began)} · ${took(episode)}</span></p>`)}
    ${card(t("Timeline"), html`<div class="lanesbox">${state.laneWidth ? picture(told, ring, state.laneWidth) : ""}</div>`)}
    ${card(t("As a list"), table(t("As a list"), told.notes, "After Category Text When", { After: (note) => `+${span(note.offset)}` }))}`;
}
