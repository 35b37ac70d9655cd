package eval

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe"
)

// CaseOf makes a case of a session, as the YAML of a suite: what the person said, the
// tools that were called and the files that were saved. The last answer is there as a
// reference for judges.
func CaseOf(info troupe.SessionInfo, events iter.Seq2[troupe.Event, error]) ([]byte, error) {
	found := taken{Name: strings.TrimSpace(info.Title), Agent: info.Agent}
	var tools, files []string
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case *troupe.UserSaid:
			// Decisions about approvals are made anew.
			if e.Parent == "" && !b.Hidden && b.Answer == nil && b.Text != "" {
				found.Messages = append(found.Messages, b.Text)
			}
		case *troupe.ToolCalled:
			if !slices.Contains(tools, b.Tool) {
				tools = append(tools, b.Tool)
			}
		case *troupe.ArtifactSaved:
			if name := undated(path.Base(b.Path)); !slices.Contains(files, name) {
				files = append(files, name)
			}
		case *troupe.RunFinished:
			if e.Parent == "" {
				found.Reference, found.stop = b.Output.Summary, b.Stop
			}
		}
	}
	if len(found.Messages) == 0 {
		return nil, errors.New("nobody said anything in the session, so that there is nothing to ask again")
	}
	if found.Name == "" {
		found.Name = "session " + info.ID[:8]
	}
	if found.stop != "" {
		found.Checks = append(found.Checks, map[string]any{"stop": found.stop})
	}
	if len(tools) > 0 {
		found.Checks = append(found.Checks, map[string]any{"tools": tools})
	}
	for _, name := range files {
		found.Checks = append(found.Checks, map[string]any{"file": map[string]any{"name": name}})
	}
	if len(found.Checks) == 0 {
		found.Checks = append(found.Checks, map[string]any{"judge": map[string]any{"rubric": "The answer says what the reference says."}})
	}
	data, err := yaml.Marshal(map[string]any{"cases": []taken{found}})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", info.ID, err)
	}
	return data, nil
}

// date is a day in a file's name, and a time that follows it.
var date = regexp.MustCompile(`(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])(?:[-_.T]?(?:[01]\d|2[0-3])[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?Z?)?`)

// undated is a pattern for files of a name on any day: the case is played on others.
func undated(name string) string {
	name = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
	return date.ReplaceAllLiteralString(name, "*")
}

// taken is a case as it is written.
type taken struct {
	Name      string           `yaml:"name"`
	Agent     string           `yaml:"agent"`
	Messages  []string         `yaml:"messages"`
	Checks    []map[string]any `yaml:"checks"`
	Reference string           `yaml:"reference,omitempty"`

	stop string
}
