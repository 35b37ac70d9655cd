package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The states of a step of the plan.
const (
	StepTodo    = "todo"
	StepDoing   = "doing"
	StepDone    = "done"
	StepFailed  = "failed"
	StepSkipped = "skipped" // because a step that it needs is not done
)

// A Plan is what a delivery carries out: data that Troupe writes and people edit.
type Plan struct {
	Steps []PlanStep `json:"steps" yaml:"steps"`
}

// A PlanStep is one step of a plan.
type PlanStep struct {
	ID    string `json:"id" yaml:"id"`
	Title string `json:"title" yaml:"title"`
	// Goal is all that the builder must know.
	Goal string `json:"goal,omitempty" yaml:"goal,omitempty"`
	// Files are those that it is about and, once it is done, those that it has changed.
	Files      []string `json:"files,omitempty" yaml:"files,omitempty,flow"`
	DependsOn  []string `json:"depends_on,omitempty" yaml:"depends_on,omitempty,flow"`
	Acceptance []string `json:"acceptance,omitempty" yaml:"acceptance,omitempty,flow"`
	// Checks are the names of those that must pass; all must where it is empty.
	Checks []string `json:"checks,omitempty" yaml:"checks,omitempty,flow"`
	Status string   `json:"status,omitempty" yaml:"status,omitempty"`
	Commit string   `json:"commit,omitempty" yaml:"commit,omitempty"`
	Rounds int      `json:"rounds,omitempty" yaml:"rounds,omitempty"`
	Reason string   `json:"reason,omitempty" yaml:"reason,omitempty"`
}

// YAML returns the plan as people edit it.
func (p *Plan) YAML() []byte {
	data, err := yaml.Marshal(p)
	if err != nil {
		panic("pipeline: encode plan: " + err.Error()) // of texts and numbers it cannot fail
	}
	return append([]byte("# The plan of a delivery. Steps may be added, dropped, reordered and set back to 'status: todo'.\n"), data...)
}

// Check completes a plan and refuses one that cannot be carried out.
func (p *Plan) Check() error {
	if len(p.Steps) == 0 {
		return fmt.Errorf("plan: it has no steps")
	}
	if len(p.Steps) > maxSteps {
		return fmt.Errorf("plan: it has %d steps, and at most %d are carried out", len(p.Steps), maxSteps)
	}
	ids := map[string]bool{}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.ID = cmp.Or(strings.TrimSpace(s.ID), strconv.Itoa(i+1))
		s.Title = cmp.Or(strings.TrimSpace(s.Title), titleOf(s.Goal), "Step "+s.ID)
		s.Status = cmp.Or(s.Status, StepTodo)
		if !slices.Contains([]string{StepTodo, StepDoing, StepDone, StepFailed, StepSkipped}, s.Status) {
			return &stepError{i, fmt.Sprintf("step %s: status %.40q is none of todo, doing, done, failed, skipped", s.ID, s.Status)}
		}
		if ids[s.ID] {
			return &stepError{i, fmt.Sprintf("there are two steps with the id %.40q", s.ID)}
		}
		ids[s.ID] = true
	}
	for i, s := range p.Steps {
		for _, id := range s.DependsOn {
			if !ids[id] {
				return &stepError{i, fmt.Sprintf("step %s depends on %.40q, and there is no such step", s.ID, id)}
			}
		}
	}
	return p.checkCircles()
}

// checkCircles refuses steps that wait for each other.
func (p *Plan) checkCircles() error {
	done := map[string]bool{}
	for left := len(p.Steps); left > 0; {
		before := left
		for _, s := range p.Steps {
			if !done[s.ID] && !slices.ContainsFunc(s.DependsOn, func(id string) bool { return !done[id] }) {
				done[s.ID] = true
				left--
			}
		}
		if left == before {
			var ids []string
			for _, s := range p.Steps {
				if !done[s.ID] {
					ids = append(ids, s.ID)
				}
			}
			return fmt.Errorf("plan: the steps %s wait for each other", strings.Join(ids, ", "))
		}
	}
	return nil
}

// step returns a step by its id.
func (p *Plan) step(id string) *PlanStep {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	return nil
}

// size is how many steps it has; no plan has none.
func (p *Plan) size() int {
	if p == nil {
		return 0
	}
	return len(p.Steps)
}

// countFixes counts the steps that reviews have added.
func (p *Plan) countFixes() (n int) {
	for _, s := range p.Steps {
		if strings.HasPrefix(s.ID, "fix-") {
			n++
		}
	}
	return n
}

