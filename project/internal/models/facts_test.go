package models_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/troupetest"
)

// serving answers GET and POST by path.
func serving(t *testing.T, answers map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answers[r.URL.Path] == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func open(t *testing.T, ref, yaml, env string) (models.Opened, error) {
	t.Helper()
	return chooser(t, "", yaml, env).Open(models.Choice{Ref: ref, From: "--model"})
}

func TestOllamaIsUsedAsPeopleExpect(t *testing.T) {
	one := map[string]string{
		"/api/tags": `{"models":[{"name":"qwen3:8b"}]}`,
		"/api/show": `{"parameters":"stop \"x\"\nnum_ctx 4096","model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`,
		"/api/ps":   `{"models":[]}`,
	}
	host := strings.TrimPrefix(serving(t, one), "http://")
	opened, err := open(t, "ollama", "", "OLLAMA_HOST="+host)
	if err != nil || opened.Ref != "ollama/qwen3:8b" || opened.Window != 16384 || !opened.Price.Free || !strings.Contains(opened.Warning, "40960; it is asked for 16384") || !strings.Contains(opened.Warning, "window: 32768") {
		t.Errorf("%+v, %v", opened, err)
	}
	if choice := chooser(t, "", "", "OLLAMA_HOST="+host).For("x"); choice.Ref != "ollama" || choice.From != "OLLAMA_HOST" {
		t.Errorf("%+v", choice)
	}
	one["/api/ps"] = `{"models":[{"name":"qwen3:8b","context_length":32768}]}`
	if opened, err = open(t, "ollama/qwen3:8b", "", "OLLAMA_HOST="+host); err != nil || opened.Window != 32768 || opened.Warning != "" || opened.WindowFrom != "asked for" {
		t.Errorf("%+v, %v", opened, err)
	}
	many := serving(t, map[string]string{"/api/tags": `{"models":[{"name":"qwen3:8b"},{"name":"llama3.2:latest"}]}`})
	if _, err = open(t, "ollama", "", "OLLAMA_HOST="+many); err == nil || !strings.Contains(err.Error(), "ollama has qwen3:8b, llama3.2; choose one, as in --model ollama/qwen3:8b") {
		t.Errorf("error %v", err)
	}
	if _, err = open(t, "ollama", "", "OLLAMA_HOST="+serving(t, map[string]string{"/api/tags": `{"models":[]}`})); err == nil || !strings.Contains(err.Error(), "ollama pull") {
		t.Errorf("error %v", err)
	}
	if _, err = open(t, "ollama", "", "OLLAMA_HOST=127.0.0.1:1"); err == nil || !strings.HasSuffix(err.Error(), "nothing listens at 127.0.0.1:1; 'ollama serve' starts it; where it is, OLLAMA_HOST says") {
		t.Errorf("error %v", err)
	}
}

func TestOllamaSaysWhatItsModelsCan(t *testing.T) {
	for capabilities, want := range map[string]string{`["completion","vision","tools","thinking"]`: "[images reasoning]", `["completion"]`: "[no tools]", `[]`: "[]", `null`: "[]"} {
		host := serving(t, map[string]string{"/api/show": `{"capabilities":` + capabilities + `}`, "/api/ps": `{}`})
		opened, err := open(t, "ollama/m", "", "OLLAMA_HOST="+host)
		if err != nil || fmt.Sprint(opened.Can) != want {
			t.Errorf("%s: %v, %v", capabilities, opened.Can, err)
		}
		list := chooser(t, "ollama/m", "", "OLLAMA_HOST="+host).InUse(t.Context())
		if len(list) != 1 || fmt.Sprint(list[0].Can) != want {
			t.Errorf("%s: listed as %+v", capabilities, list)
		}
	}
}

func TestServersSayHowLargeTheirWindowsAre(t *testing.T) {
	for _, test := range []struct {
		provider string
		answers  map[string]string
		window   int
	}{
		{"vllm", map[string]string{"/v1/models": `{"data":[{"id":"other","max_model_len":1},{"id":"m","max_model_len":16384}]}`}, 16384},
		{"llamacpp", map[string]string{"/props": `{"default_generation_settings":{"n_ctx":12000}}`, "/v1/models": `{"data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`}, 12000},
		{"lmstudio", map[string]string{"/api/v1/models": `{"models":[{"key":"m","max_context_length":131072,"loaded_instances":[{"config":{"context_length":20000}}]}]}`}, 20000},
		{"vllm", map[string]string{}, 0},
	} {
		yaml := fmt.Sprintf("providers: {%s: {base_url: %s/v1}}", test.provider, serving(t, test.answers))
		opened, err := open(t, test.provider+"/m", yaml, "")
		if err != nil || opened.Window != test.window || !opened.Price.Free {
			t.Errorf("%+v: %+v, %v", test, opened, err)
		}
	}
	answers := map[string]string{"/api/v1/models": `{"data":[{"id":"a/b","context_length":1000,"top_provider":{"context_length":900,"max_completion_tokens":100},"pricing":{"prompt":"0.000002","completion":"0.000008"}}]}`}
	opened, err := open(t, "openrouter/a/b", "providers: {openrouter: {base_url: "+serving(t, answers)+"/api/v1}}", "")
	if err != nil || opened.Window != 900 || opened.Output != 100 || opened.Price.Input != 2 || opened.Price.Output != 8 || opened.PriceFrom != "the server" {
		t.Errorf("%+v, %v", opened, err)
	}
}

func TestTheCatalogueKnowsPricesAndWindows(t *testing.T) {
	opened, err := open(t, "openai/gpt-4.1-mini", "", "OPENAI_API_KEY=k")
	if err != nil || opened.Window != 1047576 || opened.Price.Input != 0.4 || !strings.Contains(opened.PriceFrom, "the catalogue of 20") {
		t.Errorf("%+v, %v", opened, err)
	}
	// The configuration goes first, and what it does not say comes from the catalogue.
	opened, err = open(t, "openai/gpt-4.1-mini", "providers: {openai: {models: {gpt-4.1-mini: {window: 5000}}}}", "OPENAI_API_KEY=k")
	if err != nil || opened.Window != 5000 || opened.WindowFrom != "troupe.yaml" || opened.Price.Input != 0.4 {
		t.Errorf("%+v, %v", opened, err)
	}
	// Another server may have the model; what it takes for it nobody knows.
	opened, err = open(t, "gate/gpt-4.1-mini", "providers: {gate: {base_url: https://gate.test/v1}}", "")
	if err != nil || opened.Window != 1047576 || opened.Price.Known() {
		t.Errorf("%+v, %v", opened, err)
	}
	// The user's own file goes before the built-in one.
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "troupe")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "models.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"version":1,"providers":{"openai":{"gpt-4.1-mini":{"context":7,"price":[1,2]}}}}`)
	if opened, err = open(t, "openai/gpt-4.1-mini", "", "OPENAI_API_KEY=k HOME="+home); err != nil || opened.Window != 7 || opened.Price.Output != 2 || !strings.HasSuffix(opened.PriceFrom, "models.json") {
		t.Errorf("%+v, %v", opened, err)
	}
	write(`{"version":3}`)
	if _, err = open(t, "openai/gpt-4.1-mini", "", "OPENAI_API_KEY=k HOME="+home); err == nil || !strings.Contains(err.Error(), "models.json") {
		t.Errorf("error %v", err)
	}
}

