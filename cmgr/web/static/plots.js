// Plots, as SVG drawn here. Each says in words what it shows.

import { ago, day, html, nothing, now, span, svg, when } from "./parts.js";
import { t } from "./texts.js";

const HOUR = 3600e3, DAY = 24 * HOUR, DAYS = 90;
const W = 360, H = 72;

const text = (x, y, said, anchor = "start") => svg`<text x=${x} y=${y} text-anchor=${anchor}>${said}</text>`;
const across = (name, y, left = 0) => svg`<line class=${name} x1=${left} x2=${W} y1=${y} y2=${y}></line>`;
const plot = (label, body, height = H) => html`<figure class="plot">
  <svg viewBox="0 0 ${W} ${height + 16}" role="img" aria-label=${label}>${body}</svg><figcaption>${label}</figcaption></figure>`;

export function faultsPerDay(faults) {
  const today = new Date(now()); today.setHours(24, 0, 0, 0);
  const counts = new Array(DAYS).fill(0);
  for (const fault of faults) {
    const back = Math.floor((today - Date.parse(fault.since)) / DAY);
    if (back >= 0 && back < DAYS) counts[DAYS - 1 - back] += 1;
  }
  const most = Math.max(...counts), step = W / DAYS, unit = H / Math.max(most, 4);
  const dayOf = (index) => day.format(today - (DAYS - index - 0.5) * DAY);
  return plot(t("faultsPerDayOf", { n: counts.reduce((a, b) => a + b, 0), most }), [
    across("axis", H),
    counts.map((count, index) => count ? svg`<rect x=${index * step + 0.5} width=${step - 1} y=${H - count * unit} height=${count * unit} rx="1">
      <title>${dayOf(index)}: ${count}</title></rect>` : nothing),
    [0, 30, 60].map((index) => text(index * step, H + 13, dayOf(index))), text(W, H + 13, dayOf(DAYS - 1), "end"),
  ]);
}

export function recoveryTimes(episodes) {
  const done = episodes.filter((episode) => episode.ended && episode.outcome === "recovered").slice(0, 40).reverse();
  if (done.length < 2) return "";
  const sorted = done.map((episode) => episode.seconds).sort((a, b) => a - b);
  const longest = sorted.at(-1), median = sorted[Math.floor(sorted.length / 2)];
  const x = (index) => (index + 0.5) * (W / done.length), y = (s) => H - (s / (longest * 1.1)) * H;
  return plot(t("recoveryTimesOf", { n: done.length, median: span(median), longest: span(longest) }), [
    across("axis", H), across("mean", y(median)),
    done.map(({ number, seconds, began }, index) => svg`<line class="stem" x1=${x(index)} x2=${x(index)} y1=${H} y2=${y(seconds)}></line>
      <circle class="drop" cx=${x(index)} cy=${y(seconds)} r="3.2"><title>${number}: ${span(seconds)}, ${when(began)}</title></circle>`),
    text(0, H + 13, ago(done[0].began)), text(W, H + 13, ago(done.at(-1).began), "end"),
  ]);
}

// A line over the last hour. `points`: [time in milliseconds, value].
export function series(points, name, unit, least, most) {
  const values = points.map(([, value]) => value), lowest = Math.min(...values), highest = Math.max(...values);
  const low = least ?? Math.floor((lowest - 5) / 10) * 10, high = most ?? Math.ceil((highest + 5) / 10) * 10;
  const h = 94, left = 29, end = now(), last = points.at(-1);
  const x = (at) => W - ((end - at) / HOUR) * (W - left), y = (value) => 5 + (1 - (value - low) / Math.max(1, high - low)) * (h - 5);
  // Where nobody has read for a while there is a gap, and no line that was never measured.
  const path = points.map(([at, value], n) => `${n && at - points[n - 1][0] <= HOUR / 12 ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return plot(`${name}: ${Math.round(last[1])} ${unit} (${Math.round(lowest)}–${Math.round(highest)} ${unit})`, [
    [low, (low + high) / 2, high].map((value) => [across("grid", y(value), left), text(left - 5, y(value) + 3, Math.round(value), "end")]),
    svg`<path class="line" d=${path}></path><circle class="drop" cx=${x(last[0])} cy=${y(last[1])} r="3"></circle>`,
    text(left, h + 13, `−${t("min", { n: 60 })}`), [45, 30, 15].map((n) => text(x(end - n * HOUR / 60), h + 13, `−${t("min", { n })}`, "middle")),
    text(W, h + 13, t("Now").toLowerCase(), "end"),
  ], h);
}
