// The conversation: what was said and done, in turns.

import { agentOf, app, inPerson, labelOf, nameAt, pipeline, taskNamed } from "./state.js";
import { day, hour, nameOfPhase } from "./format.js";
import { Prose } from "./prose.js";
import { beforeQuestion, blocksOf, isSaid, turnsOf } from "./turns.js";
import { Component, Face, html, icon, lazy, speaks, styled, useLayoutEffect, useRef, useState } from "./view.js";

const Question = lazy(() => styled(() => import("./cards.js")), "Question");
const done = (name, meanwhile = () => null) => lazy(() => styled(() => import("./done.js")), name, meanwhile);
const [Calls, Saved, Attached, Handed, Thought, Note, Broken, Working] = ["Calls", "Saved", "Attached", "Handed", "Thought", "Note", "Broken", "Working"].map((name) => done(name));
const [Foot, SaidFoot] = ["Foot", "SaidFoot"].map((name) => done(name, () => html`<footer></footer>`));
const Trouble = lazy(() => styled(() => import("./trouble.js")), "Trouble");
const PhaseAnswer = lazy(() => styled(() => import("./phase.js")), "PhaseAnswer", () => null);
const Retry = lazy(() => styled(() => import("./trouble.js")), "Retry");

// first is how many turns are drawn at first; older ones come when they are near.
const first = 24;

const topOf = (element) => element.getBoundingClientRect().top;

// Conversation shows a session's turns. It stays at the end for as long as its reader
// does. The acts are what buttons do: see Room. asks is the question that an answer ends
// with, where it has one: with choices it is a card, and not said twice.
export function Conversation({ here, status, acts, openFile, asks = null }) {
  const box = useRef(null);
  const reader = useRef({ atEnd: true, top: 0, said: -1, turns: 0 }).current;
  const [shown, setShown] = useState(first);
  const [missed, setMissed] = useState(0);
  const [, draw] = useState(0);
  const { session } = here;
  const all = turnsOf(session.items);
  const turns = all.slice(-shown);
  // What is asked is read from its beginning: a card higher than the view is shown at its top.
  const toEnd = () => {
    const view = box.current;
    if (!view) return;
    const card = reader.atEnd && view.querySelector(".needs");
    if (card && card.offsetHeight > view.clientHeight) {
      view.scrollTop += topOf(card) - topOf(view) - 8;
      Object.assign(reader, { atEnd: false, reads: true });
    } else if (reader.atEnd) view.scrollTop = Math.max(view.scrollTop, view.scrollHeight - view.clientHeight - (view.scrollHeight === reader.height ? app.toastsHeight : 0)); // nothing moves for a toast alone
    else if (view.scrollHeight - view.scrollTop - view.clientHeight < 2) {
      reader.atEnd = true; // nothing is left below
      draw((n) => n + 1);
    }
    Object.assign(reader, { top: view.scrollTop, height: view.scrollHeight });
  };
  useLayoutEffect(() => {
    const resized = new ResizeObserver(toEnd); // as when a keyboard slides in
    resized.observe(box.current);
    resized.observe(box.current.firstElementChild); // and when a picture or a formula is there
    return () => resized.disconnect();
  }, []);
  useLayoutEffect(() => {
    const said = session.items.findLast((item) => item.type === "user")?.key ?? -1;
    // Only what somebody says here and now brings them to the end.
    if (said !== reader.said) {
      Object.assign(reader, { said, atEnd: reader.atEnd || here.speaks });
      here.speaks = false;
    }
    if (!reader.atEnd && all.length > reader.turns) setMissed((n) => n + all.length - reader.turns);
    reader.turns = all.length;
    if (reader.at?.isConnected) box.current.scrollTop += topOf(reader.at) - reader.from;
    reader.at = null;
    toEnd();
  });
  // earlier draws more turns above the first one, which stays where it is seen.
  const earlier = (n) => {
    reader.at = box.current.querySelector("article");
    reader.from = topOf(reader.at);
    setShown(shown + n);
  };
  const scrolled = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
    // Text that grows leaves the reader behind; only one who goes up wants to stay.
    if (scrollTop < reader.top) reader.atEnd = reader.reads = false;
    if (scrollHeight - scrollTop - clientHeight < 60) {
      reader.atEnd = true;
      if (missed) setMissed(0);
    }
    if (scrollTop < 600 && shown < all.length) earlier(first);
    reader.top = scrollTop;
    if (reader.atEnd !== reader.wasAtEnd) draw((n) => n + 1);
    reader.wasAtEnd = reader.atEnd;
  };
  const latest = () => {
    reader.atEnd = true;
    setMissed(0);
    box.current.scrollTop = box.current.scrollHeight;
    reader.top = box.current.scrollTop;
  };
  const asked = asks?.choices?.length > 0 && asks, isAsked = asked && turns.at(-1)?.items.findLast(isSaid);
  const before = isAsked && !isAsked.phase ? beforeQuestion(isAsked.text, asks) : undefined;
  let date = "";
  return html`<div class="flow" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label="Conversation" aria-live="off" aria-busy=${status === "running"}>
    <div class="turns">
      ${shown < all.length && html`<button type="button" class="ghost sm earlier" onClick=${() => earlier(first * 5)}>${icon("arrow-up")}${all.length - shown} earlier</button>`}
      ${turns.flatMap((turn) => {
        const name = day(turn.time);
        const heading = name !== date && html`<div class="day" key=${"day" + turn.key}>${name}</div>`;
        date = name;
        return [heading, html`<${Turn} key=${turn.key} turn=${turn} version=${turn.version} agent=${agentOf(turn.agent)} last=${turn === turns.at(-1)} before=${turn === turns.at(-1) ? before : undefined} idle=${status !== "running"} acts=${acts} id=${here.id} openFile=${openFile} shownFile=${openFile.shown} />`];
      })}
      ${asked && html`<div class="asks"><${Question} key=${asks.id} item=${{ key: "asks", open: true, question: before === undefined ? "" : asks.text, ask: asks }} agent=${agentOf(session.agent)} acts=${acts} id=${here.id} openFile=${openFile} /></div>`}
      ${status === "running" && html`<${Working} session=${session} acts=${acts} />`}
      ${status === "interrupted" && html`<${Trouble} code="interrupted" context=${{ until: hour(session.last) }} acts=${acts} />`}
    </div>
  </div>
  ${!reader.atEnd && !(reader.reads && !missed) && html`<button type="button" class="latest sm" onClick=${latest}>${icon("arrow-down")}${missed ? `Latest (${missed} new)` : "Latest"}</button>`}`;
}

