import assert from "node:assert/strict";
import test from "node:test";

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

// A browser keeps what its windows store. None of them sees what the others have stored since it
// was opened or told last: that is how browsers with a process for each window do it.
function browser() {
  const stored = {}, news = [];
  // load loads the page in a window whose own storage is session.
  const load = async (session) => {
    const listeners = {}, local = new Store(stored, (key, value) => (put(stored, key, value), news.push([local, key, value])));
    const globals = { sessionStorage: session, localStorage: local, document: { readyState: "complete" }, addEventListener: (kind, listener) => (listeners[kind] = listener) };
    const page = {
      told: () => news.forEach(([from, key, value]) => from !== local && put(local, key, value)),
      here: (act) => (Object.entries(globals).forEach(([name, value]) => Object.defineProperty(globalThis, name, { value, configurable: true })), act()),
      leave: () => page.here(() => listeners.pagehide()),
      come: () => page.here(async () => (page.beside = (await import(`../page/windows.js?${++documents}`)).beside)),
      reload: () => load(session),
      // type is what the box does with what is typed into it.
      type: (text) => (session.setItem("troupe.own.talk", JSON.stringify(text)), local.setItem("troupe.draft.talk", JSON.stringify(text))),
      // box is what is in the box once it is shown.
      box: () => page.here(() => {
        let draft = { text: JSON.parse(session.getItem("troupe.own.talk") ?? local.getItem("troupe.draft.talk") ?? '""') };
        page.beside("talk", () => draft, (next) => {
          const before = draft;
          draft = next(before);
          if (draft.text !== before.text) page.type(draft.text);
        });
        return draft.text;
      }),
    };
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
