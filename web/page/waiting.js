// The queue of a session, as it stands on the server.

import { api } from "./api.js";
import { useEffect, useState } from "./view.js";

// useQueue returns a session's queue, asked for anew whenever changed changes.
export function useQueue(id, changed) {
  const [queue, setQueue] = useState({ messages: [], held: false });
  useEffect(() => {
    let left = false;
    if (id) api.queue(id).then((found) => left || setQueue(found), () => {});
    return () => {
      left = true;
    };
  }, [id, changed]);
  return [queue, setQueue];
}
