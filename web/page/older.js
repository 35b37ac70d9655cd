// Lists of conversations that go on: those that were touched last, and older ones where somebody
// asks for them.

import { get } from "./api.js";
import { app, leaving, listers, toast, told, update } from "./state.js";
import { html, useCalm, useEffect, useRef, useState } from "./view.js";

const perPage = 200, again = 5, most = 1000; // which the server lists at once

// ask asks for so many conversations with agents, with all where none is named, after the first ones.
async function ask(agents, skip, count) {
  const found = [];
  while (found.length < count) {
    const limit = Math.min(most, count - found.length);
    const page = await get("api/sessions?" + new URLSearchParams([["limit", limit], ["skip", skip + found.length], ...agents.map((name) => ["agent", name])]));
    found.push(...page);
    if (page.length < limit) break;
  }
  return found;
}

// take takes over what was listed, but for what was said of it meanwhile.
function take(found) {
  const sessions = new Map(app.sessions);
  for (const s of found) if (!leaving.has(s.id) && !told.has(s.id)) sessions.set(s.id, s);
  update({ sessions });
}

// useOlder has the page know the latest conversations with agents, with anybody where none is named,
// for as long as a place lists them: they are among those of the page then. It returns whether they
// are known, and a button for those before them where there are any.
export function useOlder(agents = []) {
  const [{ known, isAll, busy }, set] = useState({ known: null, isAll: false, busy: false });
  const reach = useRef({ upto: "" }).current; // when the last of them was touched
  const held = () => [...app.sessions.values()].filter((s) => s.status !== "empty" && s.updated >= reach.upto && (!agents.length || agents.includes(s.agent))).length;
  const list = async (skip, count) => {
    const found = await ask(agents, skip, count);
    reach.upto = found.at(-1)?.updated ?? reach.upto;
    set({ known: true, isAll: found.length < count, busy: false });
    return found;
  };
  const refused = (problem) => {
    set({ known: true, isAll: false, busy: false });
    if (problem.status !== 401) toast(problem.message);
  };
  useEffect(() => {
    reach.upto = "";
    set({ known: null, isAll: false, busy: false });
    const lister = () => list(0, reach.upto ? Math.max(perPage, held()) : perPage);
    listers.add(lister);
    lister().then(take, refused);
    return () => listers.delete(lister);
  }, [agents.join(" ")]);
  // A few that are known are asked for again: what was deleted meanwhile has moved the others.
  const older = () => {
    set((now) => ({ ...now, busy: true }));
    list(Math.max(0, held() - again), perPage + again).then(take, refused);
  };
  return [useCalm(known) !== null, known && !isAll && html`<button type="button" class="older" disabled=${busy} onClick=${older}>Show older</button>`];
}
