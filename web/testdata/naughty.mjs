// Texts that were written to do harm.

import { existsSync, readFileSync } from "node:fs";

const own = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "javascript:alert(1)", "JaVaScRiPt&colon;alert(1)",
  "java\nscript:alert(1)", "\u0001javascript:alert(1)", "data:text/html;base64,PHNjcmlwdD4=", "vbscript:x", "//evil.example", "\\\\evil.example",
  "https://a.b\" onmouseover=\"alert(1)", "http://x'onclick='alert(1)", "]]><script>", "\u202Etxt.exe", "a\0b", "{\"__proto__\":{\"x\":1}}",
  "constructor", "__proto__", "${alert(1)}", "{{constructor.constructor('alert(1)')()}}", "</style><script>", "<!--", "&#106;avascript:alert(1)",
];

// naughty returns texts of our own, and those of the corpus where it is at hand.
export function naughty() {
  const file = process.env.NAUGHTY_STRINGS;
  const found = file && existsSync(file) ? readFileSync(file, "utf8").split("\n").filter((line) => line && !line.startsWith("#")) : [];
  return [...own, ...found];
}
