// Boxes that can be ticked in a document that is read: where each of them is in the text.

const box = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+\[([ xX])\](?=[ \t]|$)/;
const fence = /^[ \t>]*(`{3,}|~{3,})/;

// marksIn finds the marks between the brackets of a text's boxes: [place, is ticked].
function marksIn(text) {
  const marks = [];
  let at = 0, open = "";
  for (const line of text.split("\n")) {
    const fenced = line.match(fence)?.[1] ?? "";
    if (open ? fenced.startsWith(open) : fenced) open = open ? "" : fenced;
    else if (!open) {
      const found = line.match(box);
      if (found) marks.push([at + found[0].length - 2, found[1] !== " "]);
    }
    at += line.length + 1;
  }
  return marks;
}

function itemsIn(tokens = [], found = []) {
  for (const token of tokens) {
    if (token.type === "list") {
      for (const item of token.items) {
        if (item.task) found.push(item);
        itemsIn(item.tokens, found);
      }
    } else if (/^(blockquote|details)$/.test(token.type)) itemsIn(token.tokens, found);
  }
  return found;
}

// ticked returns, by the tokens of a document's boxes, the text in which that box is the
// other way round. Where it is not sure which box is which, there are none.
export function ticked(text, tokens) {
  const items = itemsIn(tokens), marks = marksIn(text);
  if (items.length !== marks.length || items.some((item, i) => !!item.checked !== marks[i][1])) return new Map();
  return new Map(items.map((item, i) => [item, () => text.slice(0, marks[i][0]) + (marks[i][1] ? " " : "x") + text.slice(marks[i][0] + 1)]));
}
