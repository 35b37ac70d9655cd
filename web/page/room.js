// The page of a session: its conversation with the composer below, its other views,
// and its files beside them.

import { api } from "./api.js";
import { Commands } from "./agents.js";
import { addFiles, Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Delivery, pipeline } from "./delivery.js";
import { Files } from "./files.js";
import { Flow } from "./flow.js";
import { statusOf } from "./session.js";
import { Timeline } from "./timeline.js";
import { html, useEffect, useMemo, useState } from "./view.js";

const empty = { text: "", files: [], instead: null };

// actsOn returns what can be done in a session. instead of a draft is the message
// that it replaces: then the session is forked before that.
function actsOn(id, here, { go, tell, setDraft, openFile }) {
  const trying = async (what) => {
    try {
      return await what();
    } catch (problem) {
      tell(problem.message);
    }
  };
  // resend says something in place of an earlier message, in a session of its own.
  const resend = async (item, text, files) => {
    const next = item.after > 0 ? (await api.fork(id, item.after)).session : (await api.create(here.session.agent || here.agent)).id;
    await api.say(next, text, files);
    go("#/s/" + next);
  };
  return {
    openFile,
    say: (text) => trying(() => api.say(id, text)),
    stop: () => trying(() => api.cancel(id)),
    resume: () => trying(() => api.resume(id)),
    edit: (item) => setDraft({ text: item.text, files: item.parts.filter((part) => part.data), instead: item }),
    again: (item) => trying(() => resend(item, item.text, item.parts.filter((part) => part.data))),
    send: (draft) => trying(async () => {
      setDraft(empty);
      const files = draft.files.map(({ name, mime, data }) => ({ name, mime, data }));
      try {
        await (draft.instead ? resend(draft.instead, draft.text, files) : api.say(id, draft.text, files));
      } catch (problem) {
        setDraft(draft);
        throw problem;
      }
    }),
  };
}

// Room shows a session. view is one of "", "run", "flow" and "delivery".
export function Room({ here, view, flows, agentOf, go, tell }) {
  const { id, session } = here;
  const [draft, setDraft] = useState(empty);
  const [dropping, setDropping] = useState(false);
  const [files, setFiles] = useState(null); // null: closed; else the path shown
  const acts = useMemo(() => actsOn(id, here, { go, tell, setDraft, openFile: setFiles }), [id]);
  useEffect(() => {
    const escape = (event) => event.key === "Escape" && setFiles(null);
    addEventListener("keydown", escape);
    return () => removeEventListener("keydown", escape);
  }, []);
  const status = statusOf(here);
  const agent = agentOf(session.agent || here.agent);
  if (here.problem?.status === 404) {
    return html`<div class="page"><h1>There is no such conversation</h1><p>It was deleted, or it is somebody else’s. <a href="#/">Begin another</a>.</p></div>`;
  }
  const drop = async (event) => {
    event.preventDefault();
    setDropping(false);
    const added = await addFiles(draft.files, event.dataTransfer.files, tell);
    setDraft((d) => ({ ...d, files: added }));
  };
  const over = (event) => {
    event.preventDefault();
    setDropping(true);
  };
  return html`<div class="room" data-files=${files !== null} data-dropping=${dropping} onDragOver=${over} onDragLeave=${() => setDropping(false)} onDrop=${drop}>
    <${Views} id=${id} view=${view} session=${session} agent=${agent} files=${files} toggle=${() => setFiles(files === null ? "" : null)} />
    ${view === "run" && html`<${Timeline} session=${session} />`}
    ${view === "flow" && html`<${Flow} session=${session} flow=${flows.find((f) => f.name === session.agent)} agentOf=${agentOf} />`}
    ${view === "delivery" && html`<${Delivery} session=${session} answer=${acts.say} openFile=${setFiles} />`}
    ${view === "" && html`<div class="talk">
      ${session.items.length > 0 ? html`<${Conversation} here=${here} agentOf=${agentOf} acts=${acts} />` : html`<${Beginning} here=${here} agent=${agent} say=${acts.say} />`}
      ${draft.instead && html`<p class="editing">Your edit begins a conversation of its own, which goes on from before the message.
        <button type="button" class="quiet" onClick=${() => setDraft(empty)}>Cancel</button></p>`}
      <${Composer} key=${id} commands=${agent.commands ?? []} draft=${draft} setDraft=${setDraft} running=${status === "running"} send=${() => acts.send(draft)} stop=${acts.stop} tell=${tell} />
    </div>`}
    ${files !== null && html`<${Files} id=${id} shown=${files} version=${session.files.size + status} open=${setFiles} close=${() => setFiles(null)} />`}
  </div>`;
}

function Views({ id, view, session, agent, files, toggle }) {
  const tab = (name, title) => html`<a href=${"#/s/" + id + (name && "/" + name)} aria-current=${view === name ? "page" : undefined}>${title}</a>`;
  return html`<div class="views">
    <span class="who"><span aria-hidden="true">${agent.icon}</span> ${agent.name || session.agent}</span>
    <nav aria-label="Views">${tab("", "Conversation")}${tab("run", "Run")}${tab("flow", "Flow")}${session.agent === pipeline && tab("delivery", "Delivery")}</nav>
    <button type="button" aria-expanded=${files !== null} onClick=${toggle}>Files${session.files.size > 0 && ` (${session.files.size})`}</button>
  </div>`;
}

// Beginning is a conversation in which nothing was said yet.
function Beginning({ here, agent, say }) {
  return html`<div class="conversation beginning">
    <p class="icon" aria-hidden="true">${agent.icon}</p>
    <h1>${agent.name || here.agent || "…"}</h1>
    <p>${agent.title}</p>
    <p class="hint">${agent.description}</p>
    <${Commands} commands=${agent.commands ?? []} say=${say} />
    <p class="hint">Say something below, or drop a file.</p>
  </div>`;
}
