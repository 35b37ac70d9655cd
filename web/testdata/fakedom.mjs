// As much of a document as the view library needs. It has no way to read markup:
// whatever tries fails.

class Node {
  childNodes = [];
  parentNode = null;
  get firstChild() { return this.childNodes[0] ?? null; }
  get nextSibling() {
    const all = this.parentNode?.childNodes ?? [];
    return all[all.indexOf(this) + 1] ?? null;
  }
  insertBefore(node, before) {
    node.parentNode?.removeChild(node);
    const at = before ? this.childNodes.indexOf(before) : this.childNodes.length;
    this.childNodes.splice(at, 0, node);
    node.parentNode = this;
    return node;
  }
  appendChild(node) { return this.insertBefore(node, null); }
  removeChild(node) {
    this.childNodes.splice(this.childNodes.indexOf(node), 1);
    node.parentNode = null;
    return node;
  }
  remove() { this.parentNode?.removeChild(this); }
  contains(node) { return this === node || this.childNodes.some((child) => child.contains(node)); }
}

export class Text extends Node {
  nodeType = 3;
  constructor(data) {
    super();
    this.data = data;
  }
}

export class Element extends Node {
  nodeType = 1;
  namespaceURI = "http://www.w3.org/1999/xhtml";
  attributes = new Map();
  style = { setProperty() {} };
  constructor(name) {
    super();
    this.localName = name;
  }
  setAttribute(name, value) { this.attributes.set(name, String(value)); }
  removeAttribute(name) { this.attributes.delete(name); }
  addEventListener() {}
  removeEventListener() {}
  focus() {}
  showModal() {}
  scrollIntoView() {}
  querySelector() { return null; }
  querySelectorAll() { return []; }
  closest() { return null; }
  get firstElementChild() { return this.childNodes.find((child) => child instanceof Element) ?? null; }
  before() {}
  append() {}
  set innerHTML(_) { throw new Error("markup is not read"); }
  set outerHTML(_) { throw new Error("markup is not read"); }
  insertAdjacentHTML() { throw new Error("markup is not read"); }
}

// install makes it the document of the program.
export function install() {
  globalThis.document = {
    createElement: (name) => new Element(name),
    createElementNS: (_, name) => new Element(name),
    createTextNode: (data) => new Text(data),
    documentElement: { dataset: {} },
    querySelector: () => ({ before(link) { setTimeout(() => link.onload?.()); } }),
    addEventListener() {},
    removeEventListener() {},
    head: { append(...all) { for (const node of all) setTimeout(() => node.onerror?.(new Error("nothing is fetched"))); } },
    visibilityState: "visible",
  };
  globalThis.location = { hash: "#/", pathname: "/", origin: "http://localhost" };
  globalThis.matchMedia = () => ({ matches: false, addEventListener() {}, removeEventListener() {} });
  globalThis.addEventListener = () => {};
  globalThis.removeEventListener = () => {};
  globalThis.innerHeight = 800;
  globalThis.navigator ??= { platform: "" };
  globalThis.MutationObserver = class {
    observe() {}
    disconnect() {}
  };
  globalThis.IntersectionObserver = globalThis.ResizeObserver = class {
    observe() {}
    disconnect() {}
  };
  const every = globalThis.setInterval; // what counts seconds does not keep a test from its end
  globalThis.setInterval = (...of) => ((timer) => (timer.unref?.(), timer))(every(...of));
  globalThis.requestAnimationFrame = (f) => setTimeout(f, 0);
  globalThis.cancelAnimationFrame = clearTimeout;
}