// next returns the first step that can be carried out, nil if there is none.
func (p *Plan) next() *PlanStep {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Status != StepTodo && s.Status != StepDoing {
			continue
		}
		if !slices.ContainsFunc(s.DependsOn, func(id string) bool { d := p.step(id); return d == nil || d.Status != StepDone }) {
			return s
		}
	}
	return nil
}

// skipWaiting marks steps as skipped that wait for one that will not be done.
func (p *Plan) skipWaiting() {
	for changed := true; changed; {
		changed = false
		for i := range p.Steps {
			s := &p.Steps[i]
			if s.Status != StepTodo && s.Status != StepDoing {
				continue
			}
			for _, id := range s.DependsOn {
				if d := p.step(id); d != nil && (d.Status == StepFailed || d.Status == StepSkipped) {
					s.Status, s.Reason, changed = StepSkipped, stepName(id, d.Title)+" is not done", true
				}
			}
		}
	}
}

// planOf makes a plan of what planning answered: of its steps, else of the headings of
// its document.
func planOf(outputs json.RawMessage, document string) (*Plan, error) {
	var raw struct {
		Steps []json.RawMessage `json:"steps"`
	}
	_ = json.Unmarshal(outputs, &raw) // no steps are none
	var p Plan
	for _, data := range raw.Steps {
		p.Steps = append(p.Steps, readStep(data))
	}
	if len(p.Steps) == 0 {
		p = planFromText(document)
	}
	return &p, p.Check()
}

