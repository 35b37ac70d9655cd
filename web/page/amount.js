// Reads a number as people type it: "1,000", "$1,000.50", "7,50", "1.000,50", "10 000".

const grouped = (mark) => new RegExp(`^\\d{1,3}(?:${mark}\\d{3})+$`);
const groups = [",", "\\.", "[ \\u00a0\\u202f]", "['’]"].map(grouped);

// plainNumber is the number with digits and a point alone, for the server: { value }, which
// is the text itself where it is no number, so that whoever refuses it quotes what was
// typed. What can be read in two ways is { wrong }, which says in which. A comma before
// three digits is as the page writes thousands.
export function plainNumber(text) {
  const typed = text.trim().replace(/^\$\s*|\s*\$$/g, "");
  const [, whole, mark = "", rest = ""] = /^(.*?)(?:([.,])(\d*))?$/s.exec(typed);
  if (/^\d+$/.test(typed)) return { value: typed };
  if (groups.some((group) => group.test(typed)) && !typed.startsWith("0")) {
    const digits = typed.replace(/\D/g, "");
    if (!grouped("\\.").test(typed) || typed.split(".").length > 2) return { value: digits };
    return { wrong: `“${typed}” can be read as ${digits} and as ${Number(typed)}: write one of them so.` };
  }
  const isWhole = /^\d*$/.test(whole) || groups.some((group) => group.test(whole) && !whole.includes(mark));
  return { value: mark && rest && isWhole ? `${whole.replace(/\D/g, "") || "0"}.${rest}` : typed };
}
