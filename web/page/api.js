// The server's routes, as functions.

// A Problem is why a request was not done, in words that can be shown.
export class Problem extends Error {
  constructor(status, detail, retryAfter = 0) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

// problemOf reads a problem document, or makes do with the status.
export async function problemOf(response) {
  let detail = `The server answered with status ${response.status}.`;
  try {
    const body = await response.json();
    detail = body.detail || body.title || detail;
  } catch {
    // The answer is no JSON: the status says enough.
  }
  return new Problem(response.status, detail, Number(response.headers.get("Retry-After")) || 0);
}

async function request(method, path, body, headers = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new Problem(0, "The server cannot be reached. Is ‘troupe serve’ still running?");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

const get = async (path) => (await request("GET", path)).json();
const post = async (path, body, headers) => (await request("POST", path, body, headers)).json();
const at = (id) => "/api/sessions/" + encodeURIComponent(id);

// query writes parameters that have a value.
function query(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== false);
  return given.length ? path + "?" + new URLSearchParams(given) : path;
}

// once sends what must not be done twice: if the connection breaks, it is sent again
// under the same key, which the server knows.
async function once(path, body) {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  for (let tries = 1; ; tries++) {
    try {
      return await post(path, body, { "Idempotency-Key": key });
    } catch (problem) {
      if (problem.status !== 0 || tries === 3) throw problem;
      await new Promise((resolve) => setTimeout(resolve, 500 * tries));
    }
  }
}

export const api = {
  login: (token) => request("POST", "/api/login", { token }),
  agents: () => get("/api/agents"),
  flows: () => get("/api/flows"),
  sessions: (filter = {}) => get(query("/api/sessions", { limit: 500, ...filter })),
  session: (id) => get(at(id)),
  create: (agent) => post("/api/sessions", { agent }),
  rename: async (id, title) => (await request("PATCH", at(id), { title })).json(),
  remove: (id) => request("DELETE", at(id)),
  say: (id, text, attachments = []) => once(at(id) + "/messages", attachments.length ? { text, attachments } : { text }),
  cancel: (id) => request("POST", at(id) + "/cancel"),
  resume: (id) => post(at(id) + "/resume"),
  fork: (id, after) => post(at(id) + "/fork", { after }),
  runFlow: (name, text) => once(`/api/flows/${encodeURIComponent(name)}/runs`, { text }),
  deliver: (text) => once("/api/deliveries", { request: text }),
  files: (id) => get(at(id) + "/files"),
  file: async (id, path) => (await request("GET", fileAddress(id, path) + "?raw")).text(),
  logs: (filter) => get(query("/api/logs", filter)),
  eventsOf: (id) => at(id) + "/events",
};

// fileAddress is where a session's file can be downloaded.
export function fileAddress(id, path) {
  return at(id) + "/files/" + path.split("/").map(encodeURIComponent).join("/");
}
