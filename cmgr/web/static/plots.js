// Plots, as SVG drawn here. Each says in words what it shows.

import { ago, day, html, nothing, now, span, svg, when } from "./parts.js";
import { t } from "./texts.js";

const DAY = 86400e3;
const DAYS = 90;

export function faultsPerDay(faults) {
  const today = new Date(now()); today.setHours(24, 0, 0, 0);
  const counts = new Array(DAYS).fill(0);
  for (const fault of faults) {
    const back = Math.floor((today - Date.parse(fault.since)) / DAY);
    if (back >= 0 && back < DAYS) counts[DAYS - 1 - back] += 1;
  }
  const most = Math.max(...counts), n = counts.reduce((a, b) => a + b, 0);
  const w = 360, h = 72, step = w / DAYS, top = Math.max(most, 4);
  const label = t("faultsPerDayOf", { n, most });
  const dayOf = (index) => day.format(today - (DAYS - index - 0.5) * DAY);
  return html`<figure class="plot">
    <svg viewBox="0 0 ${w} ${h + 16}" role="img" aria-label=${label}>
      <line class="axis" x1="0" x2=${w} y1=${h} y2=${h}></line>
      ${counts.map((count, index) => count ? svg`<rect class="bar bad" x=${index * step + 0.5} width=${step - 1} y=${h - (count / top) * h} height=${(count / top) * h} rx="1">
        <title>${dayOf(index)}: ${count}</title></rect>` : nothing)}
      ${[0, 30, 60, 89].map((index) => svg`<text x=${index === 89 ? w : index * step} y=${h + 13} text-anchor=${index === 89 ? "end" : "start"}>${dayOf(index)}</text>`)}
    </svg><figcaption>${label}</figcaption></figure>`;
}

export function recoveryTimes(episodes) {
  const done = episodes.filter((episode) => episode.ended && episode.outcome === "recovered").slice(0, 40).reverse();
  if (done.length < 2) return nothing;
  const lengths = done.map((episode) => episode.seconds);
  const sorted = [...lengths].sort((a, b) => a - b);
  const longest = sorted.at(-1), median = sorted[Math.floor(sorted.length / 2)];
  const w = 360, h = 72, top = longest * 1.1, step = w / done.length, y = (s) => h - (s / top) * h;
  const label = t("recoveryTimesOf", { n: done.length, median: span(median), longest: span(longest) });
  return html`<figure class="plot">
    <svg viewBox="0 0 ${w} ${h + 16}" role="img" aria-label=${label}>
      <line class="axis" x1="0" x2=${w} y1=${h} y2=${h}></line>
      <line class="mean" x1="0" x2=${w} y1=${y(median)} y2=${y(median)}></line>
      ${done.map((episode, index) => svg`<line class="stem" x1=${(index + 0.5) * step} x2=${(index + 0.5) * step} y1=${h} y2=${y(episode.seconds)}></line>
        <circle class="drop" cx=${(index + 0.5) * step} cy=${y(episode.seconds)} r="3.2"><title>${episode.number}: ${span(episode.seconds)}, ${when(episode.began)}</title></circle>`)}
      <text x="0" y=${h + 13}>${ago(done[0].began)}</text><text x=${w} y=${h + 13} text-anchor="end">${ago(done.at(-1).began)}</text>
    </svg><figcaption>${label}</figcaption></figure>`;
}

// A line over the last hour. `points`: [time in milliseconds, value].
export function series(points, name, unit, least, most) {
  const values = points.map(([, value]) => value);
  const low = least ?? Math.floor((Math.min(...values) - 5) / 10) * 10, high = most ?? Math.ceil((Math.max(...values) + 5) / 10) * 10;
  const w = 420, h = 110, left = 34, end = now(), begin = end - 3600e3;
  const x = (at) => left + ((at - begin) / 3600e3) * (w - left), y = (value) => 6 + (1 - (value - low) / Math.max(1, high - low)) * (h - 6);
  const path = points.map(([at, value], index) => {
    // Where nobody has read for a while there is a gap, and no line that was never measured.
    const gap = index === 0 || at - points[index - 1][0] > 5 * 60e3;
    return `${gap ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  }).join("");
  const last = points.at(-1);
  const label = `${name}: ${Math.round(last[1])} ${unit} (${Math.round(Math.min(...values))}–${Math.round(Math.max(...values))} ${unit})`;
  return html`<figure class="plot"><figcaption>${label}</figcaption>
    <svg viewBox="0 0 ${w} ${h + 18}" role="img" aria-label=${label}>
      ${[low, (low + high) / 2, high].map((value) => svg`<line class="grid" x1=${left} x2=${w} y1=${y(value)} y2=${y(value)}></line>
        <text x=${left - 6} y=${y(value) + 4} text-anchor="end">${Math.round(value)}</text>`)}
      <path class="line" d=${path}></path>
      <circle class="drop" cx=${x(last[0])} cy=${y(last[1])} r="3"></circle>
      ${[60, 45, 30, 15, 0].map((minutes) => svg`<text x=${Math.min(w - 2, x(end - minutes * 60e3))} y=${h + 15} text-anchor=${minutes === 0 ? "end" : minutes === 60 ? "start" : "middle"}>${minutes ? `−${t("min", { n: minutes })}` : t("now").toLowerCase()}</text>`)}
    </svg></figure>`;
}

