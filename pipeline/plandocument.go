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
	// Made is what planning, and amending, wrote: all else in the document is a person's.
	Made string `json:"made,omitempty"`
}

// An outdated document is one whose plan a person has changed.
type outdated struct {
	Was     Plan `json:"was"`
	Now     Plan `json:"now"`
	Edition int  `json:"edition"` // of the document for the plan as it is now
	// Made is what of the document no person wrote.
	Made string `json:"made,omitempty"`
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
		read.Outdated = &outdated{Was: Plan{was.planned()}, Now: Plan{p.planned()}, Edition: d.Edition + 1, Made: d.Made}
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
	next, was, text := documented{Plan: o.Now, Edition: o.Edition, Made: o.Made}, "", ""
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
		if text = amendDocument(was, isEdited, o.Made, o.Was.Steps, o.Now.Steps); text != was {
			next.Path, next.Before, next.Was = saved.Path, hashOf(was), &o.Was
			next.Made += "\n" + o.Now.Markdown()
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
