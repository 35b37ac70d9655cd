// Reads a number as people type it: "1,000", "$1,000.50", "7,50", "1.000,50", "10 000".

const grouped = (mark) => new RegExp(`^\\d{1,3}(?:${mark}\\d{3})+$`);
const groups = [",", "\\.", "[ \\u00a0\\u202f]", "['’]"].map(grouped);

// wholeNumber is the number with digits and a point alone, for the server: { value }, which
// is the text itself where it is no number, so that whoever refuses it quotes what was
// typed. A mark before three digits is one of thousands.
export function wholeNumber(text) {
  const typed = plain(text);
  const [, whole, mark = "", rest = ""] = /^(.*?)(?:([.,])(\d*))?$/s.exec(typed);
  if (/^\d+$/.test(typed)) return { value: typed };
  if (groups.some((group) => group.test(typed)) && !typed.startsWith("0")) return { value: typed.replace(/\D/g, "") };
  const isWhole = /^\d*$/.test(whole) || groups.some((group) => group.test(whole) && !whole.includes(mark));
  return { value: mark && rest && isWhole ? `${whole.replace(/\D/g, "") || "0"}.${rest}` : typed };
}

const plain = (text) => text.trim().replace(/^\$\s*|\s*\$$/g, "");

// amount is wholeNumber for money, of which there are cents: with one comma or point before
// three digits it can be read in two ways, and is { wrong }, which says how to write each.
export function amount(text) {
  const typed = plain(text), digits = typed.replace(/\D/g, "");
  if (!/^[1-9]\d{0,2}[.,]\d{3}$/.test(typed)) return wholeNumber(text);
  return { wrong: `“${typed}” can be read as ${digits} and as ${digits / 1000}: write ${digits}, or ${(Math.round(digits / 10) / 100).toFixed(2)}.` };
}

// spell is how troupe.yaml has a time that people write in their way: "1 h 30 min" is 1h30m.
export function spell(text) {
  const words = text.trim().toLowerCase(), part = /(\d+)\s*(h|m|s)(?:rs?|ours?|ins?|inutes?|ecs?|econds?)?\b[\s,]*(?:and\s+)?/g;
  return { value: words.replace(part, "") ? text.trim() : words.replace(part, "$1$2") };
}
