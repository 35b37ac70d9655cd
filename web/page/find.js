// Find anything: conversations, files, tasks, places.

import { api } from "./shelf.js";
import { agentOf, app, can, inTwo, leaving, pipeline, titleOf } from "./state.js";
import { beginTask } from "./home.js";
import { showHelp, typedAhead } from "./keys.js";
import { currentTheme, setTheme } from "./theme.js";
import { nameOf, when } from "./format.js";
import { fileIcon } from "./forms.js";
import { Marked, placeOf, quote } from "./found.js";
import { go, talkAddress } from "./route.js";
import { Face, html, icon, useEffect, useRef, useState } from "./view.js";

const places = [["Home", "house", "#/"], ["Conversations", "message-square", "#/chats"], ["Files", "folder-open", "#/files"], ["Flows", "workflow", "#/flows", "flows"], ["Deliveries", "package-check", "#/deliveries", "deliveries"], ["Activity", "activity", "#/activity", "logs"], ["Models and keys", "cpu", "#/settings/models", "settings"], ["Limits", "gauge", "#/settings/limits", "settings"], ["Agents", "users", "#/settings/agents"], ["People", "user", "#/settings/people"], ["Tool servers", "plug", "#/settings/mcp", "mcp"], ["Skills", "book-open", "#/settings/skills", "skills"], ["Settings", "settings", "#/settings/look"], ["This page: colours, keys, sign out", "sun", "#/settings/look"], ["About this Troupe", "info", "#/settings/about"]];
const forOperators = /^#\/settings\/(?!look|about)/;

// about is what a file is called, and what else tells it from others: where it is, in which
// conversation, and what was found in it.
function about({ heading, path, found = "", session }) {
  const label = heading || nameOf(path), talk = app.sessions.get(session);
  return { label, detail: [placeOf(path, label), talk && titleOf(talk)].filter(Boolean).join(" · "), quoted: quote(found) };
}

// mostShown is how many of a group are shown at first, so that each group is seen.
const mostShown = 4;

export function Find({ close }) {
  const dialog = useRef(null);
  const [words, setWords] = useState("");
  const [found, setFound] = useState({ sessions: [], files: [], tasks: [] });
  const [of, setOf] = useState(null); // the words that it was found by
  const chooses = useRef(false); // Enter was pressed before that
  const [chosen, setChosen] = useState(0);
  const [all, setAll] = useState([]); // names of groups that are shown whole
  useEffect(() => {
    dialog.current.showModal();
    setWords((dialog.current.querySelector("input").value = typedAhead()));
  }, []);
  useEffect(() => {
    let left = false;
    const timer = setTimeout(() => api.search(words.trim()).then((result) => left || (setFound(result), setOf(words), setChosen(0), setAll([])), () => {}), words ? 120 : 0);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [words]);
  useEffect(() => {
    if (!chooses.current || of !== words) return;
    chooses.current = false;
    if (flat.length) take(flat[0]);
  }, [of]);
  useEffect(() => document.getElementById("found-" + chosen)?.scrollIntoView({ block: "nearest" }), [chosen]);
  const fits = (name) => words.trim() && name.toLowerCase().includes(words.trim().toLowerCase());
  const groups = [
    ["Conversations", found.sessions.filter((s) => !leaving.has(s.id)).map((s) => ({ key: s.id, mark: html`<${Face} id=${s.agent} name=${agentOf(s.agent).name} size="s" />`, label: titleOf(s), quoted: quote(s.found), side: when(s.updated), act: () => go(talkAddress(s.id)) }))],
    ["Files", found.files.filter((f) => !leaving.has(f.session)).map((f) => ({ key: f.session + f.path, mark: icon(fileIcon(f.path)), ...about(f), act: () => go(f.session ? `#/s/${f.session}?file=${encodeURIComponent(f.path)}` : `#/files?doc=${encodeURIComponent(f.path)}`) }))],
    ["Do", [
      ...found.tasks.map((t, i) => ({ key: "t" + i, mark: html`<${Face} id=${t.agent} name=${t.name} size="s" />`, label: inTwo(t.label || t.name).label, detail: `with ${t.name}`, act: () => beginTask(t.agent, t.trigger ?? "") })),
      ...app.flows.filter((f) => f.name !== pipeline && fits(f.name)).map((f) => ({ key: "f" + f.name, mark: icon("workflow"), label: f.name, detail: "a flow", act: () => go("#/flows") })),
      ...places.filter(([name, , to, part]) => fits(name) && (!part || can(part)) && (app.me.operator || !forOperators.test(to))).map(([name, drawing, to]) => ({ key: to, mark: icon(drawing), label: name, act: () => go(to) })),
      ...(fits("Help: what the keyboard does") ? [{ key: "help", mark: icon("message-circle-question-mark"), label: "Help: what the keyboard does", act: showHelp }] : []),
      ...(fits("Switch colours") ? [{ key: "theme", mark: icon("moon"), label: "Switch colours", act: () => setTheme(currentTheme() === "dark" ? "light" : "dark") }] : []),
    ]],
  ];
  const shown = groups.map(([name, list]) => [name, list.length <= mostShown || all.includes(name) ? list : [...list.slice(0, mostShown - 1), { key: "more", mark: icon("chevron-down"), label: `${list.length - mostShown + 1} more`, more: name }]]);
  const flat = shown.flatMap(([, list]) => list);
  const take = (one) => {
    if (one?.more) return setAll([...all, one.more]); // the first of them is where it was
    close();
    one?.act();
  };
  const keys = (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move && flat.length) {
      event.preventDefault();
      setChosen((chosen + move + flat.length) % flat.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (of !== event.target.value) chooses.current = true;
      else if (flat.length) take(flat[chosen]);
    }
  };
  return html`<dialog class="finder" ref=${dialog} aria-label="Find anything" onClose=${close} onClick=${(e) => e.target === dialog.current && close()}>
    <label class="field">${icon("search")}<input autofocus aria-label="Find anything" role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${flat.length ? "found-" + chosen : undefined} value=${words} onInput=${(e) => ((chooses.current = false), setWords(e.target.value))} onKeyDown=${keys} placeholder="Conversations, files, tasks" /><kbd>Esc</kbd></label>
    <div id="found" role="listbox" aria-label="Found">${shown.map(([name, list]) => list.length > 0 && html`<div role="group" aria-label=${name} key=${name}><div class="over" aria-hidden="true">${name}</div>${list.map((one) => {
      const i = flat.indexOf(one);
      return html`<div class="opt" role="option" id=${"found-" + i} key=${one.key} aria-selected=${i === chosen} aria-current=${i === chosen ? "true" : undefined} onClick=${() => take(one)}>${one.mark}<div class=${"grow" + (one.more ? " dim" : "")}><${Marked} text=${one.label} words=${one.more ? "" : words.trim()} />${[one.detail, one.quoted].map((text, n) => text && html`<small key=${n}><${Marked} text=${text} words=${words.trim()} /></small>`)}</div>${i === chosen ? html`<kbd>↵</kbd>` : one.side && html`<span class="tiny faint">${one.side}</span>`}</div>`;
    })}</div>`)}${flat.length === 0 && html`<p class="dim small pad" role="option" aria-selected="false">Nothing was found.</p>`}</div></dialog>`;
}
