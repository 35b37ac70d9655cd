import assert from "node:assert/strict";
import test from "node:test";
import { share } from "../page/tabs.js";

// A browser is one in which tabs can be opened, looked at and closed. What they say to each other
// is heard when they have said all that they have to say.
function browser() {
  const tabs = [], post = [];
  let now = 1e12;
  const deliver = () => {
    while (post.length) post.shift()();
  };
  const open = (name, isSeen = true) => {
    const listeners = {}, heard = [], timers = [];
    const on = (kind, listener) => (listeners[kind] = listener);
    const document = { visibilityState: isSeen ? "visible" : "hidden", addEventListener: on };
    class BroadcastChannel {
      constructor() {
        this.isOpen = true;
        tab.channel = this;
      }
      postMessage(data) {
        for (const other of tabs) if (other !== tab && other.isOpen) post.push(() => other.channel.onmessage({ data: structuredClone(data) }));
      }
    }
    const tab = { name, isOpen: true, heard, isConnected: null, turns: 0 };
    tabs.push(tab);
    tab.see = (is) => {
      now++;
      document.visibilityState = is ? "visible" : "hidden";
      listeners.visibilitychange();
      deliver();
    };
    tab.focus = () => (now++, listeners.focus(), deliver());
    tab.close = () => {
      if (document.visibilityState === "visible") tab.see(false);
      listeners.pagehide();
      tab.isOpen = false;
      deliver();
    };
    tab.later = () => (timers.splice(0).forEach((run) => run()), deliver());
    tab.tell = share((is) => ((tab.isConnected = is), tab.turns++), (news) => heard.push(news), { document, BroadcastChannel, Date: { now: () => now }, addEventListener: on, location: { pathname: "/" }, setTimeout: (run) => timers.push(run) });
    return tab;
  };
  return {
    tabs,
    connected: () => tabs.filter((tab) => tab.isOpen && tab.isConnected).map((tab) => tab.name).join(" "),
    open: (name, isSeen) => {
      now++;
      const tab = open(name, isSeen);
      deliver();
      return tab;
    },
    // At the same moment, and none of them hears of the others before all are there.
    openBehind: (...names) => {
      for (const name of names) open(name, false);
      deliver();
    },
  };
}

test("of many tabs the one that is looked at is connected", () => {
  const b = browser();
  let last = null;
  for (let n = 0; n < 12; n++) {
    last?.see(false);
    last = b.open(String(n));
  }
  assert.equal(b.connected(), "11");
  last.see(false);
  assert.equal(b.connected(), "11", "hidden, it goes on to hear for all");
  assert.equal(last.turns, 1, "and has not let go in between");
  b.tabs[0].see(true);
  assert.equal(b.connected(), "0");
});

test("a tab that is opened behind the others hears for all when nobody looks", () => {
  const b = browser(), front = b.open("front");
  b.open("behind", false);
  b.open("later", false);
  assert.equal(b.connected(), "front later");
  front.see(false);
  assert.equal(b.connected(), "later");
});

test("of tabs that are opened together behind others one is connected", () => {
  const b = browser();
  b.openBehind(..."abcdefgh");
  assert.equal(b.connected().length, 1);
});

test("when the tab that hears for all is closed, another does", () => {
  const b = browser(), all = [];
  for (const name of ["a", "b", "c"]) {
    all.at(-1)?.see(false);
    all.push(b.open(name));
  }
  all[2].see(false);
  all[2].close();
  assert.equal(b.connected(), "", "it may be one that is loaded again");
  for (const tab of all) tab.later();
  assert.equal(b.connected(), "b");
});

test("windows that can be seen are connected, as many as leave room for requests", () => {
  const b = browser();
  for (const name of "abcd") b.open(name);
  assert.equal(b.connected(), "a b c d");
  const e = b.open("e");
  assert.equal(b.connected(), "b c d e");
  b.tabs[0].focus();
  assert.equal(b.connected(), "a c d e");
  e.see(false);
  assert.equal(b.connected(), "a b c d");
});

test("who is not connected hears from the tab that was looked at last, and from nobody else", () => {
  const b = browser(), hidden = b.open("hidden"), a = b.open("a"), last = b.open("b");
  hidden.see(false);
  assert.equal(b.connected(), "a b");
  a.tell({ gone: "1" });
  last.tell({ gone: "2" });
  a.focus(); // when what was told has come to the others, too
  assert.deepEqual([hidden.heard, a.heard, last.heard], [[{ gone: "2" }], [], []]);
});
