// The page of a session: its conversation with the composer below, its other views,
// and its documents beside them.

import { api } from "./api.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { changingQueued, editing, empty, sendingOf, useDraft, without } from "./draft.js";
import { kept } from "./kept.js";
import { address, go, talkAddress } from "./route.js";
import { app, agentOf, castOf, dismiss, isFlow, pipeline, refresh, say, titleOf, toast, tryNow } from "./state.js";
import { cost, hour, money } from "./format.js";
import { mostOf } from "./fold.js";
import { useQueue, useSession } from "./session.js";
import { Toasts } from "./side.js";
import { Bones, Face, html, icon, lazy, styled, useCalm, useEffect, useMemo, useState } from "./view.js";

const ModelChoice = lazy(() => import("./models.js"), "ModelChoice", () => null);
const Beginning = lazy(() => styled(() => import("./beginning.js")), "Beginning", () => html`<div class="flow"></div>`); // the box stays below
const Queue = lazy(() => styled(() => import("./queue.js")), "Queue", () => null);
const More = lazy(() => styled(() => import("./more.js")), "More", () => null);
const Trouble = lazy(() => styled(() => import("./trouble.js")), "Trouble");
const Panel = lazy(() => styled(() => import("./panel.js")), "Panel");
const Run = lazy(() => styled(() => import("./run.js")), "Run");
const Flow = lazy(() => styled(() => import("./flow.js")), "Flow");
const Delivery = lazy(() => styled(() => import("./delivery.js")), "Delivery");

// actsOn returns what can be done in a session. instead of a draft is the message that
// it replaces: then the session is forked before that.
function actsOn(id, here, { agentID, setDraft, setQueue }) {
  const refusing = (then = "") => ({ code, message }) => toast(code === "offline" ? message + then : message);
  const trying = async (what, refused = refusing()) => {
    try {
      return await what();
    } catch (problem) {
      if (problem.status !== 401) refused(problem);
    }
  };
  const tell = (text, files, when) => ((here.speaks = !when), api.say(id, text, files, when));
  const sent = (files) => files.map(({ name, mime, data }) => ({ name, mime, data }));
  // What is said while an answer is in the making waits for it, even where this page has
  // not heard yet that one is.
  const said = (draft, running) => tell(draft.text, sent(draft.files), running ? "after" : "").catch((problem) => {
    if (problem.status !== 409 || problem.code !== "busy") throw problem;
    return tell(draft.text, sent(draft.files), "after");
  });
  const delivered = async (draft, running) => {
    if ((await said(draft, running)).queued) setQueue(await api.queue(id));
  };
  let sending = false;
  const lastSaid = () => here.session.items.findLast((item) => item.type === "user");
  const forked = (what) => async (...given) => (await import("./fork.js"))[what](id, here, ...given);
  const resend = forked("resend"), runFrom = forked("runFrom");
  const edit = (item) => setDraft({ text: item.text, files: item.parts.filter((part) => part.data), instead: item });
  return {
    agent: agentID,
    session: () => here.session,
    say: (text) => trying(() => tell(text)),
    stop: () => trying(() => api.cancel(id), refusing(" It was not stopped.")),
    resume: () => trying(() => api.resume(id)),
    copy: (text) => import("./copy.js").then(({ copy }) => copy(text)), // which is there by then: see begin
    edit,
    anew: () => lastSaid() && setDraft({ text: lastSaid().text, files: [], instead: lastSaid() }),
    drop: () => trying(forked("drop")),
    again: () => trying(forked("again")),
    fork: (seq) => trying(() => forked("fork")(seq)),
    rerun: (run) => trying(() => runFrom(run)),
    runFrom,
    answer: (item, values, done = () => {}, refused) => trying(() => ((here.speaks = item.ask.kind === "question"), api.answer(id, { question: item.ask.id, ...values }).then(() => (done(), true))), refused),
    model: () => app.sessions.get(id)?.chosen || app.sessions.get(id)?.model || agentOf(here.session.agent || here.agent || "").model,
    chooseModel: () => [...document.querySelectorAll(".model")].find((e) => e.checkVisibility())?.click(),
    hurry: () => trying(async () => (await api.cancel(id), await api.resume(id))),
    editLast: () => here.session.status !== "running" && lastSaid() && edit(lastSaid()),
    ask: (text) => trying(() => delivered({ text, files: [] })),
    send: (draft, running) => trying(async () => {
      if (sending) return;
      sending = app.connection === "lost"; // then it stays in the box until the server has it
      let said;
      const ended = sendingOf(id, draft, setDraft), slow = setTimeout(() => (said = toast("Still sending. What you typed is kept.", null, 1e6)), 2000);
      if (sending) tryNow();
      else setDraft(draft.aside ?? empty);
      try {
        if (draft.instead) await resend(draft.instead, draft.text, sent(draft.files));
        else await delivered(draft, running);
        if (sending) setDraft(without(draft));
      } catch (problem) {
        if (!sending) setDraft((now) => (!draft.instead && (now.text || now.files.length) ? { ...now, text: `${draft.text}\n${now.text}`, files: [...draft.files, ...now.files] } : draft));
        throw problem;
      } finally {
        sending = false;
        clearTimeout(slow);
        if (said) dismiss(said);
        ended();
      }
    }, refusing(" What you typed is kept.")),
  };
}

