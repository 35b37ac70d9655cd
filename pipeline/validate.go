package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/edit"
)

// Validate is Check for somebody who tries an answer out before it is used: artifacts that
// would be written where none may be, and words that are none of those that the contract
// lists, are critical, too.
func (c *Contract) Validate(answer []byte) []Problem {
	var o Output
	problems := c.Check(answer)
	if o.UnmarshalJSON(answer) != nil {
		return problems
	}
	found := append(checkArtifacts(o.Artifacts), checkWords(c.phase, o.Outputs)...)
	slices.SortStableFunc(found, func(a, b Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	for _, p := range found {
		problems = slices.DeleteFunc(problems, func(known Problem) bool { return known.Pointer == p.Pointer && !known.Critical })
		problems = append(problems, p)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return weight(b) - weight(a) })
	return problems
}

func weight(p Problem) int {
	if p.Critical {
		return 1
	}
	return 0
}

func checkArtifacts(list []Artifact) (problems []Problem) {
	types := []string{ArtifactFile, ArtifactKnowledge, edit.TypeEdit, edit.TypeDelete, edit.TypeRename}
	for i, a := range list {
		at := fmt.Sprintf("/artifacts/%d", i)
		if a.Path != "" {
			if problem := edit.CheckPath(a.Path); problem != "" {
				problems = append(problems, Problem{Pointer: at + "/path", Message: strings.TrimSuffix(problem, "."), Critical: true})
			}
		}
		if a.Type != "" && !slices.Contains(types, a.Type) {
			problems = append(problems, wrongWord(at+"/type", a.Type, types))
		}
		if (a.Type == ArtifactFile || a.Type == ArtifactKnowledge) && a.Content == "" {
			problems = append(problems, Problem{Pointer: at + "/content", Message: "required, but missing or empty"})
		}
	}
	return problems
}

// allowedWords are the outputs of which a contract lists what they may be, in any case. A slash is
// before the name of a field of a list's entries.
var allowedWords = map[string]map[string][]string{
	"requirements": {"scope": {"MVP", "Full", "Enterprise"}, "acceptance_criteria/how": {"test", "check", "review"}},
	phaseDiscovery: {"relevant_files/priority": {"high", "medium", "low"}},
	phasePlanning: {
		"complexity": {"low", "medium", "high"}, "risk_level": {"low", "medium", "high"},
		"steps/status": {StepTodo, StepDoing, StepDone, StepFailed, StepSkipped},
	},
	phaseQA: {
		"tests_passed": {"true", "false"}, "code_quality": {"A", "B", "C", "D", "E", "F"}, "verdict": {"accept", "changes_required"},
		"criteria/state":    {criterionMet, criterionNotMet, criterionUnproven},
		"findings/severity": {severityBlocker, severityMajor, severityMinor},
	},
}

func checkWords(phase string, outputs json.RawMessage) (problems []Problem) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(outputs, &fields) != nil {
		return nil
	}
	for key, allowed := range allowedWords[phase] {
		check := func(pointer, word string) {
			word = strings.TrimSpace(word)
			if key == "code_quality" {
				word = strings.TrimRight(word, "+-") // A- is an A
			}
			if word != "" && !slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, word) }) {
				problems = append(problems, wrongWord(pointer, word, allowed))
			}
		}
		name, field, isList := strings.Cut(key, "/")
		if !isList {
			var item Item
			_ = item.UnmarshalJSON(fields[name]) // it takes any value
			check("/outputs/"+name, item.String())
			continue
		}
		var items Items
		_ = items.UnmarshalJSON(fields[name]) // it takes any value
		for i, item := range items {
			check(fmt.Sprintf("/outputs/%s/%d/%s", name, i, field), item.Field(field))
		}
	}
	return problems
}

func wrongWord(pointer, word string, allowed []string) Problem {
	return Problem{Pointer: pointer, Message: fmt.Sprintf("%.40q is none of %s", word, strings.Join(allowed, ", ")), Critical: true}
}
