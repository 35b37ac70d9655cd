package troupetest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// checkPairing reports the first place where a conversation is one that strict
// providers refuse: every call of an assistant's message is answered once, in the
// order of the calls, before anyone else speaks.
func checkPairing(messages []*troupe.Message) error {
	if len(messages) == 0 {
		return errors.New("there is no message")
	}
	var open []troupe.ToolCall // calls that have no result yet
	for i, m := range messages {
		switch {
		case m == nil:
			return fmt.Errorf("message %d is nil", i)
		case m.Role != troupe.RoleTool && len(open) > 0:
			return fmt.Errorf("message %d is of the %s, but call %s of %s has no result yet", i, m.Role, open[0].ID, open[0].Name)
		case m.Role != troupe.RoleTool:
			open = m.Calls
			if err := checkCallIDs(open); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
		case len(open) == 0:
			return fmt.Errorf("message %d is a result for call %q, and no call waits for one", i, m.CallID)
		case m.CallID != open[0].ID:
			return fmt.Errorf("message %d is a result for call %q, and the next call to be answered is %q", i, m.CallID, open[0].ID)
		default:
			open = open[1:]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("call %s of %s has no result", open[0].ID, open[0].Name)
	}
	return nil
}

func checkCallIDs(calls []troupe.ToolCall) error {
	seen := map[string]bool{}
	for _, call := range calls {
		if call.ID == "" || seen[call.ID] {
			return fmt.Errorf("the call of %s has the id %q, which is empty or another call's", call.Name, call.ID)
		}
		seen[call.ID] = true
	}
	return nil
}

// How much of a conversation a failure shows.
const (
	maxOutlined = 20  // messages
	maxClipped  = 200 // bytes of each text
)

// outline shows a conversation in few lines: the latest messages, the beginning of each.
func outline(messages []*troupe.Message) string {
	var b strings.Builder
	if skipped := len(messages) - maxOutlined; skipped > 0 {
		fmt.Fprintf(&b, "  (%d earlier messages)\n", skipped)
		messages = messages[skipped:]
	}
	for _, m := range messages {
		if m == nil {
			b.WriteString("  nil\n")
			continue
		}
		fmt.Fprintf(&b, "  %s", m.Role)
		if m.Role == troupe.RoleTool {
			fmt.Fprintf(&b, " %s (%s)", m.Tool, m.CallID)
		}
		fmt.Fprintf(&b, ": %s", strings.ReplaceAll(clip(m.Text+m.Refusal), "\n", "⏎"))
		for _, call := range m.Calls {
			fmt.Fprintf(&b, " [calls %s %s (%s)]", call.Name, clip(call.Arguments), call.ID)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// clip returns the beginning of a text, cut between runes.
func clip(text string) string {
	if len(text) <= maxClipped {
		return text
	}
	end := maxClipped
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
