package models

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// A Local remembers which model the Ollama on this machine has for whoever has chosen
// none.
type Local struct {
	mu    sync.Mutex
	ref   string // once it was found
	asked time.Time
}

const (
	// runsHere is who chose a model that was found.
	runsHere = "the Ollama that runs here"
	// lookAgain is how long it counts that there is none.
	lookAgain = 5 * time.Second
	// maxLooked is how many models are asked what they can do.
	maxLooked = 8
)

// running returns a model of an Ollama that answers although nobody has chosen one, as
// provider/name, and nothing where there is none or it is not to be looked for.
func (c *Chooser) running() string {
	l := c.Local
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ref != "" || !l.asked.IsZero() && time.Since(l.asked) < lookAgain {
		return l.ref
	}
	l.asked = time.Now()
	e, err := c.Endpoint(Choice{Ref: "ollama", From: runsHere})
	if err != nil || !e.IsLocal() {
		return ""
	}
	names, err := Installed(context.Background(), &e)
	if err != nil || len(names) == 0 {
		return ""
	}
	l.ref = "ollama/" + Best(context.Background(), &e, names)
	return l.ref
}

// Best is the model of an Ollama to take where nobody says: one that is loaded goes
// before others, those before that were installed earlier, and one that can call tools
// before all that cannot.
func Best(ctx context.Context, e *Endpoint, names []string) string {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return best(ctx, e, names, e.capabilities(ctx))
}

// best is Best where it may be known what the models can do.
func best(ctx context.Context, e *Endpoint, names []string, capabilities func(name string) (can []string, ok bool)) string {
	names = slices.Clone(names)
	var loaded struct{ Models []struct{ Name string } }
	if e.fetch(ctx, "/api/ps", nil, &loaded) == nil {
		isLoaded := func(name string) bool {
			return slices.ContainsFunc(loaded.Models, func(m struct{ Name string }) bool { return isSameModel(m.Name, name) })
		}
		slices.SortStableFunc(names, func(a, b string) int {
			switch {
			case isLoaded(a) == isLoaded(b):
				return 0
			case isLoaded(a):
				return -1
			}
			return 1
		})
	}
	speaks := ""
	for _, name := range names[:min(len(names), maxLooked)] {
		can, ok := capabilities(name)
		if !ok {
			continue
		}
		if len(can) == 0 || slices.Contains(can, "tools") {
			return name
		}
		if speaks == "" && slices.Contains(can, "completion") {
			speaks = name
		}
	}
	if speaks == "" {
		return names[0]
	}
	return speaks
}

// capabilities returns what an Ollama says that its models can do, which it is asked once
// for each. It is false where the server does not say.
func (e *Endpoint) capabilities(ctx context.Context) func(name string) (can []string, ok bool) {
	type answer struct {
		can []string
		ok  bool
	}
	known := map[string]answer{}
	return func(name string) ([]string, bool) {
		said, isKnown := known[name]
		if !isKnown {
			var show struct{ Capabilities []string }
			body, _ := json.Marshal(map[string]string{"model": name}) // of a string it cannot fail
			said.ok = e.fetch(ctx, "/api/show", body, &show) == nil
			said.can = show.Capabilities
			known[name] = said
		}
		return said.can, said.ok
	}
}

// speaking are those of an Ollama's models that can hold a conversation, as far as it says:
// one for embeddings cannot.
func speaking(names []string, capabilities func(name string) (can []string, ok bool)) []string {
	asked := 0
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		if asked++; asked > maxLooked {
			return false
		}
		can, ok := capabilities(name)
		return ok && len(can) > 0 && !slices.Contains(can, "completion")
	})
}