func TestAMoneyLimitWantsAKnownPrice(t *testing.T) {
	const limited = "limits: {cost: 1}\n"
	const gate = "providers: {gate: {base_url: https://gate.test/v1}}\n"
	for _, test := range []struct {
		ref, yaml, env string
		refused        bool
	}{
		{"gate/x", limited + gate, "", true},
		{"gate/gpt-4.1-mini", limited + gate, "", true}, // another server's price is not known
		{"gate/x", gate, "", false},
		{"gate/x", "limits: {cost: 1, cost_unknown: allow}\n" + gate, "", false},
		{"gate/x", limited + "providers: {gate: {base_url: https://gate.test/v1, models: {x: {price: {input: 1, output: 2}}}}}", "", false},
		{"gate/x", limited + "providers: {gate: {base_url: https://gate.test/v1, models: {x: {price: {free: true}}}}}", "", false},
		{"openai/gpt-4.1-mini", limited, "OPENAI_API_KEY=k", false},
		{"openai/gpt-99-unheard-of", limited, "OPENAI_API_KEY=k", true},
		{"perplexity/new-model", limited, "PERPLEXITY_API_KEY=k", false}, // it says what it takes
		{"local/x", limited + "providers: {local: {base_url: http://127.0.0.1:1/v1}}", "", false},
		{"rehearsal", limited, "", false},
	} {
		_, err := open(t, test.ref, test.yaml, test.env)
		if (err != nil) != test.refused {
			t.Errorf("%+v: %v", test, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "price: {input:") || !strings.Contains(err.Error(), "cost_unknown")) {
			t.Errorf("%v does not say what to write", err)
		}
	}
}

