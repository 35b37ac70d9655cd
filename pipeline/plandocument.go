package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// documentedFile is, beside the plan, what its document says of it.
const documentedFile = "documented.json"

// A documented plan is a plan as its document has it: as planning made it, or as a person
// had changed it when the document was last amended.
type documented struct {
	Plan
	// Edition is how often the document was amended.
	Edition int `json:"edition,omitempty"`
	// Path is the document, Before the hash of what it was, and Was the plan that it had
	// then: a document that is still as it was has not been amended yet.
	Path   string `json:"path,omitempty"`
	Before string `json:"before,omitempty"`
	Was    *Plan  `json:"was,omitempty"`
}

// An outdated document is one whose plan a person has changed.
type outdated struct {
	Was     Plan `json:"was"`
	Now     Plan `json:"now"`
	Edition int  `json:"edition"` // of the document for the plan as it is now
}

// A planRead is a plan as it is on file.
type planRead struct {
	Plan
	// Edited says that a person has changed it since it was made, and Outdated is set where
	// its document does not say so yet.
	Edited   bool      `json:"edited,omitempty"`
	Outdated *outdated `json:"outdated,omitempty"`
}

// planned are the steps that the document has: neither fixes nor wishes.
func (p *Plan) planned() (steps []PlanStep) {
	for _, s := range p.Steps {
		if !s.isAdded() {
			steps = append(steps, s)
		}
	}
	return steps
}

// isAdded reports whether a review, or a person who has seen the change, asked for the step.
func (s *PlanStep) isAdded() bool {
	return strings.HasPrefix(s.ID, "fix-") || strings.HasPrefix(s.ID, "wish-")
}

// saysSame reports whether a step has the words of another. Once it was carried out, its
// files are those that it has changed.
func (s *PlanStep) saysSame(other *PlanStep) bool {
	return s.ID == other.ID && s.Title == other.Title && s.Goal == other.Goal && slices.Equal(s.DependsOn, other.DependsOn) &&
		slices.Equal(s.Acceptance, other.Acceptance) && (s.Rounds > 0 || other.Rounds > 0 || slices.Equal(s.Files, other.Files))
}

// readEdited reads the plan, and what of it a person has changed.
func (s *workshop) readEdited(session string) (planRead, error) {
	p, err := s.readPlan(session)
	if err != nil {
		return planRead{}, err
	}
	read := planRead{Plan: *p}
	d, err := readDocumented(s.folder(session))
	if d == nil || err != nil {
		return read, err
	}
	was := d.Plan
	if d.Was != nil {
		if text, err := s.readDocument(session, d.Path); err == nil && hashOf(text) == d.Before || errors.Is(err, fs.ErrNotExist) {
			was = *d.Was
		}
	}
	isSame := was.saysSame(p)
	if read.Edited = d.Edition > 0 || !isSame; !isSame {
		read.Outdated = &outdated{Was: Plan{was.planned()}, Now: Plan{p.planned()}, Edition: d.Edition + 1}
	}
	return read, nil
}

// readDocumented reads what the document of a plan says of it, nil where it has none.
func readDocumented(folder string) (*documented, error) {
	data, err := os.ReadFile(filepath.Join(folder, documentedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	d := &documented{}
	if err == nil {
		err = json.Unmarshal(data, d)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", documentedFile, err)
	}
	return d, nil
}

// IsPlanAhead reports of a plan, of the delivery in a folder, whether a person has changed it
// and its document does not say so yet: it follows before the next step.
func IsPlanAhead(folder string, p *Plan) bool {
	d, err := readDocumented(folder)
	return err == nil && d != nil && !d.saysSame(p)
}

// saysSame reports whether the planned steps of a plan have the words of those of another.
func (p *Plan) saysSame(other *Plan) bool {
	return slices.EqualFunc(p.planned(), other.planned(), func(a, b PlanStep) bool { return a.saysSame(&b) })
}

func (s *workshop) writeDocumented(session string, d *documented) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(s.folder(session), documentedFile), data)
}

