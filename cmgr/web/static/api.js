// The page's way to its process: the session, readings, orders, and the stream of what happens.

const KEY = "cmgr";
// This tab's own storage, for this address and port: a cookie would be sent to every port of this machine.
let secret = sessionStorage.getItem(KEY) || "";

export class Refusal extends Error {
  constructor(status, told) {
    super(told.error || `HTTP ${status}`);
    this.status = status;
    this.hint = told.hint || "";
    this.mistakes = told.mistakes || [];
  }
}

async function ask(method, path, body) {
  let reply;
  try {
    reply = await fetch(`/api/${path}`, {
      method,
      headers: { Authorization: `Bearer ${secret}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
    });
  } catch (error) {
    throw new Refusal(0, { error: String(error.message || error) });
  }
  const told = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Refusal(reply.status, told);
  return told;
}

export const read = (path) => ask("GET", path);
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
  // Without one there is nothing to ask.
  if (!secret) throw new Refusal(401, {});
  return read("session");
}

export async function leave() {
  await ask("POST", "leave", {}).catch(() => {});
  forget();
}

export function forget() {
  secret = "";
  sessionStorage.removeItem(KEY);
}

// EventSource cannot send a header. Calls heard(name, data) for each event; returns when the stream has ended.
export async function follow(heard) {
  const reply = await fetch("/api/events", { headers: { Authorization: `Bearer ${secret}` } });
  if (!reply.ok) throw new Refusal(reply.status, await reply.json().catch(() => ({})));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const pieces = (pending + value).split("\n\n");
    pending = pieces.pop();
    for (const piece of pieces) {
      const name = /^event: (.*)$/m.exec(piece);
      const data = /^data: (.*)$/m.exec(piece);
      if (name && data) heard(name[1], JSON.parse(data[1]));
    }
  }
}