func TestSeveralModels(t *testing.T) {
	const yaml = "model: [openai/gpt-4.1-mini, anthropic/claude-sonnet-4-5]\n"
	c := chooser(t, "", yaml, "OPENAI_API_KEY=a ANTHROPIC_API_KEY=b")
	choice := c.For("x")
	if choice.Ref != "openai/gpt-4.1-mini" || choice.Then != "anthropic/claude-sonnet-4-5" {
		t.Errorf("%+v", choice)
	}
	opened, err := c.Open(choice)
	if err != nil || opened.Window != 200000 || fmt.Sprint(opened.Model) != "openai/gpt-4.1-mini, else anthropic/claude-sonnet-4-5" {
		t.Errorf("%+v, %v", opened, err)
	}
	if choice := chooser(t, "groq/a,ollama/b", yaml, "").For("x"); choice.Ref != "groq/a" || choice.Then != "ollama/b" {
		t.Errorf("%+v", choice)
	}
}

// Of several models, those that cannot be asked as things are do without, and it is said.
// What is spelt wrong is an error all the same.
func TestAModelThatIsMissingIsLeftOut(t *testing.T) {
	const down = "providers: {office: {base_url: http://127.0.0.1:1/v1}, ollama: {base_url: http://127.0.0.1:1}}\n"
	for _, test := range []struct{ refs, env, want, problem string }{
		{"office/ok, anthropic/claude-sonnet-5", "", "office/ok", ""},
		{"anthropic/claude-sonnet-5, office/ok, azure/x", "AZURE_OPENAI_API_KEY=k", "office/ok", ""},
		{"office/ok, ollama", "", "office/ok", ""},
		{"openai/gpt-4.1-mini, anthropic/claude-sonnet-5", "", "", "OPENAI_API_KEY is not set"},
		{"office/ok, antropic/claude-sonnet-5", "", "", `no provider is called "antropic"`},
	} {
		var log strings.Builder
		c := chooser(t, "", down+"model: ["+test.refs+"]", test.env)
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		opened, err := c.Open(c.For(""))
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: error %v", test.refs, err)
			}
			continue
		}
		if err != nil || opened.String() != test.want || opened.Window != 0 {
			t.Errorf("%s: %s with a window of %d, %v", test.refs, opened, opened.Window, err)
		}
		leftOut := 0
		for _, l := range c.InUse(t.Context()) {
			if strings.HasPrefix(l.Problem, "left out: ") {
				leftOut++
			}
		}
		if missing := strings.Count(test.refs, ","); leftOut != missing || strings.Count(log.String(), "left out") != missing {
			t.Errorf("%s: %d are left out, and the log has %s", test.refs, leftOut, log.String())
		}
	}
}

