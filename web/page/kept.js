// What this browser keeps for its user: drafts, and how the page looks. Without
// storage it is kept for as long as the page is open. What begins with "own." is this
// window's alone.

// hearers are told of whatever is kept.
export const hearers = new Set();

// memory has what could not be stored.
const memory = new Map();
const storeOf = (key) => (key.startsWith("own.") ? sessionStorage : localStorage);

export function kept(key, otherwise = null) {
  if (memory.has(key)) return memory.get(key) ?? otherwise;
  try {
    return JSON.parse(storeOf(key).getItem("troupe." + key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

// keep keeps a value; null and "" take it away.
export function keep(key, value) {
  memory.delete(key);
  try {
    if ((value ?? "") === "") storeOf(key).removeItem("troupe." + key);
    else storeOf(key).setItem("troupe." + key, JSON.stringify(value));
  } catch {
    memory.set(key, value);
  }
  hearers.forEach((hear) => hear(key, value));
}
