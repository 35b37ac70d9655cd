package openai

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// withoutCalls tells a conversation to a server that knows of no tools and wants user and
// assistant to take turns: what tools returned is told by the user, and what one of them
// says in several messages is one.
func withoutCalls(messages []*troupe.Message) []*troupe.Message {
	var list []*troupe.Message
	for _, m := range messages {
		told := &troupe.Message{Role: m.Role, Text: m.Text, Refusal: m.Refusal, Parts: m.Parts}
		switch {
		case m.Role == troupe.RoleTool:
			told.Role, told.Text = troupe.RoleUser, "The tool "+m.Tool+" returned:\n"+m.Text
		case m.Role == troupe.RoleAssistant && len(m.Calls) > 0 && m.Text == "" && m.Refusal == "":
			continue // it did nothing but call
		case m.Role == troupe.RoleSystem:
			list = append(list, m)
			continue
		}
		last := len(list) - 1
		if last < 0 || list[last].Role != told.Role {
			list = append(list, told)
			continue
		}
		list[last].Text = strings.Trim(list[last].Text+"\n\n"+told.Text, "\n")
		list[last].Parts = append(list[last].Parts[:len(list[last].Parts):len(list[last].Parts)], told.Parts...)
		list[last].Refusal = strings.Trim(list[last].Refusal+"\n"+told.Refusal, "\n")
	}
	return list
}
