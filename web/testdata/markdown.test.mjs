import assert from "node:assert/strict";
import test from "node:test";
import { parse } from "../page/markdown.js";
import { naughty } from "./naughty.mjs";

// show writes a tree as text.
function show(node) {
  if (typeof node === "string") return node;
  const extra = [node.lang, node.href, node.align, node.start, node.checked].filter((value) => value !== undefined && value !== "").join(" ");
  return `<${node.tag}${extra && " " + extra}>${node.text ?? node.children.map(show).join("")}</${node.tag}>`;
}
const shown = (text) => parse(text).map(show).join("");

const cases = {
  "emphasis": ["**a** *b* ***c*** ~~d~~ *e**f**g* snake_case_x 2*3*4", "<p><strong>a</strong> <em>b</em> <em><strong>c</strong></em> <del>d</del> <em>e<strong>f</strong>g</em> snake_case_x 2<em>3</em>4</p>"],
  "unclosed marks": ["**a *b `c [d", "<p>**a *b `c [d</p>"],
  "code": ["`a` ``b`c`` \\`d\\`", "<p><code>a</code> <code>b`c</code> `d`</p>"],
  "headings": ["# A #\n## B\nC\n===", "<h1>A</h1><h2>B</h2><h1>C</h1>"],
  "fence": ["```go\nfunc f() {}\n\n  x\n```\nafter", "<pre go>func f() {}\n\n  x</pre><p>after</p>"],
  "fence in the making": ["~~~\nx < y", "<pre>x < y</pre>"],
  "lists": ["- a\n- b\n  1. c\n  2. d\n- [x] e\n- [ ] f", "<ul><li>a</li><li>b<ol 1><li>c</li><li>d</li></ol></li><li true>e</li><li false>f</li></ul>"],
  "loose list": ["1. a\n\n2. b", "<ol 1><li><p>a</p></li><li><p>b</p></li></ol>"],
  "code in a list": ["- a\n  ```\n  x\n  ```", "<ul><li>a<pre>x</pre></li></ul>"],
  "table": ["| a | b |\n|:-:|--:|\n| 1 \\| 2 | `x|y` |\n| 3 |", "<table><thead><tr><th center>a</th><th right>b</th></tr></thead><tbody><tr><td center>1 | 2</td><td right><code>x|y</code></td></tr><tr><td center>3</td><td right></td></tr></tbody></table>"],
  "empty cells": ["| a | | c |\n|--|--|--|\n| | 2 | |", "<table><thead><tr><th>a</th><th></th><th>c</th></tr></thead><tbody><tr><td></td><td>2</td><td></td></tr></tbody></table>"],
  "quote": ["> a\n> - b\n\nc", "<blockquote><p>a</p><ul><li>b</li></ul></blockquote><p>c</p>"],
  "links": ["[*a*](https://x.y/z_(1) \"t\") <https://q.r> https://u.v/w. (http://s.t)", "<p><a https://x.y/z_(1)><em>a</em></a> <a https://q.r/>https://q.r</a> <a https://u.v/w>https://u.v/w</a>. (<a http://s.t/>http://s.t</a>)</p>"],
  "images are links": ["![alt](https://x.y/p.png)", "<p><a https://x.y/p.png>alt</a></p>"],
  "other schemes": ["[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.y) [d](/api) [e]( JaVaScRiPt:x)", "<p><span>a</span> <span>b</span> <span>c</span> <span>d</span> <span>e</span></p>"],
  "html is text": ["<b onclick=x>a</b> &lt;i&gt;", "<p><b onclick=x>a</b> <i></p>"],
  "breaks": ["a  \nb\\\nc\nd", "<p>a  <br></br>b<br></br>c\nd</p>"],
  "rules": ["a\n\n---\n***", "<p>a</p><hr></hr><hr></hr>"],
};
for (const [name, [text, want]] of Object.entries(cases)) test("markdown: " + name, () => assert.equal(shown(text), want));

const tags = new Set("p pre h1 h2 h3 h4 h5 h6 hr blockquote ul ol li table thead tbody tr th td em strong del code br a span".split(" "));
const fields = new Set("tag children text lang href align start checked".split(" "));

function check(node) {
  if (typeof node === "string") return;
  assert.ok(tags.has(node.tag), node.tag);
  for (const field of Object.keys(node)) assert.ok(fields.has(field), field);
  if ("href" in node) assert.match(node.href, /^(https?:\/\/|mailto:)/);
  node.children.forEach(check);
}

test("nothing but the known tags comes out, whatever goes in", () => {
  for (const text of naughty()) {
    for (const form of [text, `[${text}](${text})`, `![x](${text})`, `<${text}>`, `- ${text}\n> ${text}`, `| ${text} |\n|--|\n| ${text} |`, "```" + text + "\n" + text]) {
      parse(form).forEach(check);
    }
  }
});

test("every beginning of a text can be read", () => {
  const text = Object.values(cases).map(([source]) => source).join("\n\n");
  for (let end = 0; end <= text.length; end++) parse(text.slice(0, end)).forEach(check);
});

test("the time is proportional to the text, and the tree is not too deep to draw", () => {
  const depth = (node) => (typeof node === "string" ? 0 : 1 + Math.max(0, ...node.children.map(depth)));
  const shapes = ["[", "[](", "*a ", "*a_ ", "`a``b```c", "> ", "- ", "|", "https://a", "<http://", "a\n", "- a\n", "- x\n\n", "**", "a**b", "***a ", "![", "\\", "&", "1. "];
  for (const shape of shapes) {
    const time = (size) => {
      const text = shape.repeat(size / shape.length);
      const start = process.cpuUsage().user; // a busy machine does not count
      for (const node of parse(text)) assert.ok(depth(node) < 300, shape);
      return (process.cpuUsage().user - start) / 1000;
    };
    time(20_000); // warm
    const small = Math.max(time(50_000), 20);
    assert.ok(time(200_000) < 12 * small + 400, `${JSON.stringify(shape)} takes more than its share`);
  }
});
