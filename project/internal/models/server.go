package models

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/project/internal/config"
)

const (
	// askFor is how long a server is asked what it has.
	askFor = 2 * time.Second
	// maxList bounds what it says, in bytes.
	maxList = 16 << 20
)

// said is what a server says of one of its models.
type said struct {
	window  int // in use, or the most there is
	trained int // what the model could hold
	output  int
	price   troupe.Price
	isInUse bool // the window is what the server really uses
	can     []string
}

func (s said) facts() Facts { return Facts{Window: s.window, Output: s.output, Price: s.price} }

// toAskFor is the window that an Ollama is asked for where none is configured, 0 if it is
// not asked. What it uses already is asked for, too: a request that does not say so would
// have it load the model again with less.
func (s said) toAskFor(e *Endpoint) int {
	if e.API != provider.Ollama || !e.IsLocal() || s.trained == 0 {
		return 0
	}
	return min(s.trained, max(s.window, usualWindow))
}

// warning says what to do about a window that is too small for agents.
func (s said) warning(e *Endpoint) string {
	if s.window == 0 || s.window >= smallWindow || s.trained <= s.window {
		return ""
	}
	fix := "start the server with a larger context"
	if e.Provider == "ollama" {
		fix = "set OLLAMA_CONTEXT_LENGTH=" + strconv.Itoa(min(s.trained, 32768)) + " for 'ollama serve'"
	}
	if asked := s.toAskFor(e); asked > 0 {
		return fmt.Sprintf("%s uses a window of %d tokens by itself, though the model could hold %d; it is asked for %d, and loads the model again if it has to; ask for another one in %s: providers: {%s: {models: {%q: {window: %d}}}}",
			e.Provider, s.window, s.trained, asked, config.Name, e.Provider, e.Model, min(s.trained, 2*usualWindow))
	}
	return fmt.Sprintf("%s uses a window of %d tokens, though the model could hold %d: long prompts are cut off without a word; %s", e.Provider, s.window, s.trained, fix)
}

// asksServer reports whether the server is worth asking: it knows better than any
// catalogue, or the catalogue does not know.
func asksServer(e *Endpoint, info catalog.Info) bool {
	switch e.known.Name {
	case "ollama", "llamacpp", "vllm", "sglang", "lmstudio", "litellm":
		return true
	case "openrouter":
		return info.Context == 0 || !info.Price.Known()
	}
	return false
}