// Where there is no command line, nobody is told to use it.
func TestAdviceFitsItsPlace(t *testing.T) {
	c := chooser(t, "", "", "")
	for _, ref := range []string{"openai/gpt-4.1-mini", "openai/a, openai/b"} {
		_, err := c.Open(models.NewChoice(ref, "you"))
		if missing, ok := errors.AsType[*models.MissingKey](err); !ok || missing.Variable != "OPENAI_API_KEY" || strings.Contains(err.Error(), "--model") {
			t.Errorf("%s: error %v", ref, err)
		}
	}
	for _, name := range []string{"bogus", "5", "o", "gpt"} {
		if _, err := c.Open(models.NewChoice(name, "you")); err == nil || strings.Contains(err.Error(), "openai/"+name+"?") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, want := range map[string]string{"gpt-4.1-mini": "openai/gpt-4.1-mini?", "gpt-4.1-mimi": "openai/gpt-4.1-mini?", "claude-sonet-5": "anthropic/claude-sonnet-5?", "opnai": "openai?"} {
		if _, err := c.Open(models.NewChoice(name, "you")); err == nil || !strings.Contains(err.Error(), "did you mean "+want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestAnyUsualKeyIsEnough(t *testing.T) {
	for env, want := range map[string]string{
		"ANTHROPIC_API_KEY": "anthropic/", "GEMINI_API_KEY": "gemini/", "GOOGLE_API_KEY": "gemini/", "XAI_API_KEY": "xai/", "DEEPSEEK_API_KEY": "deepseek/",
		"TOGETHER_AI_API_KEY": "together/", "CEREBRAS_API_KEY": "cerebras/", "MOONSHOT_API_KEY": "moonshot/", "PERPLEXITY_API_KEY": "perplexity/", "AI_GATEWAY_API_KEY": "vercel/",
		"GITHUB_TOKEN": "rehearsal", "HF_TOKEN": "rehearsal", "CO_API_KEY": "cohere/",
	} {
		c := chooser(t, "", "", env+"=k")
		choice := c.For("")
		if !strings.HasPrefix(choice.Ref, want) {
			t.Errorf("%s: %+v", env, choice)
		}
		if opened, err := c.Open(choice); err != nil || opened.Model == nil {
			t.Errorf("%s: %v", env, err)
		}
	}
	if choice := chooser(t, "", "", "ANTHROPIC_API_KEY=k ANTHROPIC_MODEL=claude-x").For(""); choice.Ref != "anthropic/claude-x" {
		t.Errorf("%+v", choice)
	}
	if opened, err := open(t, "claude", "", "ANTHROPIC_AUTH_TOKEN=k"); err != nil || !strings.HasPrefix(opened.Ref, "anthropic/claude-") {
		t.Errorf("%+v, %v", opened, err)
	}
	if _, err := open(t, "claude-sonnet-4-5", "", ""); err == nil || !strings.Contains(err.Error(), "did you mean anthropic/claude-sonnet-4-5?") {
		t.Errorf("error %v", err)
	}
}

// From outside: patience is what troupe.yaml says, for each provider its own.
func TestPatienceIsConfigured(t *testing.T) {
	server := troupetest.NewServer(t, troupetest.ServeText("one two three").StallAfterChunks(2).Forever())
	for _, timeout := range []string{"idle_timeout: 30ms", "answer_timeout: 30ms", "idle_timeout: 20ms, begin_timeout: 30ms"} {
		opened, err := open(t, "local/m", fmt.Sprintf("providers: {local: {base_url: %q, %s}}", server.URL, timeout), "")
		if err != nil {
			t.Fatal(err)
		}
		var failure error
		for _, err := range opened.Model.Generate(t.Context(), &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hi"}}}) {
			failure = err
		}
		if e, ok := errors.AsType[*troupe.ModelError](failure); !ok || e.Reason != "timeout" || !e.Temporary {
			t.Errorf("%s: %v", timeout, failure)
		}
	}
}

// Whatever protocol a server speaks, it is waited for as long as troupe.yaml says.
func TestPatienceIsConfiguredInEveryProtocol(t *testing.T) {
	for _, api := range []string{"chat", "messages", "gemini", "responses", "ollama"} {
		server := wiretest.Serve(t, http.StatusOK, "text/event-stream", wiretest.Stall)
		opened, err := open(t, "local/m", fmt.Sprintf("providers: {local: {base_url: %q, api: %s, begin_timeout: 30ms}}", server.URL, api), "")
		if err != nil {
			t.Fatal(err)
		}
		h := wiretest.Listen(t.Context(), opened.Model, wiretest.Hello())
		if e, ok := errors.AsType[*troupe.ModelError](h.Err); !ok || e.Reason != "timeout" || !e.Temporary {
			t.Errorf("%s: %v", api, h.Err)
		}
		if p := problem.Of(h.Err); p.Code != "timeout" || !strings.Contains(p.Next, "begin_timeout") {
			t.Errorf("%s: %+v", api, p)
		}
	}
}

// A window that is too small for the agent is an error that names both numbers and
// what to do, before anything is cut off without a word.
func TestAnOllamaWithTooSmallAWindowIsRefused(t *testing.T) {
	loaded := `{"models":[]}`
	chats := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/show":
			fmt.Fprint(w, `{"model_info":{"x.context_length":40960}}`)
		case "/api/ps":
			fmt.Fprint(w, loaded)
		default:
			chats++
			loaded = `{"models":[{"name":"m:latest","context_length":4096}]}`
			fmt.Fprint(w, `{"message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`)
		}
	}))
	defer server.Close()
	opened, err := open(t, "ollama/m", "providers: {ollama: {api: chat}}", "OLLAMA_HOST="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	refusesAtSecond(t, opened, "OLLAMA_CONTEXT_LENGTH=16384")
	if chats != 1 {
		t.Errorf("%d requests", chats)
	}
}

// By its own protocol Ollama is asked for a window in which an agent can work, and never
// for less than it uses. Only what is too long for that is refused.
func TestOllamaIsAskedForRoomToWork(t *testing.T) {
	for name, c := range map[string]struct {
		trained, inUse, configured, want int
	}{
		"not loaded": {40960, 0, 0, 16384}, "loaded small": {40960, 4096, 0, 16384}, "loaded large": {131072, 65536, 0, 65536},
		"a small model": {8192, 0, 0, 8192}, "configured": {40960, 4096, 9000, 9000}, "an old server": {0, 4096, 0, 0},
	} {
		var asked []any
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/show":
				fmt.Fprintf(w, `{"model_info":{"x.context_length":%d}}`, c.trained)
			case "/api/ps":
				fmt.Fprintf(w, `{"models":[{"name":"m:latest","context_length":%d}]}`, c.inUse)
			default:
				var request struct{ Options map[string]any }
				json.NewDecoder(r.Body).Decode(&request)
				asked = append(asked, request.Options["num_ctx"])
				fmt.Fprint(w, `{"message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop"}`)
			}
		}))
		defer server.Close()
		opened, err := open(t, "ollama/m", fmt.Sprintf("providers: {ollama: {models: {m: {window: %d}}}}", c.configured), "OLLAMA_HOST="+server.URL)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(words int) (failure error) {
			req := &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: strings.Repeat("rule ", words)}, {Role: troupe.RoleUser, Text: "hi"}}}
			for _, err := range opened.Model.Generate(t.Context(), req) {
				failure = err
			}
			return failure
		}
		if c.want == 0 {
			if err := ask(10); err == nil || len(asked) > 0 {
				t.Errorf("%s: asked for %v: %v", name, asked, err)
			}
			continue
		}
		if err := ask(1000); err != nil || len(asked) != 1 || asked[0] != float64(c.want) || opened.Window != c.want {
			t.Errorf("%s: asked for %v, %+v: %v", name, asked, opened.Facts, err)
		}
		if c.configured > 0 {
			continue // whoever has chosen a window knows it
		}
		if e, ok := errors.AsType[*troupe.ModelError](ask(c.want)); !ok || e.Reason != "context" || !strings.Contains(e.Message, `providers.ollama.models."m".window to`) || len(asked) != 1 {
			t.Errorf("%s: what is too long: %v", name, e)
		}
	}
}

