package converse

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
)

// Step says in a few words what an event tells about how far a run has come, empty for
// events that tell a person nothing.
func Step(e *troupe.Event) string {
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if e.Parent != "" {
			return e.Agent + " begins"
		}
		return e.Agent + " has the message"
	case *troupe.ToolCalled:
		return e.Agent + ": " + CallTitle(b.Tool, json.RawMessage(b.Arguments))
	case *troupe.HandedOff:
		return b.From + " hands over to " + b.To
	case *troupe.ArtifactSaved:
		return e.Agent + " saved " + b.Path
	case *troupe.ContextCompacted:
		return e.Agent + " sums up the conversation so far"
	case *troupe.Warned:
		return b.Message
	case *troupe.LimitReached:
		return b.Message
	case *troupe.ModelFailed:
		what := problem.OfFailed(b)
		switch {
		case what.Code == "cancelled": // by whoever knows it
			return ""
		case b.RetryIn > 0:
			return fmt.Sprintf("%s Trying again in %v.", what.Sentence, b.RetryIn.Duration())
		}
		return what.Sentence
	case *troupe.Noted:
		var told struct{ Text string }
		if b.Name == "progress" && json.Unmarshal(b.Data, &told) == nil {
			return told.Text
		}
	}
	return ""
}

// telling are the arguments that say what a call is about, the most telling first.
var telling = []string{"file_path", "path", "workflow_path", "command", "query", "pattern", "url", "agent_id", "name", "expression"}

// maxTitle is how much of an argument a title shows, in runes.
const maxTitle = 80

// CallTitle names a tool call for a person: the tool and what it is about.
func CallTitle(tool string, arguments json.RawMessage) string {
	var given map[string]any
	if json.Unmarshal(arguments, &given) != nil {
		return tool
	}
	i := slices.IndexFunc(telling, func(name string) bool { s, ok := given[name].(string); return ok && s != "" })
	if i < 0 {
		return tool
	}
	about := strings.Join(strings.Fields(given[telling[i]].(string)), " ")
	if runes := []rune(about); len(runes) > maxTitle {
		about = string(runes[:maxTitle]) + "…"
	}
	return tool + " " + about
}
