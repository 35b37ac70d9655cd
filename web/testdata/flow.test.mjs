import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { install } from "./fakedom.mjs";

install();
const { app } = await import("../page/state.js");
const { html, render } = await import("../page/view.js");
const { drawnEdge, failuresIn, Flow, inReading, laidOut, named, preview, statesOf } = await import("../page/flow.js");

const node = (id, kind, name, at) => ({ id, kind, ...(kind === "agent" ? { agent: name } : { title: name }), ...(at && { in: at }) });

// nodes are what runs play in a flow, as the server says.
const nodes = { d1: "2", d2: "3", p1: "5", p2: "6", p3: "5", 1: "a", 2: "b" };

// log is a session with runs, each as [id, agent, parent, status].
const log = (...runs) => ({ questions: [], items: [], runs: new Map(runs.map(([id, agent, parent = "", status = "completed"]) => [id, { id, agent, parent, status, node: nodes[id] ?? "" }])) });

const ids = (states) => Object.fromEntries([...states].map(([id, { runs }]) => [id, runs.map((run) => run.id).join(" ")]));

// Two drafts side by side, and then a loop in which one of the two writes again.
const essay = { nodes: [node("1", "parallel", "drafts"), node("2", "agent", "writer", "1"), node("3", "agent", "poet", "1"), node("4", "loop", "polish"), node("5", "agent", "writer", "4"), node("6", "agent", "critic", "4")] };
const drafts = [["r", "essay"], ["d", "drafts", "r"], ["d1", "writer", "d"], ["d2", "poet", "d"], ["p", "polish", "r", "running"]];

test("rounds of a loop are those of the agent in it, whoever has its name elsewhere", () => {
  const states = statesOf(essay, log(...drafts, ["p1", "writer", "p"], ["p2", "critic", "p"], ["p3", "writer", "p", "running"]));
  assert.deepEqual(ids(states), { 2: "d1", 3: "d2", 5: "p1 p3", 6: "p2" });
  assert.equal(states.get("2").state, "done");
  assert.equal(states.get("5").state, "run");
});

const standing = (states) => Object.fromEntries([...states].map(([id, { state }]) => [id, state]));

test("what was cut when the process died is neither to come nor at work", () => {
  const cut = log(["r", "essay", "", "interrupted"], ["d", "drafts", "r", "interrupted"], ["d1", "writer", "d"], ["d2", "poet", "d", "interrupted"]);
  assert.deepEqual(standing(statesOf(essay, cut)), { 2: "done", 3: "stop", 5: "idle", 6: "idle" });
  // A loop in its second round: what was done in the first is to come again.
  const round = log(["r", "essay", "", "interrupted"], ["p", "polish", "r", "interrupted"], ["p1", "writer", "p"], ["p2", "critic", "p"], ["p3", "writer", "p", "interrupted"]);
  assert.deepEqual(standing(statesOf(essay, round)), { 2: "idle", 3: "idle", 5: "stop", 6: "idle" });
});

test("what has no end in a run that was closed is interrupted for good", () => {
  const closed = log(["r", "essay", "", "cancelled"], ["d", "drafts", "r", "running"], ["d1", "writer", "d"], ["d2", "poet", "d", "running"]);
  assert.deepEqual(standing(statesOf(essay, closed)), { 2: "done", 3: "stop", 5: "idle", 6: "idle" });
});

test("what somebody stopped has not failed", () => {
  const halted = { ...log(["r", "essay", "", "cancelled"], ["d", "drafts", "r", "cancelled"], ["d1", "writer", "d"], ["d2", "poet", "d", "cancelled"]), status: "cancelled" };
  assert.deepEqual(standing(statesOf(essay, halted)), { 2: "done", 3: "halt", 5: "none", 6: "none" });
});

