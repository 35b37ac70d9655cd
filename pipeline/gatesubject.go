package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/rawjson"
)

// A gatePart is a part of what is judged at a gate, in words: what the phase answered, as
// the page shows it.
type gatePart struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// What is said of a phase's answer at its gate: titles, and the outputs that they are of.
var gateParts = map[string][][2]string{
	"requirements":      {{"User stories", "user_stories"}, {"Acceptance criteria", "acceptance_criteria"}, {"What constrains it", "constraints"}},
	"architecture":      {{"Components", "components"}, {"Decisions", "decisions"}, {"Technologies", "technologies"}},
	phaseDiscovery:      {{"Files that matter", "relevant_files"}, {"Where it begins", "entry_points"}, {"Depends on", "dependencies"}},
	phasePlanning:       {{"Steps", "steps"}},
	phaseImplementation: {{"What was done", "summary"}, {"Notes", "notes"}},
	phaseQA:             {{"Verdict", "verdict"}, {"Acceptance criteria", "criteria"}, {"Findings", "findings"}, {"Recommendations", "recommendations"}},
}

// mostInPart is how many lines of a part a question has; the documents have all.
const mostInPart = 20

// subject is what a phase answered, in words. What is no answer is said elsewhere.
func (r *Result) subject() (parts []gatePart) {
	if r.JSON == LevelRaw {
		return nil
	}
	fields := map[string]Items{}
	var order []string
	for _, f := range rawjson.Fields(r.Outputs) {
		var items Items
		_ = items.UnmarshalJSON(f.Value) // it takes any value
		fields[f.Name], order = items, append(order, f.Name)
	}
	titles, ok := gateParts[r.Phase]
	if !ok {
		for _, name := range order {
			titles = append(titles, [2]string{phaseTitle(name), name})
		}
	}
	for _, t := range titles {
		part := gatePart{Title: t[0]}
		for _, item := range fields[t[1]] {
			if line := clipText(strings.TrimSpace(lineOf(t[1], item)), 500); line != "" {
				part.Lines = append(part.Lines, line)
			}
		}
		if more := len(part.Lines) - mostInPart; more > 0 {
			part.Lines = append(part.Lines[:mostInPart], fmt.Sprintf("and %d more", more))
		}
		if part.Lines != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// lineOf is an entry of an answer as a line.
func lineOf(field string, item Item) string {
	first := func(names ...string) string {
		for _, name := range names {
			if text := item.Field(name); text != "" {
				return text
			}
		}
		return ""
	}
	switch field {
	case "verdict":
		if said := verdictOf(item.String()); said == "changes_required" {
			return "changes are required"
		} else if said == "accept" {
			return "accepted"
		}
	case "findings":
		var f finding
		if json.Unmarshal([]byte(item.json), &f) == nil && f.Problem != "" {
			f.Severity = severityOf(f.Severity)
			return f.forPeople()
		}
	case "criteria":
		if id := item.Field("id"); id != "" {
			j := judgement{ID: id, Text: item.Field("text"), State: item.Field("state"), Evidence: item.Field("evidence")}
			return j.forPeople()
		}
	}
	about := first("title", "name", "path", "story", "text", "decision", "problem")
	more := first("goal", "description", "rationale", "reason", "relevance")
	if want := item.Field("i_want"); about == "" && want != "" {
		about = fmt.Sprintf("As %s I want %s", cmp.Or(first("as", "as_a"), "somebody"), want)
		if why := item.Field("so_that"); why != "" {
			about += ", so that " + why
		}
	}
	if about == "" && more == "" {
		return item.String()
	}
	if about == more {
		more = ""
	}
	line := strings.TrimSuffix(about+": "+more, ": ")
	if id := item.Field("id"); id != "" && !strings.HasPrefix(line, id) {
		line = id + ": " + line
	}
	return strings.TrimPrefix(line, ": ")
}

// concerns are the codes of warnings that people are told, as the page has them. The others
// say how an answer was read.
var concerns = []string{"by_hand", codeFlaky, "lock_written", "claim", "file_missing", "tests_missing", "reply_cut"}

// toldOf are the warnings that people are told, each once.
func toldOf(warnings []string) (list []string) {
	for _, w := range warnings {
		code, text, ok := strings.Cut(w, ": ")
		if ok && slices.Contains(concerns, code) && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// awareText lists what is to be known before a decision, as a part of a question.
func awareText(warnings []string) string {
	if len(warnings) == 0 {
		return ""
	}
	return "\nTo be aware of:\n- " + strings.Join(warnings, "\n- ") + "\n"
}

// checksText says what the checks said, as a part of a question. What failed before the
// change may fail after it.
func checksText(measured, baseline []checks.Outcome) string {
	if len(measured) == 0 {
		return "\nNothing was checked.\n"
	}
	var b strings.Builder
	b.WriteString("\nChecks:\n")
	for _, o := range measured {
		b.WriteString("- " + o.Mark())
		if was := before(baseline, o.Name); !o.OK && verdictOn(o, was) == nil {
			b.WriteString(", as before the change")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
