// Many chips at a glance: a cell each, its load and its temperature as shades and as numbers, whatever ails marked.

import { chipState, html, nothing, ranges, readings, ringName, sign, toneOf } from "./parts.js";
import { t } from "./texts.js";

// Above these shares of a colour letters on it would be hard to read (4.5 : 1).
const DEEPEST = 40, COLD = 30, HOT = 95;
const shade = (share) => `--share:${(Math.min(1, Math.max(0, share)) * DEEPEST).toFixed(1)}%`;

function cell(chip, ring, measured) {
  const how = chipState(chip, ring), tone = toneOf(how), { load, temperature } = readings(measured);
  const band = (name, value, unit, share) => (value === undefined ? html`<span class=${name}></span>`
    : html`<span class=${name} .style=${shade(share)}>${Math.round(value)}${unit}</span>`);
  const code = chip.faults[0]?.code || "";
  return html`<a class="cell ${tone}" href="#/chips/${chip.id}" title="${t("chip", { n: chip.id })}: ${t(how)} ${code}">
    <span class="id"><span class="unseen">${t("Chip")} </span>${chip.id}${tone === "good" ? nothing : sign(tone, 12)}<span class="unseen"> ${t(how)} ${code}</span></span>
    ${band("load", load, "%", load / 100)}${band("heat", temperature, "°", (temperature - COLD) / (HOT - COLD))}</a>`;
}

export function heatMap({ status, measured }) {
  const rings = status.rings.filter((ring) => ring.chips.length > 1);
  const alone = status.rings.filter((ring) => ring.chips.length === 1);
  const chips = Object.fromEntries(status.chips.map((chip) => [chip.id, chip]));
  const cells = (ring) => ring.chips.filter((id) => chips[id]).map((id) => cell(chips[id], ring, measured?.[id]));
  const block = (name, held, busy, size) => html`<section class="block ${busy ? "busy" : ""} ${size > 4 ? "eight" : ""}"><h3>${name}</h3><div class="cells">${held}</div></section>`;
  return html`<div class="heatmap">
    ${rings.map((ring) => block(html`${ringName(ring.chips)}${ring.episode === null ? "" : ` · ${t(ring.phase)}`}`, cells(ring), ring.episode !== null, ring.chips.length))}
    ${alone.length ? block(`${t("Chips")} ${ranges(alone.flatMap((ring) => ring.chips))}`, alone.map(cells), false, alone.length) : ""}</div>
    <p class="quiet legend"><span class="load" .style=${shade(1)}>${t("Load")}</span> <span class="heat" .style=${shade(1)}>${t("Temperature")}</span></p>`;
}
