// The page's way to its process: the session, readings, orders, and the stream of what happens.

import { lang } from "./texts.js";

const KEY = "cmgr";
// This tab's own storage, for this address and port: a cookie would be sent to every port of this machine.
let secret = sessionStorage.getItem(KEY) || "";

class Refusal extends Error {
  constructor(status, { error = `HTTP ${status}`, hint = "", mistakes = [] }) {
    super(error);
    Object.assign(this, { status, hint, mistakes });
  }
}

// The service, and its process here, say their sentences in this language, as far as they can.
const spoken = (path) => (lang === "en" ? path : `${path}${path.includes("?") ? "&" : "?"}lang=${lang}`);

async function send(method, path, body) {
  const headers = { Authorization: `Bearer ${secret}`, ...(body && { "Content-Type": "application/json" }) };
  const reply = await fetch(`/api/${spoken(path)}`, { method, headers, body: body && JSON.stringify(body) })
    .catch((error) => { throw new Refusal(0, { error: error.message }); });
  if (!reply.ok) throw new Refusal(reply.status, await reply.json().catch(() => ({})));
  return reply;
}

const ask = async (...what) => (await send(...what)).json();
export const read = async (path, form = "json") => (await send("GET", path))[form]();
export const order = (what, args) => ask("POST", `orders/${what}`, args);

export async function enter() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("t");
  if (ticket) {
    // Gone from the address before anything else is done: it is worth a session.
    history.replaceState(null, "", `${location.pathname}${location.search}#/`);
    const told = await ask("POST", "enter", { ticket });
    secret = told.session;
    sessionStorage.setItem(KEY, secret);
    return told;
  }
  if (!secret) throw new Refusal(401, {});
  return read("session");
}

export const leave = () => ask("POST", "leave", {}).catch(() => {});

export function forget() {
  secret = "";
  sessionStorage.removeItem(KEY);
}

// EventSource cannot send a header. Calls heard(name, data) for each event, heard("beat") before; returns when it has ended.
export async function follow(heard) {
  const reader = (await send("GET", "events")).body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard("beat");
    const pieces = (pending + value).split("\n\n");
    pending = pieces.pop();
    for (const piece of pieces) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(piece) || [];
      if (name) heard(name, JSON.parse(data));
    }
  }
}
