package models

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/project/internal/config"
)

const (
	// RoomToAnswer is how many tokens a question and its answer need beside system prompt
	// and tools: with less, nothing can be said.
	RoomToAnswer = 1024
	// RoomToWork is how many tokens a conversation should have beside them.
	RoomToWork = 4096
	// bytesPerToken is a rough measure of text.
	bytesPerToken = 4
	// maxAsks is how often a server is asked how large a window it uses: it does not
	// know before the model is loaded, which the first request does.
	maxAsks = 3
)

// A roomGuard keeps requests from a server that would cut them off without a word:
// Ollama does that where its window is too small.
type roomGuard struct {
	troupe.Model
	endpoint Endpoint
	warn     func(message string, args ...any) // nil says nothing

	mu       sync.Mutex
	asked    int
	used     said
	isWarned bool
}

// Generate refuses a request of which the beginning alone fills the window.
func (g *roomGuard) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	if err := g.check(ctx, req); err != nil {
		return func(yield func(troupe.Chunk, error) bool) { yield(troupe.Chunk{}, err) }
	}
	return g.Model.Generate(ctx, req)
}

// used is the window that a server uses: the one that it is asked for, where it is.
func (c *Chooser) used(ctx context.Context, e *Endpoint) said {
	answer := c.ask(ctx, e)
	if e.decidesWindow() {
		answer.window, answer.isInUse = e.contextLength, true
	}
	return answer
}

// decidesWindow reports whether a request says which window is to be used.
func (e *Endpoint) decidesWindow() bool { return e.contextLength > 0 && e.API == provider.Ollama }

func (g *roomGuard) check(ctx context.Context, req *troupe.Request) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	isKnown := g.used.isInUse
	if !isKnown && g.asked < maxAsks {
		g.asked++
		g.ask(ctx)
	}
	fixed := fixedTokens(req)
	needed := fixed + RoomToAnswer
	if isKnown && g.used.window < needed && !g.endpoint.decidesWindow() {
		g.ask(ctx) // the server may have been started anew since
	}
	if !g.used.isInUse {
		return nil
	}
	if g.used.window >= needed {
		g.warnOf(fixed)
		return nil
	}
	return &troupe.ModelError{
		Reason: "context",
		Message: fmt.Sprintf("%s uses a window of %d tokens for %s, and this agent needs about %d: its prompt and tools, and %d to work with. %s",
			g.endpoint.Provider, g.used.window, g.endpoint.Model, needed, RoomToAnswer, g.advice(fixed)),
	}
}

// advice says how an agent gets the room that it needs: never by more than the model holds.
func (g *roomGuard) advice(fixed int) string {
	window := WindowFor(fixed)
	if held := g.used.trained; held > 0 {
		if held < fixed+RoomToAnswer || held <= g.used.window {
			return fmt.Sprintf("Choose a model with a larger window: this one holds %d tokens", held)
		}
		window = min(window, held)
	}
	if g.endpoint.API == provider.Ollama { // which can be asked for another one
		return fmt.Sprintf("Set providers.%s.models.%q.window to %d in %s", g.endpoint.Provider, g.endpoint.Model, window, config.Name)
	}
	return fmt.Sprintf("Set OLLAMA_CONTEXT_LENGTH=%d for 'ollama serve' and start it again", window)
}

// warnOf says once that an agent has little room.
func (g *roomGuard) warnOf(fixed int) {
	if g.used.window >= fixed+RoomToWork || g.isWarned || g.warn == nil {
		return
	}
	g.isWarned = true
	g.warn("an agent has little room in the model's window", "model", g.endpoint.Provider+"/"+g.endpoint.Model,
		"window", g.used.window, "prompt_and_tools", fixed, "what_to_do", g.advice(fixed))
}

// ask asks the server which window it uses.
func (g *roomGuard) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	g.used = askOllama(ctx, &g.endpoint)
}

// fixedTokens is about how much of a request is there in every turn.
func fixedTokens(req *troupe.Request) int {
	size := 0
	for _, m := range req.Messages {
		if m.Role != troupe.RoleSystem {
			break
		}
		size += len(m.Text)
	}
	for _, tool := range req.Tools.Specs() {
		size += len(tool.Name) + len(tool.Description) + len(tool.Input)
	}
	return size / bytesPerToken
}

// WindowFor is a window in which an agent can work whose prompt and tools take so many
// tokens.
func WindowFor(fixed int) int { return roundUp(fixed + RoomToWork) }

// roundUp is the next power of two, as context lengths usually are, and twice that
// for good measure.
func roundUp(tokens int) int {
	n := RoomToWork
	for n < tokens {
		n *= 2
	}
	return 2 * n
}
