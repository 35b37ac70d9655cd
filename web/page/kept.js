// What this browser keeps for its user: drafts, and how the page looks. Without
// storage it is kept for as long as the page is open.

const memory = new Map();

export function kept(key, otherwise = null) {
  try {
    const text = localStorage.getItem("troupe." + key);
    return text === null ? (memory.get(key) ?? otherwise) : JSON.parse(text);
  } catch {
    return memory.get(key) ?? otherwise;
  }
}

// keep keeps a value; null and "" take it away.
export function keep(key, value) {
  memory.set(key, value);
  try {
    if (value === null || value === undefined || value === "") localStorage.removeItem("troupe." + key);
    else localStorage.setItem("troupe." + key, JSON.stringify(value));
  } catch {
    // It holds for as long as the page is open.
  }
}
