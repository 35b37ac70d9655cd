// The server's routes for operators, as functions.

import { get, post, request } from "./api.js";

export const operate = {
  settings: () => get("api/settings"),
  changeSettings: async (values, was) => (await request("PATCH", "api/settings", { values, was })).json(),
  setKey: (provider, key) => request("PUT", `api/providers/${encodeURIComponent(provider)}/key`, { key }),
  setAddress: async (provider, address, key) => (await request("PUT", `api/providers/${encodeURIComponent(provider)}`, { base_url: address, ...(key && { key }) })).json(),
  removeProvider: (provider) => request("DELETE", `api/providers/${encodeURIComponent(provider)}`),
  testProvider: (provider) => post(`api/providers/${encodeURIComponent(provider)}/test`),
  toolServers: () => get("api/mcp"),
  addToolServer: (name, url) => request("POST", "api/mcp", { name, url }),
  instructions: (agent) => get(`api/agents/${encodeURIComponent(agent)}/instructions`),
  acceptTools: (name, tools) => request("POST", `api/mcp/${encodeURIComponent(name)}/accept`, { tools }),
  restartTools: (name) => request("POST", `api/mcp/${encodeURIComponent(name)}/restart`),
  skills: () => get("api/skills"),
  switchSkill: (name, on) => request("PATCH", "api/skills/" + encodeURIComponent(name), { on }),
  store: () => get("api/store"),
  check: () => post("api/check"),
  spending: () => get("api/spending"),
  switchTools: (name, on) => request("PATCH", `api/mcp/${encodeURIComponent(name)}`, { on }),
  removeTools: (name) => request("DELETE", `api/mcp/${encodeURIComponent(name)}`),
  addPerson: (name, takesOver = false) => post("api/people", { name, ...(takesOver && { take_over: true }) }),
  removePerson: (name) => request("DELETE", `api/people/${encodeURIComponent(name)}`),
  people: () => get("api/people"),
  ways: () => get("api/ways"),
  link: (name) => post(`api/people/${encodeURIComponent(name || "-")}/link`),
};
