// How long the runs of a session were worked on.

// workedOn is how long a run was worked on, in milliseconds: without what it waited for a
// person, and without the time for which nobody did anything. Of one that goes on it is what
// was worked until a time, undefined without one.
export const workedOn = (run, until = "") => (run.ended || until ? Math.max(0, Date.parse(run.ended || until) - Date.parse(run.started) - run.waited - run.idle) || 0 : undefined);

// untilOf is the time until which the runs of a session that have not ended were worked on.
export const untilOf = (s) => (s.status === "running" ? s.unheard || new Date().toISOString() : s.last);

// isCut says that the process of a run died, and nobody knows until when it was worked on.
export const isCut = (run) => !!run.died || run.status === "interrupted";

// timesAt are how long a session was worked on, and waited for a person, at a moment: what goes
// on now, or waits now, counts.
export function timesAt({ last, unheard, status, worked, waited }, now = new Date().toISOString()) {
  const gap = last ? Math.max(0, Date.parse(unheard || now) - Date.parse(last)) || 0 : 0;
  return { worked: worked + (status === "running" ? gap : 0), waited: waited + (status === "waiting" ? gap : 0) };
}
