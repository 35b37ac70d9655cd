package openai

import (
	"encoding/json"
	"strings"
)

// split reads content that is a string, a part, or an array of parts with text,
// thoughts or a refusal in them, or of strings. Parts of other kinds are not for us.
func split(content any) (text, thought, refusal string) {
	switch content := content.(type) {
	case string:
		return content, "", ""
	case map[string]any:
		return splitPart(content)
	case []any:
		var texts, thoughts, refusals strings.Builder
		for _, part := range content {
			text, thought, refusal := split(part)
			texts.WriteString(text)
			thoughts.WriteString(thought)
			refusals.WriteString(refusal)
		}
		return texts.String(), thoughts.String(), refusals.String()
	}
	return "", "", ""
}

func splitPart(part map[string]any) (text, thought, refusal string) {
	switch part["type"] {
	case "text", "output_text", nil:
		text, _ = part["text"].(string)
	case "thinking", "reasoning":
		for _, key := range []string{"thinking", "reasoning", "text"} {
			if thought == "" {
				thought, _, _ = split(part[key])
			}
		}
	case "refusal":
		refusal, _ = part["refusal"].(string)
	}
	return text, thought, refusal
}

// detailText is the thought in reasoning_details or thinking_blocks, for servers that
// put it nowhere else.
func detailText(details []json.RawMessage) string {
	var thought strings.Builder
	for _, raw := range details {
		var detail struct{ Text, Summary, Thinking string }
		_ = json.Unmarshal(raw, &detail) // what is encrypted has none of these
		thought.WriteString(detail.Text + detail.Summary + detail.Thinking)
	}
	return thought.String()
}
