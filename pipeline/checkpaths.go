package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/edit"
)

// CheckPaths returns what is wrong with an answer beyond its schema: artifacts that
// would be written where none may be, which is critical, artifacts without content, and
// words that are none of those that the contract lists, which are warnings.
func CheckPaths(answer []byte) (problems []Problem) {
	var o Output
	if o.UnmarshalJSON(answer) != nil {
		return nil
	}
	for i, a := range o.Artifacts {
		at := fmt.Sprintf("/artifacts/%d", i)
		if a.Path != "" {
			if problem := edit.CheckPath(a.Path); problem != "" {
				problems = append(problems, Problem{Pointer: at + "/path", Message: strings.TrimSuffix(problem, "."), Critical: true})
			}
		}
		if (a.Type == ArtifactFile || a.Type == ArtifactKnowledge) && a.Content == "" {
			problems = append(problems, Problem{Pointer: at + "/content", Message: "required, but missing or empty"})
		}
	}
	return append(problems, checkWords(o.Outputs)...)
}

// checkWords looks at outputs of which the contract says which words they may be.
func checkWords(outputs json.RawMessage) (problems []Problem) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(outputs, &fields) != nil {
		return nil
	}
	degrees := []string{"low", "medium", "high"}
	check := func(pointer, word string, allowed []string) {
		if word != "" && !slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, word) }) {
			problems = append(problems, Problem{Pointer: pointer, Message: fmt.Sprintf("%.40q is none of %s", word, strings.Join(allowed, ", "))})
		}
	}
	text := func(name string) string {
		var item Item
		_ = item.UnmarshalJSON(fields[name]) // it takes any value
		return item.String()
	}
	check("/outputs/scope", text("scope"), []string{"MVP", "Full", "Enterprise"})
	check("/outputs/complexity", text("complexity"), degrees)
	check("/outputs/risk_level", text("risk_level"), degrees)
	check("/outputs/verdict", text("verdict"), []string{"accept", "changes_required"})
	for _, list := range []struct {
		name, field string
		allowed     []string
	}{
		{"relevant_files", "priority", degrees}, {"criteria", "state", []string{criterionMet, criterionNotMet, criterionUnproven}},
		{"findings", "severity", []string{severityBlocker, severityMajor, severityMinor}},
	} {
		var items Items
		_ = items.UnmarshalJSON(fields[list.name]) // it takes any value
		for i, item := range items {
			check(fmt.Sprintf("/outputs/%s/%d/%s", list.name, i, list.field), item.Field(list.field), list.allowed)
		}
	}
	return problems
}
