import assert from "node:assert/strict";
import test from "node:test";
import { Element, install, Text } from "./fakedom.mjs";
import { naughty } from "./naughty.mjs";
import { Events } from "./script.mjs";

install();
const { html, render } = await import("../page/view.js");
const { Conversation } = await import("../page/conversation.js");
const { Delivery } = await import("../page/delivery.js");
const { Flow } = await import("../page/flow.js");
const { Picker } = await import("../page/agents.js");
const { Prose } = await import("../page/prose.js");
const { Session } = await import("../page/fold.js");
const { Timeline } = await import("../page/timeline.js");

function draw(content) {
  const root = new Element("div");
  render(content, root);
  return root;
}
const all = (node) => [node, ...node.childNodes.flatMap(all)];
const textOf = (node) => all(node).filter((n) => n instanceof Text).map((n) => n.data).join("");

const elements = new Set(("div p pre h1 h2 h3 h4 h5 h6 hr blockquote ul ol li table thead tbody tr th td em strong del code br a span article header " +
  "details summary dl dt dd section button form input label progress nav").split(" "));
const attributes = /^(class|role|tabindex|dir|title|type|disabled|checked|start|scope|rel|target|href|placeholder|value|max|aria-[a-z]+|data-[a-z]+)$/;

// isHarmless fails if something was drawn that only harm would draw.
function isHarmless(root, text) {
  for (const node of all(root)) {
    if (!(node instanceof Element)) continue;
    assert.ok(elements.has(node.localName), `${node.localName} for ${text}`);
    for (const [name, value] of node.attributes) {
      assert.match(name, attributes, `${node.localName} for ${text}`);
      if (name === "href") assert.match(value, /^(https?:\/\/|mailto:|#\/)/, text);
    }
    if (node.attributes.get("target")) assert.match(node.attributes.get("rel"), /noopener/);
  }
}

const here = (session) => ({ session, connection: "live", problem: null, interrupted: 0 });
const someone = (name) => () => ({ id: name, name, icon: name, commands: [] });

test("no text, wherever it stands, becomes an element or an address that does harm", () => {
  for (const text of naughty()) {
    const e = new Events();
    const session = new Session();
    for (const event of [
      { ...e.start(text, text), agent: text }, e.said(text), e.delta(2, text), e.replied(2, `[${text}](${text})\n${text}`),
      e.called(3, text, { [text]: text }), { ...e.returned(3, text, text) }, e.called(4, text, text), e.asked(4, text, { [text]: text }), e.finished(text, "input_requested"),
    ]) session.take(event);
    session.add({ run: "r1" }, { type: "file", path: text, size: 1 });
    session.add({ run: "r1" }, { type: "note", level: "error", text });
    const agent = { id: text, bundle: text, name: text, title: text, icon: text, description: text, commands: [{ cmd: text, description: text }] };
    for (const content of [
      html`<${Prose} text=${text} />`, html`<${Prose} text=${`[${text}](${text}) <${text}> ![${text}](${text})`} />`,
      html`<${Conversation} here=${here(session)} agentOf=${someone(text)} acts=${{}} />`, html`<${Timeline} session=${session} />`,
      html`<${Flow} session=${session} flow=${{ name: text, tree: text }} agentOf=${someone(text)} />`, html`<${Delivery} session=${session} />`,
      html`<${Picker} agents=${[agent]} flows=${[{ name: text, description: text, tree: text }]} problem=${text} />`,
    ]) isHarmless(draw(content), text);
  }
});

test("an object where a text is expected is not taken for an element", () => {
  const forged = JSON.parse('{"type":"script","props":{"children":"alert(1)"},"key":null,"ref":null,"__v":null}');
  const root = draw(html`<p>${forged}</p>`);
  assert.deepEqual(all(root).filter((n) => n instanceof Element).map((n) => n.localName), ["div", "p"]);
});

test("an approval shows the exact arguments, with what does not show written out", () => {
  const e = new Events();
  const session = new Session();
  const args = { to: "bob", text: "a\u202Eb\u200B" };
  for (const event of [e.start("alex", "x"), e.said("x"), e.called(2, "mail", args), e.asked(2, "mail", args), e.finished("", "input_requested")]) session.take(event);
  const root = draw(html`<${Conversation} here=${here(session)} agentOf=${someone("Alex")} acts=${{}} />`);
  const exact = all(root).find((n) => n.attributes?.get("aria-label") === "Exact arguments");
  assert.equal(textOf(exact), '{\n  "to": "bob",\n  "text": "a\\u{202e}b\\u{200b}"\n}');
  const buttons = all(root).filter((n) => n.localName === "button").map(textOf);
  assert.ok(buttons.includes("Approve") && buttons.includes("Deny"), buttons.join());
});

test("code has a button that copies it, and tasks have boxes", () => {
  const root = draw(html`<${Prose} text=${"```go\nx\n```\n- [x] a\n- [ ] b"} />`);
  assert.deepEqual(all(root).filter((n) => n.localName === "button").map(textOf), ["Copy"]);
  assert.equal(all(root).filter((n) => n.localName === "input").length, 2);
});
