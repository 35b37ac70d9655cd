// Groups what happened into turns: what a person said, and what an agent did and said
// about it.

// turnsOf returns turns in order: { key, who: "you" | "agent", agent, node, round, time,
// items, version, exchange }. Items of one agent that follow each other are one turn, but for those of
// different nodes of a flow, and of different rounds. An answer that reached a model's limit is one
// with what goes on from it. exchange is what an answer took, at the last of its turns that says something.
export function turnsOf(items) {
  const turns = [];
  for (const item of items) {
    const last = turns.at(-1), before = last?.items.at(-1), { key, agent, step, node, round, depth, time, version } = item;
    if (item.type === "handoff" && before?.type === "tool" && /^(transfer_to_|give_floor$)/.test(before.tool)) continue; // the call says it
    if (item.type === "user") {
      turns.push({ key, who: "you", agent: "", time, items: [item], version });
    } else if (last?.who === "agent" && last.agent === agent && last.depth === depth && last.step === step && last.node === node && last.round === round) {
      const rest = item.type === "answer" && before.finish === "length" && before.run === item.run;
      last.items.splice(last.items.length - rest, 1, rest ? { ...item, key: before.key, text: joined(before.text, item.text) } : item);
      last.version += version + 1;
    } else {
      turns.push({ key, who: "agent", agent, step, node, round, phase: item.type === "answer" ? undefined : item.phase, depth, time, items: [item], version });
    }
  }
  const told = new Set();
  for (const turn of turns.toReversed()) {
    const { exchange } = turn.items.at(-1);
    if (exchange && !told.has(exchange) && turn.items.some(isSaid)) told.add((turn.exchange = exchange));
  }
  return turns;
}

// joined is an answer that was cut off with what was said next: the rest, or all of it anew, as the engine tells them apart.
const joined = (said, next) => (said.length > 24 && next.trim().startsWith(said.trim().slice(0, 24)) ? next : said + next);

// isSaid says of an item that it is an answer that has words.
export const isSaid = (item) => item.type === "answer" && item.text;

// isVainAgain says that a call would have handed over as the one before it, and neither did:
// whatever was said in between.
const isVainAgain = (last, { tool, class: kind }) => kind && last.class === kind && last.tool === tool && /^transfer_to_/.test(tool);

// blocksOf groups a turn's items: calls that follow each other are one line, files
// that were saved together one card.
export function blocksOf(items) {
  const blocks = [];
  for (const item of items) {
    if (/^(waiting|answered)$/.test(item.state)) continue; // its question is there
    if (item.type === "tool") {
      const calls = blocks.findLast((b) => b.type === "calls"); // what was saved in between is no interruption
      if (calls && (isVainAgain(calls.items.at(-1), item) || calls === blocks.findLast((b) => b.type !== "files"))) calls.items.push(item);
      else blocks.push({ type: "calls", key: item.key, items: [item] });
    }
    else if (item.type === "file") {
      const files = blocks.findLast((b) => b.type !== "calls");
      if (files?.type === "files") files.items = [...files.items.filter((f) => f.path !== item.path), item];
      else blocks.push({ type: "files", key: item.key, items: [item] });
    } else if (item.type !== "answer" || item.text || item.thought) blocks.push({ type: item.type, key: item.key, items: [item] });
  }
  return blocks;
}

// listed is what a line begins with that offers a choice: "1. ", "- b) ", "[C] ". In a menu in one
// line a letter stands before each.
const listed = /^\s*(?:[-*]\s+)?(?:\d{1,2}[.)]|\[?[a-z]\]?[.)]|\[[\p{L}0-9]{1,3}\])\s+/iu, letter = /[\s>(]*\[\p{L}+\]\s+/u;
const plain = (text) => text.replace(/\*\*|`/g, "");

// withoutChoices is a question without its choices, which are shown on their own. What it says of
// them itself stays.
export const withoutChoices = (question, choices = []) => question.split("\n").map((line) => {
  const isChoice = (text) => choices.some(({ label }) => text.startsWith(label)), [before, ...said] = plain(line).split(letter);
  return plain(line).split(listed).slice(1).some(isChoice) ? "" : said[1] && said.every(isChoice) ? before : line;
}).join("\n").trim();

// beforeQuestion is what an answer says before what it asks at its end, and lets choose from, which
// a card shows. It is undefined where they cannot be told from all else that is said there.
export function beforeQuestion(answer, { text, choices }) {
  const at = answer.lastIndexOf(text), lines = answer.slice(0, at).split("\n");
  if (at < 0 || withoutChoices(answer.slice(at), choices) !== withoutChoices(text, choices)) return;
  while (lines.length && !withoutChoices(lines.at(-1), choices)) lines.pop();
  const before = lines.join("\n");
  if (choices.every(({ label }) => plain(answer.slice(before.length)).includes(label))) return before;
}
