// What this browser keeps for its user: drafts, and how the page looks. Without
// storage it is kept for as long as the page is open. What begins with "own." is this
// window's alone.

const memory = new Map();
const storeOf = (key) => (key.startsWith("own.") ? sessionStorage : localStorage);

export function kept(key, otherwise = null) {
  try {
    const text = storeOf(key).getItem("troupe." + key);
    return text === null ? (memory.get(key) ?? otherwise) : JSON.parse(text);
  } catch {
    return memory.get(key) ?? otherwise;
  }
}

// keep keeps a value; null and "" take it away.
export function keep(key, value) {
  memory.set(key, value);
  try {
    if (value === null || value === undefined || value === "") storeOf(key).removeItem("troupe." + key);
    else storeOf(key).setItem("troupe." + key, JSON.stringify(value));
  } catch {
    // It holds for as long as the page is open.
  }
}
