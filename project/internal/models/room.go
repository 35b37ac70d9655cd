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
	// roomToWork is how many tokens a conversation needs beside system prompt and tools.
	roomToWork = 4096
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

	mu    sync.Mutex
	asked int
	used  said
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
	if e.contextLength > 0 {
		return said{window: e.contextLength, isInUse: true}
	}
	return c.ask(ctx, e)
}

func (g *roomGuard) check(ctx context.Context, req *troupe.Request) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	isKnown := g.used.isInUse
	if !isKnown && g.asked < maxAsks {
		g.asked++
		g.ask(ctx)
	}
	needed := fixedTokens(req) + roomToWork
	if isKnown && g.used.window < needed && g.endpoint.contextLength == 0 {
		g.ask(ctx) // the server may have been started anew since
	}
	if !g.used.isInUse || g.used.window >= needed {
		return nil
	}
	fix := fmt.Sprintf("Set OLLAMA_CONTEXT_LENGTH=%d for 'ollama serve' and start it again", roundUp(needed))
	if g.endpoint.API == provider.Ollama { // which can be asked for another one
		fix = fmt.Sprintf("Set providers.%s.models.%q.window to %d in %s", g.endpoint.Provider, g.endpoint.Model, roundUp(needed), config.Name)
	}
	return &troupe.ModelError{
		Reason: "context",
		Message: fmt.Sprintf("%s uses a window of %d tokens for %s, and this agent needs about %d: its prompt and tools, and %d to work with. %s",
			g.endpoint.Provider, g.used.window, g.endpoint.Model, needed, roomToWork, fix),
	}
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

// roundUp is the next power of two, as context lengths usually are, and twice that
// for good measure.
func roundUp(tokens int) int {
	n := roomToWork
	for n < tokens {
		n *= 2
	}
	return 2 * n
}
