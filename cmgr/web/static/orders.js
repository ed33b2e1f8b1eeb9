// Orders: a button says which, a dialog says what will happen, and only its button gives the order.

import { html, said, sign, span, toDo } from "./parts.js";
import { order } from "./api.js";
import { t } from "./texts.js";

// Of each order: the word on its button, and the title of its dialog where that is another.
const WORDS = {
  isolate: ["Isolate", "isolateChip"], release: ["Release", "releaseChip"], reset: ["Reset", "resetChip"],
  cancel: ["Take back", "cancelChip"],
  resume: ["Resume", "resumeName"], forget: ["Give back", "forgetName"], acknowledge: ["Acknowledge"],
};
function wordsOf({ do: what, args }) {
  if (what === "maintenance") return [args.on ? "Begin maintenance" : "End maintenance"];
  if (what === "forget" && args.runtime) return undefined;
  if (what === "cancel" && args.reboot) return ["Call off", "cancelReboot"];
  return what === "resume" && args.all ? ["Resume all"] : WORDS[what];
}
const titleOf = (asked) => t(wordsOf(asked).at(-1), asked.args);

// A service that was not restarted after an update tells no orders yet.
export function orderButtons(state, orders = [], kind = "") {
  // Without the service nothing can be ordered, and an order that is refused for that helps nobody.
  if (!state.session?.orders || state.away) return "";
  // Some are for the command line only.
  return orders.filter(wordsOf).map((one) => html`
    <button type="button" class=${kind} @click=${() => open(state, one)}>${t(wordsOf(one)[0])}</button>`);
}

const box = () => document.getElementById("order");

function open(state, { do: what, args }) {
  const more = what === "isolate" ? { reason: "" } : args.on ? { seconds: 4 * 3600 } : {};
  state.dialog = { do: what, args: { ...args, ...more }, turn: 0 };
  state.render();
  box().showModal();
  preview(state, state.dialog);
}

// Of several questions about one order only the answer to the last counts.
async function sent(state, asked, args, taken) {
  const turn = asked.turn += 1, isLast = () => asked.turn === turn;
  try {
    const told = await order(asked.do, args);
    if (isLast()) { taken(told); asked.refusal = null; }
  } catch (refusal) {
    if (isLast()) asked.refusal = refusal;
    if (refusal.status === 401) state.over();
  }
  if (isLast()) asked.busy = false;
  state.render();
}

function preview(state, asked) {
  asked.does = asked.refusal = null;
  state.render();
  // The reason changes nothing of it, and is not there yet.
  const reason = asked.do === "isolate" ? { reason: "preview" } : {};
  sent(state, asked, { ...asked.args, ...reason, preview: true }, ({ does }) => { asked.does = does; });
}

function give(state, event) {
  event.preventDefault();
  const asked = state.dialog;
  asked.busy = true;
  state.render();
  sent(state, asked, asked.args, ({ did }) => { box().close(); state.tell(done(did, asked)); });
}

// A service that was not restarted after an update does not say what it did.
function done(did, asked) {
  return did?.length ? did.map((text, n) => html`${n ? html`<br>` : ""}${said(text)}`) : t("givenLine", { text: titleOf(asked) });
}

export function dialogView(state) {
  const asked = state.dialog;
  const closed = () => { state.dialog = null; state.render(); };
  return html`<dialog id="order" aria-labelledby="asked" @close=${closed}>${asked ? html`
    <form @submit=${(event) => give(state, event)}>
      <h2 id="asked">${titleOf(asked)}</h2>
      <div aria-live="polite">
        ${asked.refusal ? refused(asked.refusal) : html`
          <h3>${t("What will happen")}</h3>
          ${asked.does ? html`<ul class="does">${asked.does.map((text) => html`<li>${said(text)}</li>`)}</ul>${earlier(state, asked)}`
            : html`<p class="quiet">${t("Looking…")}</p>`}`}
      </div>
      ${asked.do === "isolate" ? html`<label>${t("Reason")}
        <input name="reason" required maxlength="200" autocomplete="off" aria-describedby="help" .value=${asked.args.reason}
          @input=${(event) => { asked.args.reason = event.target.value; asked.refusal = null; }}>
        <small id="help">${t("reasonHelp")}</small></label>` : ""}
      ${"stop" in asked.args ? html`<label class="tick"><input type="checkbox" name="stop" ?disabled=${asked.busy} .checked=${asked.args.stop} @change=${(event) => { asked.args.stop = event.target.checked; preview(state, asked); }}>
        ${t("stopUsers")}</label>` : ""}
      ${asked.do === "maintenance" && asked.args.on ? html`<label>${t("It ends by itself after")}
        <select name="hours" ?disabled=${asked.busy} @change=${(event) => { asked.args.seconds = Number(event.target.value) * 3600; preview(state, asked); }}>
          ${[0.5, 1, 2, 4, 8, 24].map((n) => html`<option value=${n} ?selected=${asked.args.seconds === n * 3600}>${n < 1 ? t("min", { n: n * 60 }) : t("h", { n })}</option>`)}
        </select></label>` : ""}
      <div class="buttons">
        <button type="button" class="quiet" @click=${() => box().close()}>${t("Cancel")}</button>
        <button type="submit" class="do" ?disabled=${asked.busy || Boolean(asked.refusal) || !asked.does}>${t("Give the order")}</button>
      </div>
    </form>` : ""}</dialog>`;
}

const refused = (refusal) => html`
  <div class="refused bad">${sign("bad", 18)}<div><strong>${t("This cannot be done")}</strong>
    <p>${said(refusal.message)}</p>
    ${refusal.hint && html`<p>${toDo(refusal.hint)}</p>`}
    ${refusal.mistakes.map((text) => html`<p>${said(text)}</p>`)}</div></div>`;

// How long it may take is what it took before.
function earlier(state, asked) {
  if (asked.do !== "reset") return "";
  const ring = state.status.chips.find((chip) => chip.id === asked.args.chip)?.ring;
  const lengths = (state.episodes || []).filter((e) => e.ring === ring && e.outcome === "recovered").slice(0, 10).map((e) => e.seconds);
  if (!lengths.length) return "";
  return html`<p class="quiet">${t("earlier", { n: lengths.length, from: span(Math.min(...lengths)), to: span(Math.max(...lengths)) })}</p>`;
}