// amendPlan has the document of the plan say what a person has changed, on file and in the
// knowledge base. It returns its path, empty where there is none.
func (d *delivery) amendPlan(ctx context.Context, run *troupe.Run, results []Result, o *outdated) (string, error) {
	next, was, text := documented{Plan: o.Now, Edition: o.Edition}, "", ""
	saved := planDocument(results)
	if saved != nil {
		in := documentsRequest{Documents: []document{{Phase: phasePlanning, Path: saved.Path}}, Whole: true}
		found, err := call[documentsResult](ctx, run, d.tools.documents, in)
		if err != nil {
			return "", err
		}
		for _, doc := range found.Documents {
			was = doc.Content
		}
		isEdited := hashOf(was) != saved.SHA256
		if text = amendDocument(was, isEdited, o.Was.Steps, o.Now.Steps); text != was {
			next.Path, next.Before, next.Was = saved.Path, hashOf(was), &o.Was
		}
	}
	if _, err := call[Plan](ctx, run, d.tools.writePlan, planUpdate{Documented: &next}); err != nil || saved == nil || text == was {
		return "", err
	}
	_, err := d.keep(ctx, run, writeRequest{Path: saved.Path, Content: text, Type: saved.Type, Phase: phasePlanning, Edition: o.Edition})
	return saved.Path, err
}

// planDocument is the document of the plan, nil where planning wrote none.
func planDocument(results []Result) (found *Saved) {
	for _, r := range results {
		if r.Phase != phasePlanning {
			continue
		}
		for i, a := range r.Artifacts {
			if a.Steps > 0 {
				return &r.Artifacts[i]
			}
			if found == nil {
				found = &r.Artifacts[i]
			}
		}
	}
	return found
}

// follow has what comes after it go by a plan that a person has changed: its document, on
// the branch too, and what builders and reviewers get to know of planning.
func (w *work) follow(ctx context.Context, read *planRead) error {
	if !read.Edited {
		return nil
	}
	w.Plan = &Plan{read.planned()}
	w.earlier = withPlan(w.earlier, w.Plan)
	if read.Outdated == nil {
		return nil
	}
	name, err := w.delivery.amendPlan(ctx, w.run, w.earlier, read.Outdated)
	if err != nil || name == "" || w.delivery.Repository.Documents != "branch" {
		return err
	}
	r, err := call[keepDocsResult](ctx, w.run, w.delivery.tools.keepDocs, keepDocsRequest{state: w.now, At: w.run.Now(), Feature: w.at.feature, Paths: []string{name}, AsTheyAre: true})
	if err != nil {
		return err
	}
	w.now = r.state
	return w.noteByHand(ctx)
}

// withPlan are results in whose planning stands a plan in place of the one that it came to.
func withPlan(results []Result, p *Plan) []Result {
	results = slices.Clone(results)
	steps := slices.Clone(p.Steps)
	for i := range steps { // how they stand is said elsewhere
		steps[i].Status, steps[i].Commit, steps[i].Rounds, steps[i].Reason = "", "", 0, ""
	}
	for i := range results {
		outputs := map[string]json.RawMessage{}
		if results[i].Phase != phasePlanning || json.Unmarshal(results[i].Outputs, &outputs) != nil || outputs == nil {
			continue
		}
		for name, value := range map[string]any{"steps": steps, "total_steps": len(steps)} {
			data, err := json.Marshal(value)
			if _, ok := outputs[name]; ok && err == nil {
				outputs[name] = data
			}
		}
		if data, err := json.Marshal(outputs); err == nil {
			results[i].Outputs = data
		}
	}
	return results
}

// amendDocument makes the document of a plan that of another one. The parts of steps that
// say the same stay, with their new numbers, and so does what is before, between and after
// the steps; the other parts are written from the plan. Where the document has no steps
// that are recognised, it is written anew, above what it says if somebody has edited it.
func amendDocument(text string, isEdited bool, was, now []PlanStep) string {
	marks := marksOf(text, was)
	if marks == nil {
		made := (&Plan{now}).Markdown()
		if isEdited && strings.TrimSpace(text) != "" {
			made += "\n## What the document said before\n\n" + strings.TrimSpace(text) + "\n"
		}
		return made
	}
	level := max(headingLevel(text[marks[0].at:]), 2)
	parts, tail := partsOf(text, marks)
	b := strings.Builder{}
	write := func(part string) {
		if part = strings.TrimRight(part, "\n"); part != "" {
			b.WriteString(part + "\n\n")
		}
	}
	b.WriteString(text[:marks[0].at])
	stays := map[int]bool{}
	for i := range now {
		n := i + 1
		if old := slices.IndexFunc(was, func(s PlanStep) bool { return s.saysSame(&now[i]) }); old >= 0 && parts[old+1].text != "" {
			stays[old+1] = true
			write(parts[old+1].renumbered(old+1, n, level))
			continue
		}
		write(now[i].section(n, level))
		if old := slices.IndexFunc(was, func(s PlanStep) bool { return s.ID == now[i].ID }); old >= 0 {
			stays[old+1] = true
			write(parts[old+1].between())
		}
	}
	for i := range was {
		if !stays[i+1] {
			write(parts[i+1].between())
		}
	}
	return strings.TrimRight(b.String()+tail, "\n") + "\n"
}

