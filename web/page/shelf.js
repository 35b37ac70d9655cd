// The routes that the views behind the first one need: they join those of api.js.

import { api, at, get, once, post, query, request } from "./api.js";

Object.assign(api, {
  addExamples: () => request("POST", "api/agents/examples"),
  remove: (id, written) => request("DELETE", query(at(id), { stop: 1, written })), // what it does at the moment ends
  changeQueued: async (id, n, values) => (await request("PATCH", `${at(id)}/queue/${n}`, values)).json(),
  removeQueued: (id, n) => request("DELETE", `${at(id)}/queue/${n}`),
  fork: (id, after) => post(at(id) + "/fork", { after }),
  forkStep: (id, run, input) => once(at(id) + "/fork", { run, input }),
  search: (q) => get(query("api/search", { q })),
  call: (id, number, against) => get(query(`${at(id)}/calls/${number}`, { against })),
  callAs: async (id, number, as) => (await request("GET", query(`${at(id)}/calls/${number}`, { as }))).text(),
  partAddress: (id, number, part) => query(`${at(id)}/calls/${number}`, { part: String(part) }),
  runFlow: (name, text) => once(`api/flows/${encodeURIComponent(name)}/runs`, { text }),
  usualDelivery: () => get("api/deliveries/usual"),
  continueDelivery: (id, how) => once("api/deliveries/" + encodeURIComponent(id) + "/continue", how),
  deliver: (order) => once("api/deliveries", order),
  files: (id) => get(at(id) + "/files"),
  library: (filter = {}) => get(query("api/files", filter)),
  documents: (filter = {}) => get(query("api/documents", filter)),
  text: async (file) => (await request("GET", query(fileAddress(file), { raw: "1", version: file.version }))).text(),
  blob: async (file) => (await request("GET", previewAddress(file))).blob(),
  addDocument: (name, data) => post("api/documents", { name, data }),
  versions: (file) => get(file.session ? query(at(file.session) + "/versions", { path: file.path }) : query("api/documents/versions", { path: file.path })),
  edit: async (file, content, version) => (await request("PUT", file.session ? at(file.session) + "/files" : "api/documents", { path: file.path, content, version })).json(),
  restore: (file, version) => post(file.session ? at(file.session) + "/restore" : "api/documents/restore", { path: file.path, version }),
  zip: async (files) => (await request("POST", "api/files/zip", { files })).blob(),
  logs: (filter) => get(query("api/logs", filter)),
});

export { api };

const places = (path) => path.split("/").map(encodeURIComponent).join("/");

// fileOf is the file of a path in a session: one that begins with a slash is a document
// of the project.
export const fileOf = (session, path) => (path.startsWith("/") ? { path: path.slice(1) } : { session, path });

// fileAddress is where a file can be downloaded: { session, path }, without a session a
// document of the project.
export function fileAddress({ session, path }) {
  return session ? at(session) + "/files/" + places(path) : "api/documents/files/" + places(path);
}

export const previewAddress = (file) => query(fileAddress(file), { preview: "1", version: file.version });
