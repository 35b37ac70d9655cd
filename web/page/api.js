// The server's routes, as functions. Addresses are relative: the page works wherever
// it is mounted.

// A Problem is why a request was not done. The code is what the page has words for.
export class Problem extends Error {
  constructor(status, detail, code = "", retryAfter = 0) {
    super(sentence(detail));
    this.status = status;
    this.code = code || (status === 0 ? "offline" : status === 401 ? "signed_out" : status === 503 ? "busy" : "");
    this.retryAfter = retryAfter;
  }
}

// sentence is what the server says, as a sentence and in the page's words: it writes as
// programs do.
export const sentence = (text) => text.replace(/\bsession\b/g, "conversation").replace(/^[a-z]+(?=[ ,:])/, (word) => word[0].toUpperCase() + word.slice(1)) + (/[.?!…”)]$/.test(text) ? "" : ".");

// problemOf reads a problem document, or makes do with the status.
export async function problemOf(response) {
  let detail = `The server answered with status ${response.status}.`;
  let code = "";
  try {
    const body = await response.json();
    detail = body.detail || body.title || detail;
    code = body.code ?? "";
  } catch {
    // The answer is no JSON: the status says enough.
  }
  return new Problem(response.status, detail, code, Number(response.headers.get("Retry-After")) || 0);
}

// noticed is told of every problem that concerns the whole page.
export const noticed = { problem: () => {}, answered: () => {}, full: () => {} };

export async function request(method, path, body, headers = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      keepalive: method === "DELETE", // which may be sent when the tab is left
    });
  } catch {
    const problem = new Problem(0, "Troupe cannot be reached.");
    noticed.problem(problem);
    throw problem;
  }
  noticed.answered();
  if (response.ok) return response;
  const problem = await problemOf(response);
  noticed.problem(problem);
  throw problem;
}

export const get = async (path) => (await request("GET", path)).json();
export const post = async (path, body, headers) => (await request("POST", path, body, headers)).json();
const at = (id) => "api/sessions/" + encodeURIComponent(id);

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
      const full = problem.status === 503 && problem.code === "busy"; // it has too much to do, and says when to come back
      if ((problem.status !== 0 && !full) || tries === (full ? 20 : 3)) throw problem;
      if (full && tries === 1) noticed.full();
      await new Promise((resolve) => setTimeout(resolve, full ? Math.max(1, problem.retryAfter) * 1000 : 500 * tries));
    }
  }
}

export { at, once, query };
export const api = {
  me: () => get("api/me"),
  agents: () => get("api/agents"),
  flows: () => get("api/flows"),
  models: () => get("api/models"),
  sessions: () => get("api/sessions?limit=200&open=1"),
  session: (id) => get(at(id)),
  create: (agent, more = {}) => post("api/sessions", { agent, ...more }),
  change: async (id, values) => (await request("PATCH", at(id), values)).json(),
  seen: (id) => request("POST", at(id) + "/seen"),
  say: (id, text, attachments = [], when = "") => once(at(id) + "/messages", { text, ...(attachments.length && { attachments }), ...(when && { when }) }),
  answer: (id, values) => once(at(id) + "/answers", values),
  queue: (id) => get(at(id) + "/queue"),
  cancel: (id) => request("POST", at(id) + "/cancel"),
  resume: (id) => post(at(id) + "/resume"),
  page: async (id, before, limit = 5000) => (await request("GET", `${at(id)}/events?limit=${limit}&before=${before}`)).text(),
  eventsOf: (id) => at(id) + "/events?all=1",
  events: "api/events",
  zipOf: (id) => at(id) + "/files.zip",
};