// A stepPart is what a document says of a step: its title, what follows it in its line, and all of it.
type stepPart struct{ title, rest, text string }

// between is what follows the step in its part and is none of it.
func (p stepPart) between() string { return p.text[endOfStep(p.text):] }

// partsOf are the parts of a document by the numbers of their steps, and what is after them.
func partsOf(text string, marks []stepMark) (parts map[int]stepPart, tail string) {
	parts = map[int]stepPart{}
	for i := 0; i < len(marks); {
		first, end := marks[i], len(text)
		for i++; i < len(marks) && marks[i].number == first.number; i++ { // "Step 1.2" is part of step 1
		}
		if i < len(marks) {
			end = marks[i].at
		}
		part := text[first.at:end]
		if i == len(marks) {
			end = endOfStep(part)
			part, tail = part[:end], part[end:]
		}
		if _, ok := parts[first.number]; !ok {
			parts[first.number] = stepPart{first.title, first.rest, part}
		}
	}
	return parts, tail
}

// endOfStep is where in a text that begins with a step something else begins: below a
// heading that is none of a step, and no deeper than the step's own.
func endOfStep(text string) int {
	level, at, isCode := headingLevel(text), 0, false
	if level == 0 {
		level = 6
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			isCode = !isCode
		}
		if n := headingLevel(line); at > 0 && !isCode && n > 0 && n <= level && !stepForms[0].MatchString(line) {
			return at
		}
		at += len(line)
	}
	return len(text)
}

// headingLevel is that of the heading that a text begins with, 0 where it begins with none.
func headingLevel(text string) int {
	line, _, _ := strings.Cut(text, "\n")
	if m := heading.FindStringSubmatch(strings.TrimRight(line, "\r")); m != nil {
		return len(m[1])
	}
	return 0
}

// renumbered is the part of a step under another number. Marks of another form than
// "## Step 1" become such headings, so that a document has one form.
func (p stepPart) renumbered(was, now, level int) string {
	part := p.text
	if at := stepForms[0].FindStringIndex(part); at == nil || at[0] != 0 {
		_, body, _ := strings.Cut(part, "\n")
		if p.rest != "" {
			body = p.rest + "\n" + body
		}
		return fmt.Sprintf("%s Step %d: %s\n\n%s", strings.Repeat("#", level), now, p.title, strings.TrimLeft(body, "\n"))
	}
	all := stepForms[0].FindAllStringSubmatchIndex(part, -1)
	for _, m := range slices.Backward(all) {
		if part[m[2]:m[3]] == strconv.Itoa(was) {
			part = part[:m[2]] + strconv.Itoa(now) + part[m[3]:]
		}
	}
	return part
}

// section is a step as part of a document. Headings in its goal are set below its own, and
// none of them is taken for a step's.
func (s *PlanStep) section(n, level int) string {
	goal := strings.TrimSpace(s.Goal)
	if marks := stepMarks(goal); marks != nil && marks[0].at == 0 && headingLevel(goal) > 0 { // it was made of a document
		_, goal, _ = strings.Cut(goal, "\n")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s Step %d: %s\n\n", strings.Repeat("#", level), n, s.Title)
	isCode := false
	for line := range strings.Lines(strings.TrimSpace(goal) + "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			isCode = !isCode
		}
		if stepForms[0].MatchString(line) {
			line = strings.TrimLeft(line, "# \t")
		} else if own := headingLevel(line); own > 0 && own <= level && !isCode {
			line = strings.Repeat("#", min(level+own, 6)-own) + line
		}
		b.WriteString(line)
	}
	for _, part := range []struct {
		name  string
		items []string
	}{{"Files", s.Files}, {"Depends on", s.DependsOn}, {"Acceptance", s.Acceptance}} {
		if len(part.items) > 0 {
			fmt.Fprintf(&b, "\n%s: %s\n", part.name, strings.Join(part.items, ", "))
		}
	}
	return b.String()
}
