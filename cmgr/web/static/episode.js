// One episode: swim lanes over one axis of time, and the same as a list. While it goes on it grows.

import { read } from "./api.js";
import { card, html, page, passed, ringName, said, span, svg, time, toneOf, took, word } from "./parts.js";
import { table } from "./tables.js";
import { t } from "./texts.js";

const STEP_SECONDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
const TAIL = 0.12;

// When the last of those that were down runs again: from there on they are only watched, which is drawn as a short tail
// (as view/text/drawing.py has it).
function upAgain(lanes, whole) {
  const ends = lanes.filter(({ kind, spans }) => kind === "container" && spans.length > 1).map(({ spans }) => spans.at(-1));
  const up = Math.max(0, ...ends.map(({ start }) => start));
  return up && ends.every(({ state }) => state === "running") && whole - up > 0.25 * whole ? up : whole;
}

function picture({ episode, notes, lanes }, ring, width) {
  const under = episode.ended === null;
  const whole = Math.max(under ? passed(episode.began) : 0, ...notes.map((note) => note.offset), 0.5);
  const narrow = width < 560, left = narrow ? 76 : 128, right = 12, row = 30, top = 26, most = narrow ? 10 : 17;
  const up = upAgain(lanes, whole), room = width - left - right, bend = left + room * (up < whole ? 1 - TAIL : 1);
  const x = (s) => (s <= up ? left + (s / up) * (bend - left) : bend + ((s - up) / (whole - up)) * room * TAIL);
  const names = { ring: () => ringName(ring), chip: (n) => t("chip", { n }), reset: () => t("Resets") };
  const height = top + lanes.length * row + 8;
  const step = STEP_SECONDS.find((s) => up / s <= (narrow ? 4 : 9)) || 86400;
  const ticks = Array.from({ length: Math.floor(up / step) + 1 }, (_, n) => n * step);
  const label = t("laneText", { n: episode.number, cause: episode.cause, outcome: t(episode.outcome), length: span(episode.seconds) });
  const upright = (name, s) => svg`<line class=${name} x1=${x(s)} x2=${x(s)} y1=${top - 6} y2=${height - 4}></line>`;
  return html`<svg class="lanes" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${label}>
    ${up < whole ? svg`<rect class="tail" x=${bend} y=${top - 6} width=${room * TAIL} height=${height - top + 2}><title>${t("settling")}: ${span(whole - up)}</title></rect>` : ""}
    ${ticks.map((s) => svg`${upright("grid", s)}
      <text x=${x(s)} y="13" text-anchor=${s === 0 ? "start" : x(s) > bend - 40 ? "end" : "middle"}>${s === 0 ? "0" : `+${step < 1 ? t("s", { n: s.toFixed(1) }) : span(s).replace(".0", "")}`}</text>`)}
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

// So many lines of a kind in a row, each about a container, are one step.
const FOLDS = 4;

function steps(notes) {
  const found = [];
  for (const note of notes) {
    const last = found.at(-1);
    if (note.container && last?.at(-1).container && last.at(-1).kind === note.kind) last.push(note);
    else found.push([note]);
  }
  return found.flatMap((step) => (step.length < FOLDS ? step : [{ ...step[0], rest: step.slice(1) }]));
}

const after = (note) => `+${span(note.offset)}`;
const Text = ({ text, rest }) => html`${said(text)}${rest ? html`<details><summary>${t("andLikeIt", { n: rest.length })}</summary>
  ${rest.map((note) => html`<div>${after(note)} ${said(note.text)}</div>`)}</details>` : ""}`;

// The service draws it, for a ticket. The answer is called JSON, so that no browser ever shows it as a page of this origin.
async function save(number) {
  const text = await read(`episodes/${number}/picture`, "text");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = `episode-${number}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function episodeView(state, number) {
  const told = state[`episodes/${number}`], title = t("episode", { n: number });
  if (!told) return told === null ? page(title, html`<p>${t("There is no such episode.")}</p>`) : html`<p class="quiet">${t("Looking…")}</p>`;
  const { episode } = told;
  const ring = state.status.rings.find(({ id }) => id === episode.ring)?.chips || [episode.ring];
  const picks = () => save(number).catch((refusal) => (refusal.status === 401 ? state.over() : state.tell(refusal.message)));
  return html`
    ${page(title, word(episode.outcome), html`
      <p>${said(episode.cause)} <span class="quiet">${time(episode.began)} · ${took(episode)}</span></p>`)}
    ${card(t("Timeline"), html`<div class="lanesbox">${state.laneWidth ? picture(told, ring, state.laneWidth) : ""}</div>`, html`
      <button type="button" class="more" @click=${picks}>${t("Save the picture")}</button>`)}
    ${card(t("As a list"), table(t("As a list"), steps(told.notes), "After Category Text When", { After: after, Text }))}`;
}