const announced = (name) => ({
  running: `${name} is working.`, waiting: `${name} needs your answer.`, completed: "The answer is complete.", failed: "It did not work out.", cancelled: "Stopped.", interrupted: "It was interrupted.",
});

// Room shows a session.
export function Room({ route }) {
  const here = useSession(route.id);
  const { id, session } = here;
  const info = app.sessions.get(id);
  if (info?.status === "interrupted") session.interrupt(info.events);
  const { status } = session;
  const agentID = session.agent || here.agent || info?.agent || "";
  const agent = agentOf(agentID);
  const loaded = useCalm(here.caughtUp || here.connection === "lost" ? true : null);
  const [draft, setDraft] = useDraft(id);
  const [queue, setQueue] = useQueue(id, status + info?.queued + info?.written);
  const [dropping, setDropping] = useState(false);
  const acts = useMemo(() => actsOn(id, here, { agentID, setDraft, setQueue }), [id, agentID]);
  const file = route.query.file;
  const show = (path, query = {}) => go(address(["s", id, route.view, route.at], { file: path, ...query }));
  const openFile = useMemo(() => ({ open: (path, v) => show(!here.session.files.has(path) && here.session.files.has("/" + path) ? "/" + path : path, { v }), has: (path) => here.session.files.has(path) || here.session.files.has("/" + path), shown: file === undefined ? "" : `${file} ${route.query.v || Math.max(session.files.get(file)?.version ?? 0, info?.edited?.[file] ?? 0) * (file.startsWith("/") ? -1 : 1)}` }), [id, route.view, file, route.query.v, session.files.get(file)?.version, info?.edited?.[file]]);
  const asks = info?.status === "waiting" && status === "completed" && !session.questions.length ? info.question : null; // an answer may end with a question
  useEffect(() => {
    if (here.caughtUp && status !== "empty") say(announced(agent.name)[asks ? "waiting" : status] ?? "");
    if (info?.unseen && !document.hidden) api.seen(id).catch(() => {});
  }, [status, !asks, info?.unseen, document.hidden]);
  // Who leaves may have seen an answer that is not known as new yet.
  useEffect(() => () => here.caughtUp && here.session.status !== "running" && !document.hidden && app.sessions.has(id) && api.seen(id).catch(() => {}), [id]);
  useEffect(() => {
    if (here.caughtUp && editing.some((key) => kept(key + id))) import("./before.js").then(({ edited }) => setDraft((now) => edited(id, session.items) ?? now), () => {});
  }, [id, here.caughtUp]);
  useEffect(() => {
    if (here.caughtUp && (kept("sending." + id) || (info && !asks && kept("own.asked." + id)))) import("./before.js").then(({ arrived }) => arrived(id, session.items, setDraft, asks), () => {});
  }, [id, here.caughtUp, session.items.length, !info, !asks]);
  const back = html`<a class="btn tool phone-only" href="#/" title="Back" aria-label="Back">${icon("arrow-left")}</a>`;
  if (here.problem?.status === 404) return html`<div class="bar phone-only">${back}</div><div class="page"><div class="in"><h1 class="hidden">Not here</h1><${Trouble} code="gone" /></div></div>`;
  if (here.missing) return html`<div class="page"><div class="in"><h1>This conversation cannot be loaded now</h1><p>It is shown as soon as it can be.</p></div></div>`;
  const drop = (event) => {
    event.preventDefault();
    setDropping(false);
    const files = [...event.dataTransfer.files]; // a copy: the list is emptied meanwhile
    import("./attach.js").then(({ put }) => put(files, draft, setDraft));
  };
  const choose = (model) => api.change(id, { model }).then((changed) => changed.status === "empty" ? toast("The model was chosen.") : refresh(changed), (problem) => toast(problem.message));
  const tab = (name, title) => html`<a href=${talkAddress(id, name)} aria-current=${route.view === name ? "page" : undefined}>${title}</a>`;
  const delivers = agentID === pipeline;
  const waits = status === "waiting" && !delivers; // a delivery is stopped at its gate
  const flows = !delivers && (isFlow(agentID) || [...session.runs.values()].some((run) => run.parent));
  const title = titleOf({ agent: agentID, title: info?.title || session.title }) || "New conversation";
  const model = info?.chosen || agent.model || info?.model || session.model;
  const held = session.context ? session.context.system + session.context.tools + session.context.history : 0;
  const cast = castOf(app.flows.find((f) => f.name === agentID)).slice(0, 3);
  const first = delivers || cast.length > 1 ? [...session.runs.values()].find((run) => !run.parent) : null;
  const [asked, other] = session.questions.filter((q) => !acts.granted?.get(q.tool)); // where several ask, words answer none
  const begun = first && html`${delivers ? html`<span class="desk-only">Delivery · </span>` : `Flow “${agent.name}” · `}began ${hour(first.started)}${delivers && ` by ${first.user || app.me.name || "you"}`}`;
  const spent = first && mostOf(session) ? ` · ${cost(info?.spent) || "$0"} of ${money(mostOf(session))}` : info?.spent ? ` · ${cost(info.spent)}` : "";
  const models = (quiet) => !delivers && cast.length < 2 && html`<${ModelChoice} tokens=${held} model=${model} answered=${session.model || info?.model} agent=${isFlow(agentID) ? null : agent} choose=${choose} quiet=${quiet} />`;
  return html`
    <div class="bar">${back}${cast.length > 1 ? html`<span class="faces">${cast.map((id) => html`<${Face} key=${id} id=${id} name=${agentOf(id).name} size="m" />`)}</span>` : html`<${Face} id=${agentID} name=${agent.name} size="m" />`}
      <div class="grow"><h1 class="cut" dir="auto">${title}</h1><div class="tiny faint row"><span class="cut">${begun || (cast.length > 1 ? `Flow “${agent.name}”` : [agent.name, agent.title].filter(Boolean).join(", "))}</span>${spent}</div></div>
      <nav class="tabs desk-only" aria-label="Views">${delivers && tab("delivery", "Delivery")}${tab("", "Conversation")}${flows && tab("flow", "Flow")}${tab("run", "Run")}</nav>
      ${(status === "running" || waits) && route.view !== "" && html`<button type="button" class="sm" onClick=${acts.stop}>${icon("square", "solid")}Stop</button>`}
      <span class="desk-only">${models()}</span>
      ${delivers && session.files.size > 0 && html`<a class="btn sm desk-only" href=${api.zipOf(id)} download>${icon("archive")}Download all</a>`}
      <button type="button" class="tool" title=${`Files of this conversation (${session.files.size})`} aria-label=${`Files of this conversation (${session.files.size})`} onClick=${() => (file === undefined ? show("*") : go(talkAddress(id, route.view)))}>${icon("folder-open")}</button>
      <${More} here=${here} info=${info} route=${route} delivers=${delivers} flows=${flows} model=${model} choose=${choose} /></div>
    <div class=${"room" + (file === undefined || route.view ? " solo" : "") + (route.view === "flow" ? " graph-room" : "")} data-dropping=${dropping}
      onDragOver=${(e) => (e.preventDefault(), setDropping(true))} onDragLeave=${() => setDropping(false)} onDrop=${drop}>
      ${route.view === "run" && html`<${Run} here=${here} at=${route.at} agent=${agent} />`}
      ${route.view === "flow" && html`<${Flow} here=${here} at=${route.at} name=${agentID} status=${status} acts=${acts} />`}
      ${route.view === "delivery" && html`<${Delivery} here=${here} info=${info} status=${status} acts=${acts} show=${show} />`}
      ${route.view === "" && html`<section class="talk" aria-label="Conversation">
        ${!loaded ? html`<div class="flow"><${Bones} /></div>` : session.items.length > 0 || status === "running" ? html`<${Conversation} here=${here} status=${status} acts=${acts} openFile=${openFile} asks=${asks} />` : html`<${Beginning} agent=${agent} acts=${acts} />`}
        ${draft.instead && html`<p class="editing small">${icon("git-branch")}<span class="grow">This begins a conversation of its own, which goes on from before the message.</span><button type="button" class="ghost sm" onClick=${() => setDraft((now) => now.aside ?? empty)}>Cancel</button></p>`}
        ${(queue.messages.length > 0 || kept(changingQueued(id))) && html`<${Queue} id=${id} queue=${queue} setQueue=${setQueue} back=${(text) => setDraft((d) => ({ ...d, text: [d.text, text].filter(Boolean).join("\n\n") }))} />`}
        <${Toasts} inTalk />
        <${Composer} key=${id} agent=${agent} draft=${draft} setDraft=${setDraft} running=${status === "running"} waits=${waits} context=${session.context} files=${[...session.files.keys()].map((path) => path.replace(/^\//, ""))}
          editLast=${acts.editLast} model=${models(true)}
          hint=${asked || asks?.choices?.length ? `Answer above, or write ${other ? "what goes out after it" : asked?.ask.kind === "approval" ? "why not" : "to " + agent.name}` : ""} send=${(d) => acts.send(d, status === "running" || other || (asked && acts.begun === asked.key && delete acts.begun))} stop=${acts.stop} />
      </section>`}
      ${file !== undefined && html`<${Panel} session=${id} path=${file} route=${route} saved=${session.files} changed=${session.files.size + status + info?.updated + info?.written} open=${show} close=${() => go(talkAddress(id, route.view, route.at))} />`}
    </div>`;
}