// readStep reads a step as agents write it: an object, or a text.
func readStep(data json.RawMessage) PlanStep {
	var s struct {
		ID                                                       Item
		Title, Name, Goal, Description                           string
		Files, DependsOn, Acceptance, Checks, AcceptanceCriteria Items
		Dependencies                                             Items
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return PlanStep{Title: titleOf(text), Goal: text}
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(data, &fields) // what is no object has no fields
	for name, into := range map[string]any{
		"id": &s.ID, "step": &s.ID, "title": &s.Title, "name": &s.Name, "goal": &s.Goal, "description": &s.Description, "files": &s.Files,
		"depends_on": &s.DependsOn, "dependencies": &s.Dependencies, "acceptance": &s.Acceptance, "acceptance_criteria": &s.AcceptanceCriteria, "checks": &s.Checks,
	} {
		if raw, ok := fields[name]; ok {
			_ = json.Unmarshal(raw, into) // a field of another kind stays empty
		}
	}
	step := PlanStep{ID: s.ID.String(), Title: cmp.Or(s.Title, s.Name), Goal: cmp.Or(s.Goal, s.Description)}
	step.Files, step.Checks = pathsOf(s.Files), s.Checks.Strings()
	step.DependsOn = append(s.DependsOn, s.Dependencies...).Strings()
	step.Acceptance = append(s.Acceptance, s.AcceptanceCriteria...).Strings()
	if len(step.DependsOn) == 0 {
		step.DependsOn = nil
	}
	return step
}

func pathsOf(items Items) (paths []string) {
	for _, item := range items {
		paths = append(paths, cmp.Or(item.Field("path"), item.String()))
	}
	return paths
}

// A stepMark is where a step of a plan begins.
type stepMark struct {
	number, at int
	title      string
	rest       string // what follows the title in its line
}

// The ways in which plans mark their steps, the plainest first. The number is the
// first group, the title the second.
var stepForms = []*regexp.Regexp{
	regexp.MustCompile(`(?mi)^#{1,6}[ \t]+[*_]*(?:implementation[ \t]+)?(?:step|task|phase|schritt|milestone)[ \t#]*(\d{1,4})\b[*_]*[ \t]*[:.)–—-]*[ \t]*(.*)$`),
	regexp.MustCompile(`(?m)^#{1,6}[ \t]+[*_]*(\d{1,4})[.):][*_]*[ \t]+(.*)$`),
	regexp.MustCompile(`(?mi)^[ \t]*(?:[-*][ \t]+)?[*_]*(?:step|task)[ \t#]*(\d{1,4})\b[*_]*[ \t]*[:.)–—-]+[ \t]*(.*)$`),
	regexp.MustCompile(`(?m)^(\d{1,4})[.)][ \t]+(.*)$`),
	regexp.MustCompile(`(?m)^[-*][ \t]+\[[ xX]\]()[ \t]+(.*)$`),
}

// stepMarks finds the steps of a plan in the first form that it has, outside of code. Headings that
// count steps are those of one level: others of that form are parts of a step.
func stepMarks(content string) []stepMark {
	code := codeLines(content)
	for i, form := range stepForms {
		var marks []stepMark
		for _, m := range form.FindAllStringSubmatchIndex(content, -1) {
			if code[m[0]] {
				continue
			}
			mark := stepMark{at: m[0], number: len(marks) + 1}
			if m[2] < m[3] {
				mark.number, _ = strconv.Atoi(content[m[2]:m[3]]) // at most four digits
			}
			mark.title = strings.Trim(content[m[4]:m[5]], " \t*_#\r")
			marks = append(marks, mark)
		}
		if i < 2 {
			marks = ofOneLevel(content, marks)
		}
		if marks != nil {
			return marks[:min(len(marks), maxSteps+1)]
		}
	}
	return nil
}

// ofOneLevel are the headings of the level that counts the most steps, the highest of several.
func ofOneLevel(content string, marks []stepMark) []stepMark {
	level := func(m stepMark) int { return headingLevel(content[m.at:]) }
	best, most := 0, 0
	for l := 1; l <= 6; l++ {
		numbers := map[int]bool{}
		for _, m := range marks {
			if level(m) == l {
				numbers[m.number] = true
			}
		}
		if len(numbers) > most {
			best, most = l, len(numbers)
		}
	}
	return slices.DeleteFunc(marks, func(m stepMark) bool { return level(m) != best })
}

// planFromText makes a plan of the steps that a document marks.
func planFromText(document string) (p Plan) {
	marks := stepMarks(document)
	seen := map[int]bool{}
	for i, m := range marks {
		if seen[m.number] {
			continue // "Step 1.2" is part of step 1
		}
		seen[m.number] = true
		end := len(document)
		for _, later := range marks[i+1:] {
			if later.number != m.number {
				end = later.at
				break
			}
		}
		p.Steps = append(p.Steps, PlanStep{ID: strconv.Itoa(m.number), Title: clipText(m.title, 120), Goal: strings.TrimSpace(document[m.at:end])})
	}
	return p
}

// Write puts the plan in the place of what a file says, in one step.
func (p *Plan) Write(name string) error { return replaceFile(name, p.YAML()) }

// Markdown is the plan as a document, where the planner wrote none.
func (p *Plan) Markdown() string {
	var b strings.Builder
	b.WriteString("# Implementation plan\n")
	for i, s := range p.Steps {
		b.WriteString("\n" + s.section(i+1, 2))
	}
	return b.String()
}

// KeepsDone fails where a step that is done has another title or goal in a plan that is to
// replace another: they are those of its commit. One that is to be done again may have others.
func KeepsDone(was, now *Plan) error {
	if was == nil {
		return nil
	}
	for i, s := range now.Steps {
		old := was.step(s.ID)
		if old != nil && old.Status == StepDone && s.Status == StepDone && (old.Title != s.Title || old.Goal != s.Goal) {
			return &stepError{i, fmt.Sprintf("step %s is done and keeps its title and goal; to have it done again, set its status to todo", s.ID)}
		}
	}
	return nil
}

// ComparePlans says, line by line, what changed between two plans.
func ComparePlans(was, now *Plan) (lines []string) {
	if was == nil {
		was = &Plan{}
	}
	for _, s := range was.Steps {
		if now.step(s.ID) == nil {
			lines = append(lines, "dropped: "+s.ID+" "+s.Title)
		}
	}
	var order []string
	for _, s := range now.Steps {
		old := was.step(s.ID)
		switch {
		case old == nil:
			lines = append(lines, "added: "+s.ID+" "+s.Title)
		case old.Status != s.Status:
			lines = append(lines, fmt.Sprintf("step %s: %s, was %s", s.ID, s.Status, old.Status))
		case old.Title != s.Title || old.Goal != s.Goal || !slices.Equal(old.Files, s.Files) || !slices.Equal(old.DependsOn, s.DependsOn) || !slices.Equal(old.Acceptance, s.Acceptance):
			lines = append(lines, "changed: "+s.ID+" "+s.Title)
		}
		if old != nil {
			order = append(order, s.ID)
		}
	}
	var before []string
	for _, s := range was.Steps {
		if now.step(s.ID) != nil {
			before = append(before, s.ID)
		}
	}
	if !slices.Equal(order, before) {
		lines = append(lines, "order: "+strings.Join(order, ", "))
	}
	return lines
}