test("nothing is to come of a flow that is over", () => {
  const over = (status, ...runs) => ({ ...log(["r", "essay", "", status], ...runs), status });
  const some = [["d", "drafts", "r"], ["d1", "writer", "d"], ["d2", "poet", "d", "failed"]];
  for (const status of ["completed", "failed", "cancelled"]) assert.deepEqual(standing(statesOf(essay, over(status, ...some))), { 2: "done", 3: "fail", 5: "none", 6: "none" });
  for (const status of ["running", "waiting", "interrupted"]) assert.deepEqual(standing(statesOf(essay, over(status, ...some))), { 2: "done", 3: "fail", 5: "idle", 6: "idle" });
  // What was done in the first round of a loop whose second was cut for good stays done.
  assert.deepEqual(standing(statesOf(essay, over("cancelled", ["p", "polish", "r", "running"], ["p1", "writer", "p"], ["p2", "critic", "p"], ["p3", "writer", "p", "running"]))), { 2: "none", 3: "none", 5: "stop", 6: "done" });
});

test("whoever ended without an answer is not done", () => {
  for (const [stop, want] of [["answered", "done"], ["handed_off", "done"], ["decided", "done"], ["repeated_calls", "mute"], ["empty", "mute"], ["turns", "mute"]]) {
    const session = log(["r", "essay"], ["d", "drafts", "r"], ["d1", "writer", "d"]);
    session.runs.get("d1").stop = stop;
    assert.equal(statesOf(essay, session).get("2").state, want, stop);
  }
});

test("a preview has no marks of markdown, and names as they are", () => {
  for (const [text, want] of [
    ["I called mail__send, and it said not_found.", "I called mail__send, and it said not_found."],
    ["# The **bold** plan\nmore", "The bold plan"],
    ["_Well_ said, __really__ (_truly_).", "Well said, really (truly)."],
    ["Use `__init__` and `a_b`.", "Use __init__ and a_b."],
    ["* first_item", "first_item"],
    ["- **Done**: 3 * 4 = 12", "Done: 3 * 4 = 12"],
    ["Issue #3 in C# is fixed", "Issue #3 in C# is fixed"],
    ["_größe_ über_alles_", "größe über_alles"],
    ["```js\nconst a_b = 1;\n```\nAs above.", "As above."],
    ['```json\n{"error_kind": "not_found"}\n```', "error kind: not_found"],
  ]) assert.equal(preview(text), want);
});

test("a frame is named as people read it", () => {
  assert.equal(named(node("4", "parallel", "polish_it"), new Map(), essay), "polish it: at the same time");
});

test("what steps side by side hand on says why one failed in words, where there are some", () => {
  const warnings = [{ code: "failed", agent: "poet", cause: { code: "provider_down" } }, { code: "failed", agent: "judge" }];
  const text = "## poet\n\n(failed: agent poet: step 2: model: 400 (Bad Request): ill)\n\n## writer\n\nOtters (failed: no).\n\n## judge\n\n(failed: agent judge: odd)";
  assert.equal(failuresIn(text, { warnings }), "## poet\n\n(no answer: the provider has a problem)\n\n## writer\n\nOtters (failed: no).\n\n## judge\n\n(failed: agent judge: odd)");
});

test("a step that is answered goes on after the others, and one at which somebody stopped waits for nobody", () => {
  const flow = { nodes: [{ id: "a", kind: "agent", agent: "a" }, { id: "b", kind: "agent", agent: "b" }], edges: [] };
  const of = (status, state, questions = [], ended = "waiting") => {
    const session = { ...log(["r", "both", "", status], ["1", "a", "r", "running"], ["2", "b", "r", ended]), status, questions, items: [{ run: "2", type: "tool", state }], isWithin: (run, other) => run === other };
    return statesOf(flow, session).get("b").state;
  };
  assert.equal(of("running", "waiting", [{ run: "2" }]), "wait");
  assert.equal(of("running", "answered"), "next");
  assert.equal(of("running", "running"), "run");
  assert.equal(of("cancelled", "waiting"), "halt");
  assert.equal(of("running", "answered", [], "completed"), "done"); // and goes on no more
});