// A server that was started anew with a larger window is not refused for the one before.
func TestARefusalRestsOnAFreshLook(t *testing.T) {
	answers := map[string]string{
		"/api/show": `{"model_info":{"x.context_length":40960}}`, "/api/ps": `{"models":[{"name":"m","context_length":4096}]}`,
		"/v1/chat/completions": `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
	}
	opened, err := open(t, "ollama/m", "providers: {ollama: {api: chat}}", "OLLAMA_HOST="+serving(t, answers))
	if err != nil {
		t.Fatal(err)
	}
	req := &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: strings.Repeat("rule ", 1000)}, {Role: troupe.RoleUser, Text: "hi"}}}
	ask := func() (failure error) {
		for _, err := range opened.Model.Generate(t.Context(), req) {
			failure = err
		}
		return failure
	}
	if err := ask(); err == nil {
		t.Error("a window of 4096 is enough")
	}
	answers["/api/ps"] = `{"models":[{"name":"m","context_length":32768}]}`
	if err := ask(); err != nil {
		t.Error(err)
	}
}

func refusesAtSecond(t *testing.T, opened models.Opened, fix string) {
	t.Helper()
	ask := func() (text string, failure error) {
		req := &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: strings.Repeat("rule ", 1000)}, {Role: troupe.RoleUser, Text: "hi"}}}
		for chunk, err := range opened.Model.Generate(t.Context(), req) {
			text, failure = text+chunk.Text, err
		}
		return text, failure
	}
	if text, err := ask(); err != nil || text != "hi" { // nobody knows before the model is loaded
		t.Fatalf("%q, %v", text, err)
	}
	_, err := ask()
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Temporary || e.Reason != "context" || !strings.Contains(e.Message, "4096 tokens") || !strings.Contains(e.Message, "about 5346") || !strings.Contains(e.Message, fix) {
		t.Errorf("error %v, want %s", err, fix)
	}
	if p := problem.Of(err); !strings.Contains(p.Sentence, "too small for this agent") || !strings.Contains(p.Next, fix) {
		t.Errorf("people are told %+v", p)
	}
}

// Anthropic lists its models for its own header only, whatever the chat endpoint takes.
func TestListsAreAskedForWithTheProvidersOwnHeader(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		fmt.Fprint(w, `{"data":[{"id":"claude-x"}]}`)
	}))
	defer server.Close()
	e, err := chooser(t, "", "", "ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL="+server.URL).Endpoint(models.Choice{Ref: "anthropic/claude-x", From: "--model"})
	if err != nil {
		t.Fatal(err)
	}
	names, err := models.Installed(t.Context(), &e)
	if err != nil || len(names) != 1 || got.Get("X-Api-Key") != "k" || got.Get("Anthropic-Version") == "" {
		t.Errorf("%v, %v, %v", names, err, got)
	}
}
