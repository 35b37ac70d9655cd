// Copying. A browser has a clipboard for pages that come over HTTPS or from the same machine; a
// page that comes over plain HTTP from another one copies what is selected in it.

import { toast } from "./state.js";

// copy puts a text on the clipboard, and says whether it is there: done is what is said then. It
// is called while a click or a key is handled, or a moment after it.
export async function copy(text, done = "Copied") {
  const is = await written(text);
  if (!is || done) toast(is ? done : "This browser does not let the page copy.");
  return is;
}

// Where there is no clipboard nothing is waited for: some browsers let a page copy only while a
// click is handled.
const written = (text) => navigator.clipboard?.writeText(text).then(() => true, () => selected(text)) ?? selected(text);

// selected copies a text by selecting it in a field that nobody sees. A dialog that is open lets
// nothing outside of it have the focus.
function selected(text) {
  const before = document.activeElement;
  const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true, className: "hidden" });
  (document.querySelector("dialog:modal") ?? document.body).append(field);
  field.focus({ preventScroll: true });
  field.select();
  let is = false;
  try {
    is = document.execCommand("copy");
  } catch {
    // It is not there any more.
  }
  field.remove();
  before?.focus?.({ preventScroll: true });
  return is;
}
