// Events as a server sends them, numbered as they are made.

export class Events {
  #seq = 0;
  #run = 0;

  #make(kind, step, body, seq = ++this.#seq) {
    return { seq, time: new Date(1e12 + this.#seq * 1000).toISOString(), session: "s", run: "r" + this.#run, step: String(step), agent: "alex", kind, body };
  }
  start(agent, task) {
    this.#run++;
    return { ...this.#make("run_started", 0, { input: { task } }), agent };
  }
  said = (text) => this.#make("user_said", 1, { text });
  answered = (step, text) => this.#make("user_said", step, { text, call_id: "c" });
  delta = (step, text, attempt = 1) => this.#make("text_delta", step, { text, attempt }, 0);
  replied = (step, text, calls = []) => this.#make("model_replied", step, { message: { role: "assistant", text, calls }, finish: "stop", usage: { input_tokens: 10, output_tokens: 2 }, latency_ms: 500, first_token_ms: 1, attempt: 1 });
  called = (step, tool, args) => this.#make("tool_called", step, { call_id: "c", tool, arguments: args, attempt: 1 });
  returned = (step, tool, content) => this.#make("tool_returned", step, { call_id: "c", tool, content, size: content.length, duration_ms: 1 });
  asked = (step, tool, args) => this.#make("input_requested", step, { question: `May I call ${tool} with ${JSON.stringify(args)}? (yes or no)`, call_id: "c", tool, arguments: args, ask: { id: this.#seq + 1, kind: "approval" } });
  resumed = () => this.#make("run_resumed", 0, {});
  warned = (code) => this.#make("warned", 0, { code, message: code });
  finished = (summary, stop = "answered") => this.#make("run_finished", 9, { output: { summary }, stop, spent: {} });
  abandoned = () => this.#make("run_cancelled", 0, { reason: "interrupted, and not resumed before the next message" });
  failed = (error, partial) => this.#make("run_failed", 9, { error, partial, state: {} });
}
