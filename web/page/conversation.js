// The conversation: what was said and done, in order.

import { Component, html, useLayoutEffect, useRef } from "./view.js";
import { size } from "./format.js";
import { Prose } from "./prose.js";
import { Question, ToolLine } from "./tools.js";
import { statusOf } from "./session.js";

// Conversation shows a session's items. It stays at the end for as long as its
// reader does. The acts are what buttons do: see App.
export function Conversation({ here, agentOf, acts }) {
  const box = useRef(null);
  const reader = useRef({ atEnd: true, top: 0, said: -1 }).current;
  const { session } = here;
  const status = statusOf(here);
  const toEnd = () => {
    if (reader.atEnd) box.current.scrollTop = box.current.scrollHeight;
    reader.top = box.current.scrollTop;
  };
  useLayoutEffect(() => {
    const resized = new ResizeObserver(toEnd); // as when a keyboard slides in
    resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  useLayoutEffect(() => {
    const said = session.items.findLast((item) => item.type === "user")?.key ?? -1;
    if (said !== reader.said) Object.assign(reader, { said, atEnd: true });
    toEnd();
  });
  const scrolled = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
    // Text that grows leaves the reader behind; only one who goes up wants to stay.
    if (scrollTop < reader.top) reader.atEnd = false;
    if (scrollHeight - scrollTop - clientHeight < 60) reader.atEnd = true;
    reader.top = scrollTop;
  };
  return html`<div class="conversation" ref=${box} onScroll=${scrolled} tabindex="0" role="log" aria-label="Conversation" aria-live="off" aria-busy=${status === "running"}>
    <${Progress} progress=${session.progress} />
    ${session.items.map((item) => html`<${Item} key=${item.key} item=${item} version=${item.version} idle=${status !== "running"} agentOf=${agentOf} acts=${acts} />`)}
  </div>
  <${State} here=${here} status=${status} acts=${acts} />`;
}

// Item is drawn again only when it has changed: long conversations stay quick.
class Item extends Component {
  shouldComponentUpdate(next) {
    return next.version !== this.props.version || next.idle !== this.props.idle || next.agentOf !== this.props.agentOf;
  }

  render({ item, idle, agentOf, acts }) {
    switch (item.type) {
      case "user":
        return html`<${Said} item=${item} idle=${idle} acts=${acts} />`;
      case "answer":
        return html`<${Answer} item=${item} agent=${agentOf(item.agent)} />`;
      case "tool":
        return html`<${ToolLine} item=${item} />`;
      case "question":
        return html`<${Question} item=${item} who=${agentOf(item.agent).name} answer=${acts.say} />`;
      case "file":
        return html`<p class="note">Saved <button type="button" class="link" onClick=${() => acts.openFile(item.path)}>${item.path}</button> (${size(item.size)})</p>`;
      case "note":
        return html`<p class="note" data-level=${item.level} role=${item.level === "error" ? "alert" : undefined}>${item.text}</p>`;
    }
  }
}

function Said({ item, idle, acts }) {
  return html`<article class="said" aria-label="You said">
    <p class="plain" dir="auto">${item.text}</p>
    ${item.parts.map((part) => html`<p class="attachment">Attached: ${part.name || part.mime}</p>`)}
    <div class="row said-acts">
      <button type="button" class="quiet" disabled=${!idle} onClick=${() => acts.edit(item)} aria-label="Edit this message and send it again">Edit</button>
      <button type="button" class="quiet" disabled=${!idle} onClick=${() => acts.again(item)} aria-label="Send this message again">Try again</button>
    </div>
  </article>`;
}

function Answer({ item, agent }) {
  if (!item.text && !item.thought) return null;
  return html`<article class="answer" data-depth=${Math.min(item.depth, 3)} data-streaming=${item.streaming} aria-label=${"Answer of " + (agent.name || item.agent)}>
    <header><span aria-hidden="true">${agent.icon}</span> ${agent.name || item.agent}</header>
    ${item.thought && html`<details class="thought"><summary>Reasoning</summary><p class="plain" dir="auto">${item.thought}</p></details>`}
    <${Prose} text=${item.text} />
    ${item.cut && html`<p class="hint">The answer was cut off here.</p>`}
  </article>`;
}

// Progress is where a guided workflow is.
function Progress({ progress }) {
  if (progress.at < 0) return null;
  const { steps, at, workflow } = progress;
  return html`<div class="progress" role="group" aria-label="Workflow progress">
    <label>${workflow && html`<strong>${workflow}</strong>${": "}`}step ${at + 1} of ${steps.length}${steps[at].goal && html`, ${steps[at].goal}`}
      <progress max=${steps.length} value=${at + 1}></progress></label>
  </div>`;
}

const verdicts = {
  failed: ["The run failed.", "Go on where it stopped"],
  cancelled: ["The run was stopped.", "Go on where it stopped"],
  interrupted: ["The run was interrupted: the server stopped in the middle of it.", "Resume"],
};

// State says what the run does now, or what can be done about it. It stands below
// the conversation and always takes the same room, so that nothing jumps.
function State({ here, status, acts }) {
  const { connection, problem } = here;
  let content = null;
  if (connection === "lost") {
    content = html`<span>Connection lost${problem?.status ? `: ${problem.message}` : ""}. Trying again…</span>`;
  } else if (status === "running") {
    content = html`<span class="working">Working…</span>`;
  } else if (verdicts[status]) {
    const [text, act] = verdicts[status];
    content = html`<span>${text}</span> <button type="button" onClick=${acts.resume}>${act}</button>`;
  }
  return html`<div class="state">${content}</div>`;
}
