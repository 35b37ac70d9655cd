// Which language a text is written in, as far as its letters and its commonest words
// tell: screen readers choose a voice by it, and browsers the shapes of letters.

// scripts are those that say what language it is, or nearly so. Those of several
// languages have what sets the others apart, which comes first.
const scripts = [
  [/[\u0590-\u05ff]/g, "he"],
  [/[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff]/g, "ar", [/[ٹڈڑےں]/, "ur"], [/[پچژگ]|ی/, "fa"]],
  [/[\u3040-\u30ff\u3400-\u9fff\uff66-\uff9f]/g, "zh", [/[\u3040-\u30ff]/, "ja"]],
  [/[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]/g, "ko"],
  [/[\u0400-\u052f]/g, "ru", [/[іїєґ]/i, "uk"]],
  [/[\u0370-\u03ff\u1f00-\u1fff]/g, "el"],
  [/[\u0e00-\u0e7f]/g, "th"],
  [/[\u0900-\u097f]/g, "hi"],
  [/[\u0980-\u09ff]/g, "bn"],
  [/[\u0b80-\u0bff]/g, "ta"],
  [/[\u0530-\u058f]/g, "hy"],
  [/[\u10a0-\u10ff]/g, "ka"],
];

// common are words that are frequent in one language and no words of the others.
const common = {
  en: "the and is are of with that this you not for it was have from which",
  de: "der die und ist nicht das ein eine mit für auf dem sich auch wird oder",
  fr: "le les et est une des pas dans pour qui sur avec vous sont cette",
  es: "el los las y es una por con que para como más pero está este",
  it: "il gli e è una di che non per con sono della più anche questo",
  pt: "o os e é uma não em para com que do da são mais você",
  nl: "het een en is van niet dat met voor zijn ook wordt deze op te",
  pl: "nie się jest że jak są przez oraz dla lub tym aby czy ale będzie",
  tr: "ve bir bu için ile değil olarak daha çok var gibi kadar ama olan her",
};
const words = new Map(Object.entries(common).map(([language, list]) => [language, new Set(list.split(" "))]));

const enough = 3; // words of one language, and more than of any other

// scriptOf is the language that the letters of a text stand for, undefined for those that
// many have.
function scriptOf(text) {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  for (const [script, language, ...others] of scripts) {
    // A character of Chinese is a word: fewer of them are as much.
    if ((text.match(script)?.length ?? 0) * (language === "zh" ? 4 : 2) > letters) return others.find(([own]) => own.test(text))?.[1] ?? language;
  }
}

// languageOf is the language of a text, undefined where that cannot be told. Code says
// nothing of it, and a long text is known by its beginning.
export function languageOf(text) {
  const plain = text.slice(0, 4000).replace(/```[\s\S]*?(```|$)|`[^`\n]*`|https?:\S+/g, " ");
  const counts = new Map();
  for (const word of plain.toLowerCase().match(/\p{L}+/gu) ?? []) for (const [language, list] of words) if (list.has(word)) counts.set(language, (counts.get(language) ?? 0) + 1);
  const [first, second] = [...counts].sort((a, b) => b[1] - a[1]);
  return scriptOf(plain) ?? (first && first[1] >= enough && first[1] > (second?.[1] ?? 0) * 1.5 ? first[0] : undefined);
}

const fromRight = ["ar", "fa", "he", "ur"];

// speak has an element be in a language, and be written in its direction; where it is
// none, in that of what is around it, or whichever else was given.
function speak(element, language, direction) {
  for (const [name, value] of [["lang", language], ["dir", language ? (fromRight.includes(language) ? "rtl" : "ltr") : direction]]) {
    if (value) element.setAttribute(name, value);
    else element.removeAttribute(name);
  }
}

// mark says of an element that holds a text which language it is in, and of each of its
// blocks where that is written in other letters.
export function mark(element, text) {
  const language = languageOf(text), known = scriptOf(text) !== undefined;
  speak(element, language, "auto");
  for (const block of element.children) {
    if (block.matches(".code, .fig")) continue;
    const own = scriptOf(block.textContent.slice(0, 1000)) ?? (known ? languageOf(block.textContent) : undefined);
    speak(block, own === language ? undefined : own);
  }
}