// ask asks a server about a model, once in a process. A server that does not answer
// has said nothing.
func (c *Chooser) ask(ctx context.Context, e *Endpoint) said {
	key := e.BaseURL + " " + e.Model
	if before, ok := c.asked.Load(key); ok {
		return before.(said)
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var answer said
	switch e.known.Name {
	case "ollama":
		answer = askOllama(ctx, e)
	case "llamacpp":
		answer = askLlama(ctx, e)
	default:
		answer = askList(ctx, e)
	}
	c.asked.Store(key, answer)
	return answer
}

var numCtx = regexp.MustCompile(`(?m)^num_ctx\s+(\d+)`)

// askOllama asks what the model was trained for, what its file sets, and what is in
// use if it is loaded. Without any of these Ollama decides by the memory it finds.
func askOllama(ctx context.Context, e *Endpoint) (s said) {
	var show struct {
		Parameters   string
		ModelInfo    map[string]any `json:"model_info"`
		Capabilities []string
	}
	body, _ := json.Marshal(map[string]string{"model": e.Model})
	if e.fetch(ctx, "/api/show", body, &show) != nil {
		return s
	}
	for name, value := range show.ModelInfo {
		if n, ok := value.(float64); ok && strings.HasSuffix(name, ".context_length") {
			s.trained = int(n)
		}
	}
	s.can = ollamaAbilities(show.Capabilities)
	if m := numCtx.FindStringSubmatch(show.Parameters); m != nil {
		s.window, _ = strconv.Atoi(m[1])
	}
	var loaded struct {
		Models []struct {
			Name, Model   string
			ContextLength int `json:"context_length"`
		}
	}
	if e.fetch(ctx, "/api/ps", nil, &loaded) == nil {
		for _, m := range loaded.Models {
			if (isSameModel(m.Name, e.Model) || isSameModel(m.Model, e.Model)) && m.ContextLength > 0 {
				s.window, s.isInUse = m.ContextLength, true
			}
		}
	}
	return s
}

// ollamaAbilities has Ollama's words for what a model can do in ours. Older servers say
// nothing, which means nothing.
func ollamaAbilities(said []string) (can []string) {
	for _, a := range []struct{ said, name string }{{"vision", "images"}, {"thinking", "reasoning"}} {
		if slices.Contains(said, a.said) {
			can = append(can, a.name)
		}
	}
	if len(said) > 0 && !slices.Contains(said, "tools") {
		can = append(can, NoTools)
	}
	return can
}

// NoTools is what is said of a model that cannot call tools.
const NoTools = "no tools"

// isSameModel compares names of which the tag latest may be left out.
func isSameModel(a, b string) bool {
	return a != "" && strings.TrimSuffix(a, ":latest") == strings.TrimSuffix(b, ":latest")
}

func askLlama(ctx context.Context, e *Endpoint) (s said) {
	var props struct {
		Settings struct {
			NCtx int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if e.fetch(ctx, "/props", nil, &props) == nil {
		s.window, s.isInUse = props.Settings.NCtx, props.Settings.NCtx > 0
	}
	s.trained = askList(ctx, e).trained
	return s
}

// A listed is a model in a server's list, under the names that servers have for
// what they say of it.
type listed struct {
	ID, Key, Name    string
	MaxModelLen      int                           `json:"max_model_len"`      // vLLM, SGLang
	ContextLength    int                           `json:"context_length"`     // OpenRouter, Together
	ContextWindow    int                           `json:"context_window"`     // Groq
	MaxContextLength int                           `json:"max_context_length"` // LM Studio, Mistral
	Loaded           []struct{ Config loadedWith } `json:"loaded_instances"`
	Meta             struct {
		NCtxTrain int `json:"n_ctx_train"` // llama.cpp
	}
	TopProvider struct {
		ContextLength       int `json:"context_length"`
		MaxCompletionTokens int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Pricing struct{ Prompt, Completion, InputCacheRead, InputCacheWrite decimal } // dollars a token
}

type loadedWith struct {
	ContextLength int `json:"context_length"`
}

// A decimal is a number that may come as text. Anything else is -1.
type decimal float64

// UnmarshalJSON never fails.
func (d *decimal) UnmarshalJSON(data []byte) error {
	*d = -1
	if n, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64); err == nil && n >= 0 {
		*d = decimal(n)
	}
	return nil
}

func askList(ctx context.Context, e *Endpoint) (s said) {
	path := "/models"
	if e.known.Name == "lmstudio" {
		path = "/api/v1/models"
	}
	list, err := e.list(ctx, path)
	if err != nil {
		return s
	}
	i := slices.IndexFunc(list, func(m listed) bool { return isSameModel(m.ID, e.Model) || isSameModel(m.Key, e.Model) })
	if i < 0 {
		return s
	}
	m := list[i]
	s.window = cmp.Or(m.MaxModelLen, m.TopProvider.ContextLength, m.ContextLength, m.ContextWindow, m.MaxContextLength)
	s.trained = cmp.Or(m.MaxContextLength, m.Meta.NCtxTrain, s.window)
	s.output = m.TopProvider.MaxCompletionTokens
	for _, instance := range m.Loaded {
		if n := instance.Config.ContextLength; n > 0 {
			s.window, s.isInUse = n, true
		}
	}
	if p := m.Pricing; e.Provider == "openrouter" && p.Prompt >= 0 && p.Completion >= 0 {
		const million = 1e6
		s.price = troupe.Price{Input: float64(p.Prompt) * million, Output: float64(p.Completion) * million,
			CachedInput: float64(max(p.InputCacheRead, 0)) * million, CacheWrite: float64(max(p.InputCacheWrite, 0)) * million}
		s.price.Free = p.Prompt == 0 && p.Completion == 0
	}
	return s
}

// list returns a server's models, which may stand under data or models.
func (e *Endpoint) list(ctx context.Context, path string) ([]listed, error) {
	var answer struct{ Data, Models []listed }
	if err := e.fetch(ctx, path, nil, &answer); err != nil {
		return nil, err
	}
	return append(answer.Data, answer.Models...), nil
}

// Installed lists the models that a server has, those that were used last first
// where it says so.
func Installed(ctx context.Context, e *Endpoint) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	path := "/models"
	if e.known.Name == "ollama" {
		path = "/api/tags"
	}
	list, err := e.list(ctx, path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list {
		if name := cmp.Or(m.ID, m.Key, m.Name); name != "" {
			names = append(names, strings.TrimSuffix(name, ":latest"))
		}
	}
	return names, nil
}

// fetch asks the server for JSON, with the key. The path is relative to the server's
// root, but /models to the base URL. With a body it posts.
func (e *Endpoint) fetch(ctx context.Context, path string, body []byte, answer any) error {
	resp, err := e.Get(ctx, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d", resp.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxList)).Decode(answer)
}

// Get makes a request to the endpoint's server. It follows no redirect, which could
// carry the key to another host.
func (e *Endpoint) Get(ctx context.Context, path string, body []byte) (*http.Response, error) {
	at, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("its base URL is not a URL")
	}
	if path != "/models" {
		at.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(at.Path, "/"), "/v1"), "/api")
	}
	if path == "/models" && (e.API == provider.Messages || e.API == provider.Ollama) && !strings.HasSuffix(strings.TrimRight(at.Path, "/"), "/v1") {
		path = "/v1/models" // their base URLs are the server's root
	}
	at = at.JoinPath(path)
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if key := strings.TrimSpace(string(e.Key)); key != "" && e.KeyHeader == "" {
		req.Header.Set("Authorization", "Bearer "+key)
	} else if key != "" {
		req.Header.Set(e.KeyHeader, key)
	}
	// A list of models is part of a provider's own API, whichever one is spoken.
	if own := e.known.Endpoints; len(own) > 0 && own[0].KeyHeader != "" && own[0].API != e.API && e.Key != "" {
		req.Header.Set(own[0].KeyHeader, strings.TrimSpace(string(e.Key)))
		for name, value := range own[0].Headers {
			req.Header.Set(name, value)
		}
	}
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(req)
}