test("no way from one member of a team to another leads behind a third", () => {
  const members = ["2", "3", "4", "5"], nodes = [node("1", "team", "desk"), ...members.map((id) => node(id, "agent", "member" + id, "1"))];
  const edges = { column: [], star: ["3", "4", "5"].map((to) => ({ from: "2", to })), line: [{ from: "2", to: "3" }, { from: "3", to: "4" }, { from: "4", to: "5" }] };
  for (const [shape, drawn] of Object.entries(edges)) {
    const { places } = laidOut({ nodes, edges: drawn });
    for (const from of members) for (const to of members.filter((id) => id !== from)) {
      const [x0, y0, ...rest] = drawnEdge({ from, to, team: true }, places).path.match(/-?[\d.]+/g).map(Number);
      assert.equal(rest.length, 6);
      const [x1, y1, x2, y2, x3, y3] = rest, at = (t, a, b, c, d) => a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t ** 2 * (1 - t) + d * t ** 3;
      for (let t = 0; t <= 1; t += 0.005) {
        const x = at(t, x0, x1, x2, x3), y = at(t, y0, y1, y2, y3);
        for (const id of members) if (id !== from && id !== to) assert.ok(!(x > places.get(id).x && x < places.get(id).x + 196 && y > places.get(id).y && y < places.get(id).y + 84), `${shape}: ${from} to ${to} is behind ${id}`);
      }
    }
  }
});

test("the head of an arrow points into its box, even where it ends before the ring around that", () => {
  const places = new Map([["above", { x: 0, y: 0 }], ["below", { x: 0, y: 142 }], ["right", { x: 252, y: 71 }]]);
  for (const from of places.keys()) for (const to of places.keys()) if (from !== to) {
    for (const path of [drawnEdge({ from, to, team: true }, places)].flatMap((e) => [e.path, e.short])) {
      const [, , , , x, y, endX, endY] = path.match(/-?[\d.]+/g).map(Number), box = places.get(to), middle = [box.x + 98, box.y + 45];
      assert.ok((endX - x) * (middle[0] - endX) + (endY - y) * (middle[1] - endY) > 0, `${from} to ${to}: ${path}`);
    }
  }
});

test("the list has the order of the graph", () => {
  const council = { nodes: [node("1", "group_chat", ""), node("2", "agent", "porter", "1"), node("3", "agent", "reader", "1"), node("4", "agent", "chair", "1")], edges: [{ from: "4", to: "2" }, { from: "4", to: "3" }] };
  assert.deepEqual(inReading(council, laidOut(council).places, "1").map((n) => n.agent), ["chair", "porter", "reader"]);
  const top = (flow) => inReading(flow, laidOut(flow).places, "").map((n) => n.id);
  assert.deepEqual(top({ ...essay, edges: [{ from: "2", to: "5" }, { from: "3", to: "5" }, { from: "5", to: "6" }] }), ["1", "4"]);
  assert.deepEqual(top({ nodes: [node("1", "agent", "late"), node("2", "agent", "early")], edges: [{ from: "2", to: "1" }] }), ["2", "1"]);
  assert.deepEqual(top({ nodes: [node("1", "loop", "nobody"), node("2", "agent", "alone")] }), ["2", "1"]);
});

test("a sequence within a frame is drawn as its agents would be without it", () => {
  const edges = [{ from: "3", to: "4" }, { from: "4", to: "3", back: true }];
  const bare = laidOut({ nodes: [node("1", "loop", "polish"), node("3", "agent", "writer", "1"), node("4", "agent", "editor", "1")], edges });
  const framed = laidOut({ nodes: [node("1", "loop", "polish"), node("2", "sequence", "", "1"), node("3", "agent", "writer", "2"), node("4", "agent", "editor", "2")], edges });
  assert.deepEqual(framed.frames.map(({ id, h }) => [id, h]), bare.frames.map(({ id, h }) => [id, h]));
  const branches = [["2", "left"], ["5", "right"], ["8", "third"]].flatMap(([id, name]) => [node(id, "sequence", name, "1"), node(+id + 1 + "", "agent", "asker", id), node(+id + 2 + "", "agent", "writer", id)]);
  const { places } = laidOut({ nodes: [node("1", "parallel", "mixed"), ...branches], edges: [{ from: "9", to: "10" }, { from: "6", to: "7" }, { from: "3", to: "4" }] });
  for (const [a, b, c] of [["3", "6", "9"], ["4", "7", "10"]]) assert.ok(places.get(a).y < places.get(b).y && places.get(b).y < places.get(c).y, JSON.stringify([...places]));
  for (const [a, b] of [["3", "4"], ["6", "7"], ["9", "10"]]) assert.equal(places.get(a).y, places.get(b).y);
});

