package store

import (
	"encoding/json"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/script"
)

// maxText is how much of an event's text can be found, in bytes.
const maxText = 64 << 10

// Text returns what an event can be found by: what was said, asked of tools
// and answered by them, and what went wrong. Prompts, and what repeats another
// event, are left out.
func Text(body troupe.Body) string {
	var texts []string
	switch b := body.(type) {
	case *troupe.UserSaid:
		texts = []string{b.Text}
	case *troupe.ModelReplied:
		texts = []string{b.Message.Text, b.Message.Refusal, b.Message.Thought}
	case *troupe.ToolCalled:
		texts = []string{b.Tool, plain(string(b.Arguments))}
	case *troupe.ToolReturned:
		texts = []string{b.Tool, plain(b.Content), b.Error}
	case *troupe.InputRequested:
		texts = []string{b.Question}
	case *troupe.ArtifactSaved:
		texts = []string{b.Path, b.Description}
	case *troupe.ContextCompacted:
		texts = []string{b.Summary}
	case *troupe.ModelFailed:
		texts = []string{b.Error}
	case *troupe.Noted:
		texts = []string{b.Name, plain(string(b.Data))}
	case *troupe.LimitReached:
		texts = []string{b.Message}
	case *troupe.HandedOff:
		texts = []string{b.From, b.To}
	case *troupe.SessionRenamed:
		texts = []string{b.Title}
	case *troupe.Warned:
		texts = []string{b.Message}
	case *troupe.RunFailed:
		texts = []string{b.Error, b.Partial}
	case *troupe.RunCancelled:
		texts = []string{b.Reason, b.Partial}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	return script.Spread(strings.ToValidUTF8(text[:min(len(text), maxText)], " "))
}

// plain returns the words of a JSON text without its escapes, and any other text
// as it is.
func plain(text string) string {
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") || !json.Valid([]byte(trimmed)) {
		return text
	}
	var words []string
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return strings.Join(words, " ")
		}
		switch t := token.(type) {
		case string:
			words = append(words, t)
		case json.Number:
			words = append(words, t.String())
		}
	}
}
