import assert from "node:assert/strict";
import { test } from "node:test";
import { languageOf, mark } from "../page/language.js";

test("letters that one language has say which it is", () => {
  for (const [language, text] of [
    ["ar", "بنك واحد من **24 خزانة** يكفي في معظم الليالي (`close_door`)"],
    ["fa", "این یک متن فارسی است و چیزی می‌گوید"],
    ["he", "ארון אחד מספיק ברוב הלילות"],
    ["zh", "在大多数夜晚，一组 **24 个** 还书柜就够了"],
    ["ja", "夜間の返却ロッカーは一つで十分です"],
    ["ko", "야간 반납함은 하나면 충분합니다"],
    ["ru", "Одного банка достаточно"],
    ["uk", "Одного банку досить, і це її рішення"],
    ["el", "Μία συστοιχία αρκεί"],
  ]) assert.equal(languageOf(text), language, text);
});

test("common words say which it is", () => {
  for (const [language, text] of [
    ["en", "One bank of 24 will do on most nights, but not on Sundays. The three ways to get through it are below."],
    ["de", "Eine Bank ist an den meisten Abenden genug, aber nicht am Sonntag, und das wird auch so bleiben."],
    ["fr", "Une seule banque est suffisante pour la plupart des nuits, mais pas dans tous les cas."],
    ["es", "El banco es suficiente para las noches, pero los domingos no."],
    ["it", "Il documento è pronto e non manca una riga: che cosa vuole per il resto?"],
  ]) assert.equal(languageOf(text), language, text);
});

test("what is too little or code says nothing", () => {
  for (const text of ["", "OK", "PRD", "24", "```go\nthe and is are of\n```", "`the` `and` `is` `of`"]) assert.equal(languageOf(text), undefined, text);
});

// element is as much of an element as mark needs.
function element(text, children = [], classes = []) {
  const attributes = {};
  return {
    attributes, children, textContent: text,
    matches: (selector) => selector.split(", ").some((one) => classes.includes(one.slice(1))),
    setAttribute: (name, value) => (attributes[name] = value),
    removeAttribute: (name) => delete attributes[name],
  };
}

test("a block in other letters says so itself", () => {
  const arabic = "بنك واحد من الخزائن يكفي في معظم الليالي";
  const english = "The two of you have said that it is not for the porter.";
  const blocks = [element(english), element(arabic), element("the and is are of", [], ["code"])];
  const turn = element("", blocks);
  mark(turn, `${english}\n\n${english}\n\n${arabic}`);
  assert.deepEqual(turn.attributes, { lang: "en", dir: "ltr" });
  assert.deepEqual(blocks.map((b) => b.attributes), [{}, { lang: "ar", dir: "rtl" }, {}]);
  mark(turn, arabic + arabic + arabic + "\n\nPRD");
  assert.deepEqual(turn.attributes, { lang: "ar", dir: "rtl" });
  assert.deepEqual(blocks[0].attributes, { lang: "en", dir: "ltr" });
  mark(turn, "24");
  assert.deepEqual(turn.attributes, { dir: "auto" });
});