// Turn is drawn again only when it has changed: long conversations stay quick.
class Turn extends Component {
  shouldComponentUpdate(next) {
    return ["version", "idle", "agent", "last", "shownFile", "before"].some((name) => next[name] !== this.props[name]) || next.turn.exchange !== this.props.turn.exchange || next.turn.items.length !== this.props.turn.items.length;
  }

  render({ turn, agent, last, before, idle, acts, id, openFile }) {
    if (turn.who === "you") return html`<${Said} item=${turn.items[0]} idle=${idle} acts=${acts} />`;
    const name = turn.step || (turn.phase && nameOfPhase(turn.phase)) || nameAt(acts.agent, turn.node, turn.round) || agent.name || turn.agent || "Troupe";
    const answer = turn.items.findLast(isSaid);
    const streaming = turn.items.some((item) => item.streaming);
    return html`<article class="turn" data-depth=${Math.min(turn.depth ?? 0, 3)} aria-label=${`${name}, ${hour(turn.time)}`}>
      <${Face} id=${turn.agent} name=${name} />
      <div>
        <header><${Face} id=${turn.agent} name=${name} size="s phone-only" /><b>${name}</b><time datetime=${turn.time}>${hour(turn.time)}</time></header>
        ${blocksOf(turn.items).map((block) => html`<${Part} key=${block.type + block.key} block=${block} text=${block.items[0] === answer ? before ?? answer.text : block.items[0].text} agent=${agent} last=${last} acts=${acts} id=${id} openFile=${openFile} />`)}
        ${answer && (streaming ? html`<footer></footer>` : html`<${Foot} answer=${answer} said=${turn.items} exchange=${turn.exchange} last=${last} idle=${idle} acts=${acts} id=${id} />`)}
      </div>
    </article>`;
  }
}

function Part({ block, text, agent, last, acts, id, openFile }) {
  const item = block.items[0];
  switch (block.type) {
    case "calls":
      return html`<${Calls} items=${block.items} id=${id} />`;
    case "files":
      return html`<${Saved} items=${block.items} id=${id} openFile=${openFile} />`;
    case "answer":
      return html`${item.thought && html`<${Thought} text=${item.thought} />`}
        ${item.phase ? item.text && html`<${PhaseAnswer} item=${item} openFile=${openFile} />` : (text || item.streaming) && html`<${Prose} text=${item.agent === pipeline ? inPerson(text, acts.session()) : text} streaming=${!!item.streaming} openFile=${openFile} tasks=${{ labelOf: (trigger) => taskNamed(agent, trigger), ask: acts.ask }} />`}${item.cut && html`<p class="tiny faint">The answer was cut off here.</p>`}`;
    case "broken":
      return html`<${Broken} item=${item} />`;
    case "question":
      return html`<${Question} item=${item} agent=${agent} acts=${acts} id=${id} openFile=${openFile} />`;
    case "handoff":
      return html`<${Handed} item=${item} flow=${acts.agent} />`;
    case "trouble":
      return html`<${Trouble} code=${item.code} context=${{ a: agent.name, ...item.context }} acts=${last ? acts : { model: acts.model }} />`;
    case "retry":
      return html`<${Retry} item=${item} acts=${acts} />`;
    case "note":
      return html`<${Note} item=${item} />`;
  }
}

function Said({ item, idle, acts }) {
  const label = labelOf(agentOf(acts.agent), item.text);
  return html`<article class="said" aria-label=${`You, ${hour(item.time)}`}>
    <div><p class="plain" dir="auto" ref=${(e) => speaks(e, label)} title=${label === item.text ? undefined : item.text}>${label}</p>${item.parts.map((part) => html`<${Attached} part=${part} />`)}</div>
    <${SaidFoot} item=${item} idle=${idle} acts=${acts} />
  </article>`;
}
