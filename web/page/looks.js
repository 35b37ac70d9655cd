import { useEffect, useState } from "./view.js";

// useLooks counts how often somebody has come back to the page, who may have been at an editor or a
// terminal meanwhile.
export function useLooks() {
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    const look = () => setLooks((n) => n + 1);
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, []);
  return looks;
}