// drawnEdges are the edges of a flow as they are drawn: "from to": [class, marker].
function drawnEdges(flow, runs, more = {}) {
  app.flows = [flow];
  const session = { edits: new Map(), items: [], spans: [], warnings: [], questions: [], status: "completed", isWithin: () => false, ...more, runs: new Map([["r", { id: "r", agent: flow.name, parent: "", status: "completed" }], ...runs.map(([node, run = {}], i) => ["r" + i, { id: "r" + i, agent: flow.nodes.find((n) => n.id === node).agent, parent: "r", status: "completed", stop: "answered", node, pauses: [], ...run }])]) };
  const root = document.createElement("div"), all = (node) => [node, ...node.childNodes.flatMap(all)];
  render(html`<${Flow} here=${{ id: "s", session }} at="" name=${flow.name} status=${session.status} acts=${{}} />`, root);
  const edges = all(root).filter((n) => n.localName === "path" && /^e /.test(n.attributes.get("class")));
  return edges.map((n) => `${n.attributes.get("class")} ${n.attributes.get("marker-end")}`);
}

test("in every kind of flow what was handed over has a whole line with a head", () => {
  const [a, b, c] = ["2", "3", "4"].map((id) => (kind) => node(id, "agent", "agent" + id, kind && "1")), frame = (kind) => [node("1", kind, ""), a(kind), b(kind), c(kind)];
  const star = [{ from: "2", to: "3" }, { from: "2", to: "4" }], taken = "e done url(#tipgo)", not = "e  url(#tip)";
  const ran = [["2"], ["3"], ["4"]];
  assert.deepEqual(drawnEdges({ name: "line", nodes: [a(), b(), c()], edges: [{ from: "2", to: "3" }, { from: "3", to: "4" }] }, ran), [taken, taken]);
  // Who has no full answer has handed on what there is.
  assert.deepEqual(drawnEdges({ name: "line", nodes: [a(), b(), c()], edges: [{ from: "2", to: "3" }, { from: "3", to: "4" }] }, [["2", { stop: "turns" }], ["3"]]), [taken, not]);
  assert.deepEqual(drawnEdges({ name: "both", nodes: [node("1", "parallel", ""), a("in"), b("in"), c()], edges: [{ from: "2", to: "4" }, { from: "3", to: "4" }] }, ran), [taken, taken]);
  const handoff = { type: "handoff", from: "agent2", to: "agent3" };
  assert.deepEqual(drawnEdges({ name: "desk", nodes: frame("team"), edges: star }, ran.slice(0, 2), { items: [handoff] }), [taken, not]);
  // One team after another: that is no handover within a team.
  assert.deepEqual(drawnEdges({ name: "desks", nodes: [node("1", "team", ""), a("in"), node("5", "team", ""), { ...b("in"), in: "5" }], edges: [{ from: "2", to: "3" }] }, ran.slice(0, 2)), [taken]);
  for (const kind of ["group_chat", "experts"]) for (const end of [{}, { stop: "turns" }, { status: "cancelled" }]) {
    assert.deepEqual(drawnEdges({ name: "talk", nodes: frame(kind), edges: star }, [["2"], ["3"], ["2", end]]), [taken, not], kind);
  }
  const loop = { name: "polish", nodes: [node("1", "loop", ""), a("in"), b("in")], edges: [{ from: "2", to: "3" }, { from: "3", to: "2", back: true }] };
  assert.deepEqual(drawnEdges(loop, [...ran.slice(0, 2), ...ran.slice(0, 2)]), [taken, "e done back url(#tipgo)"]);
  assert.deepEqual(drawnEdges(loop, ran.slice(0, 2)), [taken, "e  back url(#tip)"]);
  const style = readFileSync(new URL("../page/views.css", import.meta.url), "utf8");
  for (const [, rule] of style.matchAll(/^(.*path.*)\{[^}]*stroke-dasharray/gm)) assert.match(rule, /\.go |:not\(\.done\)/);
});
