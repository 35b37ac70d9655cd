// Reads what stands within a paragraph: emphasis, code, links.

// most is how many marks of emphasis and brackets may be open at once, and longest
// how many characters a mark has: the tree is drawn by recursion.
const most = 64;
const longest = 6;

// address returns the address of a link that may be followed, or "" for none.
export function address(text) {
  try {
    const url = new URL(text.trim());
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

const special = /[\\`*_~[\]!<&\n]|https?:\/\//g;
const named = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

// inline returns the nodes of a text.
export function inline(text) {
  const reader = { text, at: 0, nodes: [], marks: [], brackets: [] };
  while (reader.at < text.length) {
    special.lastIndex = reader.at;
    const next = special.exec(text);
    const end = next ? next.index : text.length;
    if (end > reader.at) reader.nodes.push(text.slice(reader.at, end));
    if (!next) break;
    reader.at = end;
    readers[next[0][0]](reader);
  }
  return emphasise(reader.nodes, reader.marks, 0);
}

// take adds a node and goes on behind it.
function take(r, node, length) {
  r.nodes.push(node);
  r.at += length;
}

// Each reader takes what begins with a character at r.at, be it only the character.
const readers = {
  "\\"(r) {
    const next = r.text[r.at + 1];
    if (next === "\n") take(r, { tag: "br", children: [] }, 2);
    else if (/[!-/:-@[-`{-~]/.test(next ?? "")) take(r, next, 2);
    else take(r, "\\", 1);
  },
  "\n"(r) {
    const before = r.nodes.at(-1);
    const hard = typeof before === "string" && before.endsWith("  ");
    take(r, hard ? { tag: "br", children: [] } : "\n", 1);
  },
  "&"(r) {
    const match = r.text.slice(r.at, r.at + 8).match(/^&(amp|lt|gt|quot|apos|nbsp);/);
    take(r, match ? named[match[1]] : "&", match ? match[0].length : 1);
  },
  "`"(r) {
    const mark = run(r, "`");
    const close = closing(r, mark);
    if (close < 0) {
      take(r, mark, mark.length);
      return;
    }
    const code = r.text.slice(r.at + mark.length, close).replaceAll("\n", " ").replace(/^ (.*\S.*) $/, "$1");
    take(r, { tag: "code", children: [code] }, close + mark.length - r.at);
  },
  "<"(r) {
    const match = r.text.slice(r.at, r.at + 2048).match(/^<((?:https?:\/\/|mailto:)[^\s<>]*)>/i);
    if (match) take(r, linkTo(match[1], [match[1]]), match[0].length);
    else take(r, "<", 1);
  },
  h(r) {
    const boundary = r.at === 0 || /[\s(*_~"'>[]/.test(r.text[r.at - 1]);
    const match = r.text.slice(r.at, r.at + 2048).match(/^https?:\/\/[^\s<>"`|\\]+/)?.[0].replace(/[.,:;!?'*_~\])}]+$/, (end) =>
      end.startsWith(")") && r.text.slice(r.at, r.at + 2048).split(/\s/, 1)[0].includes("(") ? ")" : "");
    if (boundary && match && !r.brackets.length) take(r, linkTo(match, [match]), match.length);
    else take(r, "http", 4);
  },
  "!"(r) {
    if (r.text[r.at + 1] !== "[") take(r, "!", 1);
    else r.at++; // an image is shown as a link: nothing is loaded from elsewhere
  },
  "["(r) {
    if (r.brackets.length < most) r.brackets.push({ node: r.nodes.length, mark: r.marks.length });
    take(r, "[", 1);
  },
  "]"(r) {
    const open = r.brackets.pop();
    const match = open && r.text.slice(r.at, r.at + 4096).match(/^\]\(\s*(<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/);
    if (!match) {
      take(r, "]", 1);
      return;
    }
    r.nodes[open.node] = "";
    const inside = emphasise(r.nodes.splice(open.node), r.marks.splice(open.mark), open.node);
    r.brackets = []; // links hold no links
    take(r, linkTo(match[1].replace(/^<|>$/g, ""), inside), match[0].length);
  },
  "*"(r) { mark(r, "*"); },
  "_"(r) { mark(r, "_"); },
  "~"(r) { mark(r, "~"); },
};

function run(r, char) {
  let end = r.at;
  while (r.text[end] === char) end++;
  return r.text.slice(r.at, end);
}

// closing finds the next run of just as many backticks.
function closing(r, mark) {
  const ticks = /`+/g;
  ticks.lastIndex = r.at + mark.length;
  for (let found; (found = ticks.exec(r.text)); ) {
    if (found[0].length === mark.length) return found.index;
  }
  return -1;
}

function linkTo(target, children) {
  const href = address(target);
  return href ? { tag: "a", href, children } : { tag: "span", children };
}

// mark notes a run of characters that may open or close emphasis.
function mark(r, char) {
  const text = run(r, char);
  const before = r.text[r.at - 1] ?? " ";
  const after = r.text[r.at + text.length] ?? " ";
  const space = /\s/, letter = /[\p{L}\p{N}]/u;
  let opens = !space.test(after) && (letter.test(after) || !letter.test(before) || char !== "_");
  let closes = !space.test(before) && (letter.test(before) || !letter.test(after) || char !== "_");
  if (char === "_" && letter.test(before) && letter.test(after)) opens = closes = false;
  if (char === "~" ? text.length !== 2 : text.length > longest) opens = closes = false;
  if (opens || closes) r.marks.push({ node: r.nodes.length, char, length: text.length, size: text.length, opens, closes });
  take(r, text, text.length);
}

// emphasise pairs marks and returns the nodes as a tree. The nodes are those from
// number first on.
function emphasise(nodes, marks, first) {
  const open = [];
  const wraps = []; // [first node, last node, tag], inner ones before outer ones
  for (const close of marks) {
    while (close.closes && close.length > 0) {
      const at = open.findLastIndex((m) => m.char === close.char && pairs(m, close));
      if (at < 0) break;
      const size = Math.min(open[at].length, close.length, 2);
      wraps.push([open[at].node - first, close.node - first, close.char === "~" ? "del" : size === 2 ? "strong" : "em"]);
      open[at].length -= size;
      close.length -= size;
      open.splice(at + (open[at].length > 0 ? 1 : 0));
    }
    if (close.opens && close.length > 0) open.push(close);
    if (open.length > most) open.shift();
  }
  return nest(nodes, marks, wraps, first);
}

// pairs is CommonMark's rule of three, by which *a**b**c* is what it looks like.
function pairs(open, close) {
  const either = (open.opens && open.closes) || (close.opens && close.closes);
  return !either || (open.size + close.size) % 3 !== 0 || (open.size % 3 === 0 && close.size % 3 === 0);
}

// nest builds the tree of what was paired.
function nest(nodes, marks, wraps, first) {
  const begin = new Map(), end = new Map();
  for (const [from, to, tag] of wraps) {
    begin.set(from, [tag, ...(begin.get(from) ?? [])]); // outer ones first
    end.set(to, (end.get(to) ?? 0) + 1);
  }
  const left = new Map(marks.map((m) => [m.node - first, m]));
  const stack = [{ children: [] }];
  nodes.forEach((node, i) => {
    for (let n = end.get(i) ?? 0; n > 0; n--) {
      const done = stack.pop();
      stack.at(-1).children.push(done);
    }
    const m = left.get(i);
    const text = m ? m.char.repeat(m.length) : node;
    if (text !== "") add(stack.at(-1).children, text);
    for (const tag of begin.get(i) ?? []) stack.push({ tag, children: [] });
  });
  return stack[0].children;
}

// add joins texts that stand side by side.
function add(children, node) {
  if (typeof node === "string" && typeof children.at(-1) === "string") children[children.length - 1] += node;
  else children.push(node);
}
