// What people write into fields other than the box, and what they choose there.

import { keep, kept } from "./kept.js";
import { useRef, useState } from "./view.js";

// useKept is what stands in a field, kept in this browser under a key until it is set to null or "".
// otherwise is what stands there where nothing was kept.
export function useKept(key, otherwise = "") {
  const [, draw] = useState(0);
  const now = useRef({}).current;
  if (now.key !== key) Object.assign(now, { key, value: kept(key, otherwise) }); // by a name, which may be known later than the field
  return [now.value, (value) => (keep(key, value), (now.value = value ?? otherwise), draw((n) => n + 1))];
}
