// What can run and what ran: flows, and deliveries.

import { app, agentOf, byTime, can, pipeline, titleOf } from "./state.js";
import { FlowCard } from "./home.js";
import { NewDelivery } from "./delivery.js";
import { cost, when } from "./format.js";
import { useOlder } from "./older.js";
import { now } from "./words.js";
import { talkAddress } from "./route.js";
import { Bones, Face, html, icon } from "./view.js";

export function Lists({ what }) {
  const flows = app.flows.filter((flow) => flow.name !== pipeline);
  const agents = what === "deliveries" ? [pipeline] : flows.length ? flows.map((flow) => flow.name) : ["-"];
  const ran = byTime().filter((s) => agents.includes(s.agent));
  const [isKnown, older] = useOlder(agents);
  return html`<div class="page"><div class="in"><h1>${what === "flows" ? "Flows" : "Deliveries"}</h1>
    <div class="lists">${what === "flows" ? (flows.length ? html`<div class="cast">${flows.map((flow) => html`<${FlowCard} key=${flow.name} flow=${flow} />`)}</div>` : html`<p class="dim">There are no flows.${can("settings") && html` They are described in <code>troupe.yaml</code> under <code>flows</code>.`}</p>`) : can("deliveries") ? html`<${NewDelivery} />` : html`<p class="dim">This server has no deliveries.</p>`}</div>
    <div class="sec"><h2>${what === "flows" ? "What ran" : "What was asked for"}</h2></div>
    ${ran.length ? html`<div class="recent">${ran.map((s) => html`<a key=${s.id} href=${talkAddress(s.id, what === "flows" ? "flow" : "delivery")} data-status=${s.status}><${Face} id=${s.agent} name=${agentOf(s.agent).name} size="m" /><div class="grow"><div class="cut" dir="auto">${titleOf(s)}</div><div class="tiny faint cut">${s.status === "waiting" ? when(s.updated) : now(s)}${s.result ? ` · ${s.result.replace("_", " ")}` : ""}${s.forked ? " · goes on from another" : ""}${s.spent ? ` · ${cost(s.spent)}` : ""}</div></div>${s.status === "waiting" ? html`<span class="chip spot t">${icon("hand")}waits for you</span>` : s.status === "running" ? icon("loader-circle", "spin acc") : html`<span class="tiny faint">${when(s.updated)}</span>`}</a>`)}</div>` : isKnown ? !older && html`<p class="dim">Nothing yet.</p>` : html`<${Bones} />`}${older}</div></div>`;
}
