import assert from "node:assert/strict";
import test from "node:test";

import { hearers, keep } from "../page/kept.js";

// A Store is what one window sees of a storage: what others have written is there once it is told.
class Store {
  #tell;
  constructor(values, tell = () => {}) {
    Object.assign(this, values);
    this.#tell = tell;
  }
  getItem(key) {
    return this[key] ?? null;
  }
  setItem(key, value) {
    this[key] = value;
    this.#tell(key, value);
  }
  removeItem(key) {
    delete this[key];
    this.#tell(key);
  }
}

const put = (values, key, value) => (value === undefined ? delete values[key] : (values[key] = value));
let documents = 0;
let at = null; // the window that is acted in

// Locks are those of a browser: each is one window's until that is gone, or several windows' who
// share it until they are done.
class Locks {
  #held = [];
  #pending = [];
  // of are the locks as a window sees them.
  of(page) {
    return {
      request: (name, ...[options, act]) => new Promise((done) => {
        const { mode = "exclusive", ifAvailable } = act ? options : {}, one = { name, mode, page, act: act ?? options, done };
        if (!this.#isFree(one) && ifAvailable) return done(one.act(null));
        this.#pending.push(one);
        this.#grant();
      }),
      query: async () => ({ pending: this.#pending }),
    };
  }
  #isFree = (one) => !this.#held.some((held) => held.name === one.name && (held.mode === "exclusive" || one.mode === "exclusive"));
  #grant() {
    const one = this.#pending.find(this.#isFree);
    if (!one) return;
    this.#pending.splice(this.#pending.indexOf(one), 1);
    this.#held.push(one);
    const end = (result) => ((this.#held = this.#held.filter((held) => held !== one)), one.done(result), this.#grant());
    const result = one.page.here(() => one.act(one));
    if (result?.then) result.then(end);
    else end(result);
    this.#grant();
  }
  // free gives those of a window to who waits for them.
  free(gone) {
    this.#held = this.#held.filter((held) => held.page !== gone);
    this.#pending = this.#pending.filter((one) => one.page !== gone);
    this.#grant();
  }
}

// A browser keeps what its windows store. None of them sees what the others have stored since it
// was opened or told last: that is how browsers with a process for each window do it.
function browser(hasLocks = true) {
  const stored = {}, news = [], locks = new Locks();
  // load loads the page in a window whose own storage is session.
  const load = async (session) => {
    const listeners = {}, local = new Store(stored, (key, value) => (put(stored, key, value), news.push([local, key, value])));
    const globals = { sessionStorage: session, localStorage: local, document: { readyState: "complete" }, navigator: {}, addEventListener: (kind, listener) => (listeners[kind] = listener) };
    const page = {
      told: () => news.forEach(([from, key, value]) => from !== local && (put(local, key, value), page.here(() => listeners.storage?.({ key, newValue: value ?? null })))),
      hearers: [], // all windows have one module of what is kept, here
      here: (act) => {
        if (at === page) return act();
        at = page;
        Object.entries(globals).forEach(([name, value]) => Object.defineProperty(globalThis, name, { value, configurable: true }));
        hearers.clear();
        page.hearers.forEach((hear) => hearers.add(hear));
        return act();
      },
      leave: () => (page.here(() => listeners.pagehide()), page.crash()),
      crash: () => locks.free(page),
      come: () => page.here(async () => {
        page.beside = (await import(`../page/windows.js?${++documents}`)).beside;
        page.hearers = [...hearers];
      }),
      reload: () => load(session),
      // type is what the box does with what is typed into it.
      type: (text) => page.here(() => ["own", "draft"].forEach((kind) => keep(kind + ".talk", text))),
      // box is what is in the box once it is shown.
      box: () => page.here(() => {
        page.text = () => draft.text;
        let draft = { text: JSON.parse(session.getItem("troupe.own.talk") ?? local.getItem("troupe.draft.talk") ?? '""') };
        page.beside("talk", () => draft, (next) => {
          const before = draft;
          draft = next(before);
          if (draft.text !== before.text) page.type(draft.text);
        });
        return draft.text;
      }),
    };
    if (hasLocks) globals.navigator.locks = locks.of(page);
    return page;
  };
  return {
    open: async () => {
      const page = await load(new Store());
      await page.come();
      return page;
    },
    tell: (...to) => (to.forEach((page) => page.told()), (news.length = 0)),
  };
}

test("windows that are closed at one moment leave their words each", async () => {
  const { open, tell } = browser(), one = await open(), other = await open();
  one.type("one");
  other.type("other");
  tell(one, other);
  const third = await open();
  third.type("third");
  tell(one, other, third);
  one.leave();
  other.leave(); // before it is told what the first has left
  third.leave();
  assert.deepEqual((await open()).box().split("\n\n").sort(), ["one", "other", "third"]);
});

test("words that a window has taken back are not left again by another", async () => {
  const { open, tell } = browser(), one = await open(), other = await open();
  one.type("one");
  other.type("other");
  tell(one, other);
  one.leave();
  const oneAgain = await one.reload();
  tell(other);
  other.leave();
  const otherAgain = await other.reload();
  tell(oneAgain);
  await oneAgain.come();
  await otherAgain.come(); // before it is told what the first has taken back
  tell(oneAgain, otherAgain);
  otherAgain.leave();
  assert.equal((await open()).box(), "other");
});

test("words that were left as a window was opened are found once it is told", async () => {
  const { open, tell } = browser(), one = await open(), other = await open();
  one.type("one");
  other.type("other");
  tell(one, other);
  const third = await open();
  assert.equal(third.box(), "other"); // what was typed last
  one.leave();
  tell(other, third);
  assert.equal(third.text(), "one");
});

test("what is typed on a card, which all windows keep, is not left", async () => {
  const { open } = browser(), one = await open();
  one.type("one");
  one.here(() => sessionStorage.setItem("troupe.own.answer.talk.3", JSON.stringify("No")));
  one.leave();
  assert.deepEqual((await open()).here(() => Object.keys(localStorage).filter((key) => key.startsWith("troupe.left.")).map((key) => key.split("/")[1])), ["talk"]);
});

test("the words of a window that could not leave them are found", async () => {
  const { open, tell } = browser(), one = await open(), other = await open();
  one.type("one");
  other.type("other");
  tell(one, other);
  one.crash();
  const third = await open();
  assert.equal(third.box(), "one");
  tell(other);
  third.leave();
  assert.equal((await open()).box(), "one"); // and only once
});

// passes lets a time pass for a window, with all that comes of it.
const passes = async (t, page, time) => {
  await settled();
  page.here(() => t.mock.timers.tick(time));
  await settled();
};
const settled = () => new Promise(setImmediate);

test("a window that is not gone before another is opened is waited for", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { open, tell } = browser(), one = await open(), other = await open();
  one.type("one");
  other.type("other");
  tell(one, other);
  const third = await open(), fourth = await open();
  assert.deepEqual([third.box(), fourth.box()], ["other", "other"]); // what was typed last
  await settled();
  one.crash();
  await passes(t, third, 500);
  assert.equal(third.text(), "other"); // it may be loaded again
  await passes(t, third, 500);
  assert.equal(third.text(), "one");
  assert.equal(fourth.text(), "other"); // one of them
});

test("a window that is only loaded again keeps its words for itself", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { open, tell } = browser(), one = await open(), other = await open();
  one.type("one");
  other.type("other");
  tell(one, other);
  const third = await open();
  assert.equal(third.box(), "other");
  await settled();
  one.crash();
  const again = await one.reload();
  await again.come();
  await passes(t, third, 1000);
  assert.equal(third.text(), "other");

  // One that is slow to come back takes back what was left for it.
  again.crash();
  const fourth = await open();
  fourth.type("fourth"); // so that it does not take it
  fourth.box();
  await settled();
  const last = await again.reload();
  await last.come();
  tell(last);
  last.here(() => assert.deepEqual(Object.keys(localStorage).filter((key) => key.startsWith("troupe.left.")), []));
});

test("words that were sent are not left", async () => {
  const { open } = browser(), one = await open();
  one.type("one");
  one.type("");
  one.crash();
  assert.equal((await open()).box(), "");
});

test("without locks a window leaves its words itself", async () => {
  const { open } = browser(false), one = await open();
  one.type("one");
  assert.deepEqual(one.here(() => Object.keys(localStorage)), ["troupe.draft.talk"]);
  one.leave();
  assert.equal((await open()).box(), "one");
});
