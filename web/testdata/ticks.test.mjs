import assert from "node:assert/strict";
import test from "node:test";
import { install } from "./fakedom.mjs";

install();
const { lex } = await import("../page/prose.js");
const { ticked } = await import("../page/ticks.js");

// all are the texts that ticking one box after the other makes.
const all = (text) => [...ticked(text, lex(text)).values()].map((to) => to());

test("a box that is ticked is the only thing that changes", () => {
  const text = "# Open\n\n- [ ] who empties it?\n  - [x] on Sundays\n- no box\n\n> 1. [ ] quoted\n\n```md\n- [ ] an example\n```\n\n<details><summary>More</summary>\n\n- [ ] folded\n\n</details>\n\n* [X] last, with `[ ]` and [ ] in it\n";
  const marks = ["- [ ] who", "- [x] on", "1. [ ] quoted", "- [ ] folded", "* [X] last"];
  const made = all(text);
  assert.equal(made.length, marks.length);
  marks.forEach((mark, i) => assert.equal(made[i], text.replace(mark, mark.replace(/\[(.)\]/, (_, was) => (was === " " ? "[x]" : "[ ]")))));
});

test("where it is not sure which box is which, none can be ticked", () => {
  for (const text of ["no boxes", "- [ ] a\n\n    - [ ] code, not a box?\n\n```\nnever closed\n- [ ] b\n", "<pre>\n- [ ] c\n</pre>\n"]) {
    const marks = all(text);
    for (const made of marks) assert.equal([...made].filter((c, i) => c !== text[i]).length, 1);
  }
  assert.equal(all("<pre>\n- [ ] c\n</pre>\n\n- [ ] d\n").length, 0);
});
