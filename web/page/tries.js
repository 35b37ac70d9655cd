// Series of tries of a model call, as the conversation shows them.

// isTried says of the line of a series that it goes on: not once its run has ended or has gone on
// anew, nor in a fork from the middle of it, where nobody makes the next try.
export function isTried({ run, time }, session) {
  let outer = session.runs.get(run);
  while (outer && session.runs.has(outer.parent)) outer = session.runs.get(outer.parent);
  const since = [session.resumed, ...session.items.filter((item) => item.type === "note" && item.code === "forked").map((item) => item.time)];
  return session.status === "running" && !outer?.ended && !since.some((later) => Date.parse(later) > Date.parse(time));
}

// triedModel is the model that was asked, as the latest try of a series says, "" where that is not known.
export const triedModel = ({ run, at }, session) => session.warnings.findLast((w) => w.tried && w.run === run && w.step === at)?.tried.model ?? "";
