package troupe

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe/internal/compaction"
)

// When and how far a context is compacted.
const (
	// compactAt is the share of the window at which older turns make room.
	compactAt = 0.9
	// compactTo is the share that the latest turns may keep.
	compactTo = 0.3
	// smallestResult is as far as a kept tool result is ever cut, in bytes.
	smallestResult = 1 << 10
)

// makeRoom compacts the conversation if the next request would not fit well.
func (c *conversation) makeRoom(ctx context.Context) error {
	window := c.agent.window
	if window == 0 {
		return nil
	}
	use := c.history.use(c.agent.toolSet(), window)
	if float64(use.Total()) < compactAt*float64(window) {
		return nil
	}
	return c.compact(ctx, use, int(compactTo*float64(window)))
}

// compact drops all but the latest turns, which may take room tokens, and has the
// agent's own model sum up what goes. If that fails they go without.
func (c *conversation) compact(ctx context.Context, use ContextUse, room int) error {
	h := c.history
	h.settle()
	loose := make([]*Message, 0, len(h.messages))
	for _, m := range h.messages[1:] {
		if !m.Pinned {
			loose = append(loose, m)
		}
	}
	budget := int(float64(room) * h.perToken)
	cut := firstKept(loose, budget)
	event := &ContextCompacted{Dropped: cut, Kept: len(loose) - cut, TokensBefore: use.Total()}
	if cut > 0 {
		summary, err := c.sumUp(ctx, loose[:cut])
		if err != nil {
			return err
		}
		event.Summary = summary
	}
	event.ResultCap = resultCap(loose[cut:], budget)
	if event.Dropped == 0 && event.ResultCap == 0 {
		return nil // nothing can be given up
	}
	h.compact(event)
	event.TokensAfter = h.use(c.agent.toolSet(), use.Window).Total()
	return c.run.emit(ctx, event)
}

// firstKept returns where the latest messages begin that fit the budget. It never
// parts a call from its result, and always keeps the latest turn.
func firstKept(messages []*Message, budget int) int {
	first := len(messages)
	for i, size := len(messages)-1, 0; i >= 0; i-- {
		size += messages[i].size()
		if size > budget && first < len(messages) {
			break
		}
		if messages[i].Role != RoleTool {
			first = i
		}
	}
	return first
}

// resultCap returns how far tool results must be cut for messages to fit the
// budget, 0 if they fit.
func resultCap(messages []*Message, budget int) int {
	size, results := 0, 0
	for _, m := range messages {
		size += m.size()
		if m.Role == RoleTool {
			results++
		}
	}
	if size <= budget || results == 0 {
		return 0
	}
	return max(budget/results, smallestResult)
}

// sumUp returns a summary of messages, or "" with a warning if there is none.
func (c *conversation) sumUp(ctx context.Context, messages []*Message) (string, error) {
	replied, err := c.run.ask(ctx, c.agent, &Request{Messages: []*Message{
		{Role: RoleSystem, Text: compaction.Instructions},
		{Role: RoleUser, Text: transcript(messages)},
	}}, "summary", ContextUse{})
	if err == nil && replied.Message.Text != "" {
		return replied.Message.Text, nil
	}
	if ctx.Err() != nil || isTimeUp(err) || c.overspent(err) != "" {
		return "", err
	}
	reason := "the model gave no summary"
	if err != nil {
		reason = err.Error()
	}
	return "", c.run.emit(ctx, &Warned{
		Code:    "summary_failed",
		Message: clip(fmt.Sprintf("%d older messages are dropped without a summary: %s", len(messages), reason), maxErrorText),
	})
}
