package a2a

import (
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/troupe-dev/troupe"
)

// inputOf is what a message says. Data with a decision, approve or deny, decides what was
// asked; any other data is told as JSON.
func inputOf(m *sdk.Message) (in troupe.Input, decision string, err error) {
	var said []string
	for _, p := range m.Parts {
		switch content := p.Content.(type) {
		case sdk.Text:
			if p.Filename != "" {
				in.Parts = append(in.Parts, troupe.Part{Name: p.Filename, MIME: orName(p.MediaType, "text/plain"), Data: []byte(content)})
				continue
			}
			said = append(said, string(content))
		case sdk.Raw:
			in.Parts = append(in.Parts, troupe.Part{Name: p.Filename, MIME: orName(p.MediaType, "application/octet-stream"), Data: content})
		case sdk.URL:
			said = append(said, string(content)) // nobody fetches it unasked
		case sdk.Data:
			var given struct{ Decision, Text string }
			data, err := json.Marshal(p.Data())
			if err != nil {
				return in, "", errors.New("a data part is no JSON")
			}
			if json.Unmarshal(data, &given) == nil && given.Decision != "" {
				decision = given.Decision
				if given.Text != "" {
					said = append(said, given.Text)
				}
				continue
			}
			said = append(said, string(data))
		}
	}
	in.Text = strings.TrimSpace(strings.Join(said, "\n\n"))
	if in.Text == "" && len(in.Parts) == 0 && decision == "" {
		return in, "", errors.New("the message is empty")
	}
	return in, decision, nil
}

// decisionOf reads a decision out of what was said, where that is nothing else.
func decisionOf(decision, text string) string {
	if decision != "" {
		return strings.ToLower(decision)
	}
	switch strings.ToLower(strings.Trim(text, " .!")) {
	case "approve", "approved", "yes":
		return "approve"
	case "deny", "denied", "no":
		return "deny"
	}
	return ""
}
