// Package ask gives agents the tool ask_user, with which a question waits for a person: also
// that of a step in a flow, where what an answer asks at its end is handed on.
package ask

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

//go:embed ask_user.md
var description string

// mostChoices is how many are offered, as many as people are shown to choose from.
const mostChoices = 9

type request struct {
	Question string   `json:"question" jsonschema:"one question, in the user's language"`
	Choices  []string `json:"choices,omitempty" jsonschema:"up to 9 short answers to choose from, if there are some; the user can always answer in their own words"`
}

// New returns the tool ask_user.
func New() troupe.Tool {
	return troupe.NewTool("ask_user", strings.TrimSpace(description), func(_ context.Context, in request) (string, error) {
		if strings.TrimSpace(in.Question) == "" {
			return "", &troupe.ToolError{Class: "invalid_arguments", Message: "the question is empty"}
		}
		return "", &troupe.InputNeeded{Question: in.text()}
	})
}

// text is the question as people read it, with each choice on a line of its own.
func (in *request) text() string {
	text := strings.Builder{}
	text.WriteString(strings.TrimSpace(in.Question))
	for i, choice := range in.Choices[:min(len(in.Choices), mostChoices)] {
		if i == 0 {
			text.WriteString("\n")
		}
		text.WriteString("\n" + strconv.Itoa(i+1) + ". " + strings.Join(strings.Fields(choice), " "))
	}
	return text.String()
}
