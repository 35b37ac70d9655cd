// Files that go with a message, read and ready to be sent.

import { size } from "./format.js";
import { toast } from "./state.js";
import { html, icon } from "./view.js";

const mostFiles = 10;
const mostBytes = 8 << 20;
// mostTogether is what the server takes in one request, as base64.
const mostTogether = 11 << 20;

// addFiles returns the files of a message with more of them. What cannot be attached is
// told. By its key a file is known in every window that shows it.
export async function addFiles(files, list, tell) {
  const added = [...files];
  for (const file of [...list]) { // a copy: the field that they came from is emptied meanwhile
    const together = added.reduce((sum, f) => sum + f.data.length * 0.75, 0);
    if (added.length >= mostFiles) {
      tell(`A message has at most ${mostFiles} files.`);
      break;
    }
    if (file.size > mostBytes || file.size === 0 || together + file.size > mostTogether) {
      tell(`${file.name} ${file.size ? (file.size > mostBytes ? `is too large: ${size(file.size)} of at most ${size(mostBytes)}` : `is too much (${size(file.size)}): what goes with a message may have ${size(mostTogether)} together`) : "is empty, or a folder"}. It was not attached.`);
      continue;
    }
    if (!/^(image|audio|video)\/|^application\/pdf$/.test(file.type) && (await isNoText(file))) {
      tell(`${file.name} is neither text nor a picture nor a PDF: models cannot read it. It was not attached.`);
      continue;
    }
    added.push({ name: file.name, mime: typeOf(file), data: await encoded(file), size: file.size, key: `${Date.now()} ${Math.random()}` });
  }
  return added;
}

// put adds files to what is being written.
export async function put(list, draft, setDraft) {
  const added = await addFiles(draft.files, list, toast);
  setDraft((now) => ({ ...now, files: [...now.files, ...added.slice(draft.files.length)] }));
}

// isNoText says that a file holds what no text does.
const isNoText = (file) => file.slice(0, 8192).arrayBuffer().then((bytes) => new Uint8Array(bytes).includes(0));

// typeOf is the file's type. Browsers know few kinds of text.
function typeOf(file) {
  return file.type || (/\.(md|txt|csv|log|json|ya?ml|toml|xml|go|py|js|ts|sql|sh)$/i.test(file.name) ? "text/plain" : "application/octet-stream");
}

function encoded(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

// Attached are the files of a message that is being written.
export const Attached = ({ files, remove }) => html`<ul class="row wrap attached" aria-label="Attached files">
  ${files.map((f, i) => html`<li key=${i} class="chip out">${icon("paperclip")}${f.name}<span class="faint">${size(f.size ?? f.data.length * 0.75)}</span>
    <button type="button" class="bare" aria-label=${"Remove " + f.name} onClick=${() => remove(f)}>${icon("x")}</button></li>`)}</ul>`;
