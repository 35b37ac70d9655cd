// Which of a browser's tabs are connected. A browser has six connections for a server, for all
// its tabs together (HTTP/1.1): if tabs that nobody looks at held on to theirs, nothing would be
// left for the one that is looked at.

// mostSeen is how many tabs that can be seen are connected, each in a window of its own.
const mostSeen = 4;

// share calls connect with whether this tab is to be connected, now and whenever that changes: a
// tab that can be seen is, and of those that are hidden the one that was looked at last, if no
// other was since. That one tells the others what it hears: they hear it by hear. share returns
// how to tell. A tab that is opened counts as looked at.
export function share(connect, hear, world = globalThis) {
  const { document } = world, id = Math.random(), channel = new world.BroadcastChannel("troupe" + world.location.pathname);
  const later = new Map(); // the tabs that were looked at after this one, and whether they can be seen
  let at = 0, isConnected = null;
  const isSeen = () => document.visibilityState === "visible";
  const say = (when) => channel.postMessage({ id, at: when, isSeen: isSeen() });
  const settle = () => {
    const is = isSeen() ? [...later.values()].filter(Boolean).length < mostSeen : !later.size;
    if (is !== isConnected) connect((isConnected = is));
  };
  const look = () => {
    at = world.Date.now() + id; // no two tabs have the same
    later.clear();
    say(at);
    settle();
  };
  channel.onmessage = ({ data }) => {
    if (data.news) return void (isConnected || hear(data.news));
    if (data.at > at) later.set(data.id, data.isSeen);
    else {
      later.delete(data.id);
      if (data.at && !later.size) say(at); // it may not know
    }
    // A tab that has left may be one that is loaded again.
    if (data.at) settle();
    else world.setTimeout(settle, 1000);
  };
  document.addEventListener("visibilitychange", () => (isSeen() ? look() : (say(at), settle())));
  world.addEventListener("focus", look);
  world.addEventListener("pagehide", () => say(0));
  look();
  return (news) => later.size || channel.postMessage({ news });
}
