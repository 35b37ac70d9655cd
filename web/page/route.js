// Addresses: #/s/ID/run/7?file=brief.md names a place that can be kept, shared among
// the same people, and gone back to.

import { useEffect, useState } from "./view.js";

const decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

// routeOf reads an address: { name, id, view, at, query }.
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [name = "", id = "", view = "", ...rest] = path.split("/").map(decode);
  return { name: name === "s" && !id ? "" : name, id, view, at: rest.join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
}

// address writes one.
export function address(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  return "#/" + parts.filter((part) => part !== "" && part !== undefined).map(encodeURIComponent).join("/") + (given.length ? "?" + new URLSearchParams(given) : "");
}

export const talkAddress = (id, ...more) => address(["s", id, ...more]);

export const go = (hash) => {
  location.hash = hash;
};

// replace changes the address without a step for the back button.
export function replace(hash) {
  history.replaceState(history.state, "", location.pathname + location.search + hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    changed(); // what was clicked before anybody listened
    return () => removeEventListener("hashchange", changed);
  }, []);
  return routeOf(hash);
}
