// What goes on from a place in a session, in a session of its own.

import { api } from "./shelf.js";
import { go, talkAddress } from "./route.js";

let forking = null; // a second click makes no second session

// forkAt goes on after an event.
export const forkAt = (id, seq) => (forking ??= api.fork(id, seq).then(({ session }) => go(talkAddress(session))).finally(() => (forking = null)));

// fork is forkAt, and after the last event where what was cut off is not on record.
export const fork = (id, here, seq) => forkAt(id, Math.min(seq || Infinity, here.session.seq));

// resend says something in place of what was said.
export async function resend(id, { session, agent }, item, text, files) {
  const next = item.after > 0 ? (await api.fork(id, item.after)).session : (await api.create(session.agent || agent)).id;
  await api.say(next, text, files);
  go(talkAddress(next));
}

// again says once more what was said last, with what it came with.
export const again = (id, here) => repeat(id, here, (item) => item.parts.filter((part) => part.data).map(({ name, mime, data }) => ({ name, mime, data })));

// drop says it without that.
export const drop = (id, here) => repeat(id, here, () => []);

async function repeat(id, here, filesOf) {
  const item = here.session.items.findLast((one) => one.type === "user");
  const files = item ? filesOf(item) : [];
  if (item && (item.text || files.length)) await resend(id, here, item, item.text, files);
}

// runFrom does a step again, and what follows it. What has failed is reported where it was
// asked for.
export async function runFrom(id, here, run, input) {
  const { session } = await api.forkStep(id, run, input);
  await api.resume(session);
  go(talkAddress(session, "flow"));
}
