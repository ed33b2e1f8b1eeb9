// Keys: `/` searches, `g` and a letter goes to a view, `?` tells of them. Whoever dictates or leans on keys switches them off.

import { html } from "./parts.js";
import { t } from "./texts.js";

const GO = { n: "", s: "services", c: "chips", f: "faults", h: "history", l: "slots", r: "groups", e: "fleet" };
const KEPT = "cmgr-keys", PATIENCE = 1500;
const off = () => localStorage.getItem(KEPT) === "off";
let asked = 0;

const searchBox = () => document.querySelector("input[type=search]");

export const help = () => document.getElementById("keyhelp").showModal();

// The box may be of a view that is drawn only now.
export function searches(state) {
  if (!state.searching || !searchBox()) return;
  state.searching = false;
  searchBox().focus();
}

const DO = {
  "/": (state) => {
    state.searching = true;
    if (!searchBox()) location.hash = "#/services";
    state.render();
  },
  "?": help,
  g: () => { asked = Date.now(); },
};

export function listen(state) {
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (key === "Escape" && target === searchBox()) target.blur();
    if (off() || !state.session || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (target.closest?.("input, select, textarea, dialog")) return;
    const goes = Date.now() < asked + PATIENCE && GO[key];
    asked = 0;
    if (goes !== undefined && goes !== false) location.hash = `#/${goes}`;
    else if (Object.hasOwn(DO, key)) DO[key](state);
    else return;
    event.preventDefault();
  });
}

export const helpView = (views) => html`<dialog id="keyhelp" aria-labelledby="keys"><div class="keys">
  <h2 id="keys">${t("Keys")}</h2>
  <dl class="facts">
    <dt><kbd>/</kbd></dt><dd>${t("Search")}</dd>
    ${Object.entries(GO).map(([key, path]) => html`<dt><kbd>g</kbd> <kbd>${key}</kbd></dt><dd>${t(views[path][0])}</dd>`)}
    <dt><kbd>?</kbd></dt><dd>${t("Keys")}</dd>
  </dl>
  <label class="tick"><input type="checkbox" .checked=${!off()} @change=${(event) => localStorage.setItem(KEPT, event.target.checked ? "on" : "off")}>
    ${t("Keys are on in this browser")}</label>
  <div class="buttons"><button type="button" class="do" @click=${() => document.getElementById("keyhelp").close()}>${t("Close")}</button></div></div></dialog>`;
