import assert from "node:assert/strict";
import test from "node:test";
import { Element, install, Text } from "./fakedom.mjs";
import { naughty } from "./naughty.mjs";

install();
const { html, render } = await import("../page/view.js");
const { lex, Prose } = await import("../page/prose.js");
await import("../page/code.js"); // so that it is there at once
await import("../page/math.js");
await import("../page/diagram.js");

function draw(text, more = {}) {
  const root = new Element("div");
  render(html`<${Prose} text=${text} ...${more} />`, root);
  return root.childNodes[0];
}

// show writes what was drawn as text.
function show(node) {
  if (node instanceof Text) return node.data;
  if (node.localName === "svg") return "";
  const href = node.attributes?.get("href") ?? node.href;
  return `<${node.localName}${href ? " " + href : ""}>${node.childNodes.map(show).join("")}</${node.localName}>`;
}
const shown = (text) => draw(text).childNodes.map(show).join("");

const cases = {
  "emphasis": ["**a** *b* ~~d~~ snake_case_x", "<p><strong>a</strong> <em>b</em> <s>d</s> snake_case_x</p>"],
  "unclosed marks": ["**a *b `c [d", "<p>**a *b `c [d</p>"],
  "headings": ["# A\n## B", "<h2>A</h2><h3>B</h3>"],
  "lists": ["- a\n- b\n  1. c", "<ul><li>a</li><li>b<ol><li>c</li></ol></li></ul>"],
  "quote": ["> a\n\nc", "<blockquote><p>a</p></blockquote><p>c</p>"],
  "links": ["[*a*](https://x.y/z) https://u.v/w", "<p><a https://x.y/z><em>a</em></a> <a https://u.v/w>https://u.v/w</a></p>"],
  "other schemes": ["[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.y) [d](/api)", "<p>a b c d</p>"],
  "html is text": ["a <b onclick=x>b</b> &lt;i&gt;", "<p>a <b onclick=x>b</b> <i></p>"],
  "but for a few": ["H<sub>2</sub>O<br>x<sup>2</sup> <kbd>K</kbd> <sub>open", "<p>H<sub>2</sub>O<br></br>x<sup>2</sup> <kbd>K</kbd> <sub>open</p>"],
  "what is folded": ["a\n<details>\n<summary>**More**</summary>\n\n- b\n\n`c`\n\n</details>\n\nd", "<p>a</p><details><summary><strong>More</strong></summary><ul><li>b</li></ul><p><code>c</code></p></details><p>d</p>"],
  "what is folded in one line": ["<details open><summary>A</summary>b</details>", "<details><summary>A</summary><p>b</p></details>"],
  "what is folded, with other attributes": ["<details ontoggle=x><summary>A</summary></details>", "<p><details ontoggle=x><summary>A</summary></details></p>"],
  "what is folded within": ["<details><summary>A</summary>\n\nb\n\n<details><summary>C</summary>\n\nd\n\n</details>\n\n</details>\n\ne", "<details><summary>A</summary><p>b</p><details><summary>C</summary><p>d</p></details></details><p>e</p>"],
  "what is folded, with code that looks like its end": ["<details><summary>A</summary>\n\n```html\n</details>\n```\n\nb\n</details>\n\nc", "<details><summary>A</summary><div><header></header><pre><code></details></code></pre></div><p>b</p></details><p>c</p>"],
  "an end of nothing": ["a\n\n</details>\nb\n</details>\n\nc", "<p>a</p><p>b\n</details></p><p>c</p>"],
  "what is folded and has no end": ["<details><summary>A</summary>\n\n<script>b</script>", "<details><summary>A</summary><p><script>b</script></p></details>"],
  "engine's names": ["Saved {session-folder}/a.md and `{output_folder}/b.md`, {{title}} stays", "<p>Saved a.md and <code>b.md</code>, {{title}} stays</p>"],
};
for (const [name, [text, want]] of Object.entries(cases)) test("prose: " + name, () => assert.equal(shown(text), want));

const elements = new Set("div p pre h1 h2 h3 h4 hr blockquote ul ol li table thead tbody tr th td em strong s code br a span header button input sub sup kbd details summary svg path rect circle line polyline polygon ellipse figure iframe".split(" "));
const all = (node) => [node, ...node.childNodes.flatMap(all)];

test("nothing but the known elements comes out, whatever goes in", () => {
  for (const text of naughty()) {
    for (const form of [text, `[${text}](${text})`, `![x](${text})`, `<${text}>`, `- ${text}\n> ${text}`, `| ${text} |\n|--|\n| ${text} |`, "```" + text + "\n" + text, "```mermaid\n" + text + "\n```", `$$${text}$$`, `\\(${text}\\)`, `<details><summary>${text}</summary>\n\n${text}\n\n</details>`, `<details ${text}><summary ${text}>${text}`]) {
      for (const node of all(draw(form))) {
        if (!(node instanceof Element)) continue;
        assert.ok(elements.has(node.localName), `${node.localName} for ${form}`);
        const href = node.attributes.get("href") ?? node.href;
        if (href && node.localName === "a") assert.match(href, /^(https?:\/\/|mailto:)/i, form);
        for (const name of node.attributes.keys()) assert.doesNotMatch(name, /^on|^srcdoc$/, form);
      }
    }
  }
});

test("a text that grows is drawn as the whole is, and what is complete is not touched again", () => {
  const text = Object.values(cases).map(([source]) => source).join("\n\n") + "\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```go\nx\n```\n\nend";
  const root = new Element("div");
  for (let end = 0; end <= text.length; end += 7) render(html`<${Prose} text=${text.slice(0, end)} streaming=${true} />`, root);
  const first = root.childNodes[0].childNodes[0];
  render(html`<${Prose} text=${text} streaming=${true} />`, root);
  assert.equal(root.childNodes[0].childNodes[0], first);
  render(html`<${Prose} text=${text} streaming=${false} />`, root);
  const whole = draw(text).childNodes.map(show);
  assert.deepEqual(root.childNodes[0].childNodes.map(show), whole);
});

test("what is made to be hard to read takes no longer than its share", () => {
  const shapes = ["[", "[](", "*a ", "`a``b```c", "> ", "- ", "|", "https://a", "<http://", "- a\n", "a**b", "***a ", "_a", "![", "1. ", "$$", "\\(", "<sub>", "<details>\n\n", "<details><summary>a</summary>\n\n", "<details><summary>a</summary></details>\n\n", "<details><summary>"];
  for (const shape of shapes) {
    const start = process.cpuUsage().user;
    lex(shape.repeat(60_000 / shape.length));
    assert.ok((process.cpuUsage().user - start) / 1000 < 3000, `${JSON.stringify(shape)} takes too long`);
  }
});

test("a trigger that an agent names is called by the label of its task", () => {
  const tasks = { labelOf: (trigger) => ({ "*create-brief": "Create Brief", "*go": "Go" })[trigger] ?? "", ask() {} };
  const text = "Type *create-brief, `*go` or *unknown, and *this*. **Bold** stays.";
  assert.equal(draw(text, { tasks }).childNodes.map(show).join(""), "<p>Type <button>“Create Brief”</button>, <button>“Go”</button> or *unknown, and <em>this</em>. <strong>Bold</strong> stays.</p>");
  assert.equal(draw("*create-brief: Create Brief", { tasks }).childNodes.map(show).join(""), "<p>*create-brief: Create Brief</p>");
  assert.equal(shown("Type *create-brief"), "<p>Type *create-brief</p>");
});
