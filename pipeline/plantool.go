package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/edit"
)

const (
	toolReadPlan  = "read_plan"
	toolWritePlan = "write_plan"
	toolDocuments = "read_documents"
	toolKeepDocs  = "commit_documents"
	toolKnowledge = "query_knowledge"

	// PlanFile is the plan's name in a delivery's folder, DocumentsDir that of the folder
	// of the phases' documents.
	PlanFile     = "plan.yaml"
	DocumentsDir = "documents"
)

type planUpdate struct {
	// Plan is the whole plan, where it is a new one, and Document what planning wrote of it.
	Plan     *Plan     `json:"plan,omitempty"`
	Document *savedDoc `json:"document,omitempty"`
	// Step is one whose state has changed, Add are further steps: at the end, or after
	// the step that After names.
	Step  *PlanStep  `json:"step,omitempty"`
	Add   []PlanStep `json:"add,omitempty"`
	After string     `json:"after,omitempty"`
	// Documented is what the plan's document is about to say of it.
	Documented *documented `json:"documented,omitempty"`
}

// A savedDoc is a document as it was saved.
type savedDoc struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// planFile is where a session's plan is on file.
func (s *workshop) planFile(session string) string {
	return filepath.Join(s.folder(session), PlanFile)
}

func (s *workshop) readPlan(session string) (*Plan, error) {
	data, err := os.ReadFile(s.planFile(session))
	if err != nil {
		return nil, err
	}
	return ReadPlan(data)
}

// readPlanTool reads the plan as it is on file: a person may have edited it.
func (s *workshop) readPlanTool() troupe.Tool {
	return siteTool(toolReadPlan, "Reads the plan.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (planRead, error) {
		p, err := s.readEdited(call.Run.Session())
		if errors.Is(err, fs.ErrNotExist) {
			return planRead{}, nil
		}
		if err != nil {
			return planRead{}, fmt.Errorf("%s: %w", s.planFile(call.Run.Session()), err)
		}
		return p, nil
	})
}

func (s *workshop) writePlanTool() troupe.Tool {
	return siteTool(toolWritePlan, "Writes the plan, or what became of a step.", func(_ context.Context, call *troupe.Invocation, in planUpdate) (Plan, error) {
		session := call.Run.Session()
		p := in.Plan
		if p == nil {
			var err error
			if p, err = s.readPlan(session); err != nil {
				return Plan{}, err
			}
		}
		if in.Documented != nil {
			return *p, s.writeDocumented(session, in.Documented)
		}
		if in.Step != nil {
			if old := p.step(in.Step.ID); old != nil {
				old.Status, old.Commit, old.Rounds, old.Reason = in.Step.Status, in.Step.Commit, in.Step.Rounds, in.Step.Reason
				if old.Status == StepDone {
					old.Files = in.Step.Files
				}
			}
		}
		for _, add := range in.Add {
			if p.step(add.ID) == nil {
				at := len(p.Steps)
				if i := slices.IndexFunc(p.Steps, func(s PlanStep) bool { return s.ID == in.After }); i >= 0 {
					at = i + 1
				}
				p.Steps = slices.Insert(p.Steps, at, add)
			}
		}
		if err := p.Check(); err != nil {
			return Plan{}, err
		}
		if in.Plan != nil {
			if err := s.writeDocumented(session, &documented{Plan: *p, Made: s.asMade(session, in.Document)}); err != nil {
				return Plan{}, err
			}
		}
		return *p, p.Write(s.planFile(session))
	})
}

// asMade is the text of a document, empty where a person has written in it since it was made.
func (s *workshop) asMade(session string, d *savedDoc) string {
	if d == nil {
		return ""
	}
	text, err := s.readDocument(session, d.Path)
	if err != nil || hashOf(text) != d.SHA256 {
		return ""
	}
	return text
}

// A document is what a phase wrote, as it is on file.
type document struct {
	Phase   string `json:"phase"`
	Path    string `json:"path"`
	Content string `json:"content"`
}

type documentsRequest struct {
	Documents []document `json:"documents" jsonschema:"phase and path of each"`
	Whole     bool       `json:"whole,omitempty" jsonschema:"leave nothing out for want of room"`
}

type documentsResult struct {
	Documents []document `json:"documents"`
}

const (
	maxDocument  = 64 << 10  // bytes of one document in a prompt
	maxDocuments = 160 << 10 // bytes of all
)

// documentsTool reads the documents of earlier phases: a person may have edited them.
// The nearest are read whole; where there is no room left, older ones are named only.
func (s *workshop) documentsTool() troupe.Tool {
	return siteTool(toolDocuments, "Reads the documents of earlier phases.", func(_ context.Context, call *troupe.Invocation, in documentsRequest) (documentsResult, error) {
		room, out := maxDocuments, documentsResult{}
		for _, d := range slices.Backward(in.Documents) {
			text, err := s.readDocument(call.Run.Session(), d.Path)
			if err != nil {
				continue
			}
			d.Content = "(there is no room for it here: read_document shows it)"
			if in.Whole {
				d.Content = text
			} else if room > 0 {
				d.Content = clipText(text, min(maxDocument, room))
				room -= len(d.Content)
			}
			out.Documents = append(out.Documents, d)
		}
		slices.Reverse(out.Documents)
		return out, nil
	})
}

// readDocument reads a file below the folder of documents.
func (s *workshop) readDocument(session, name string) (string, error) {
	root, err := os.OpenRoot(filepath.Join(s.folder(session), DocumentsDir))
	if err != nil {
		return "", err
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.FromSlash(name))
	return string(data), err
}

type keepDocsRequest struct {
	state
	At      time.Time `json:"at"`
	Feature string    `json:"feature"`
	Paths   []string  `json:"paths"`
	// AsTheyAre has them committed though the plan's may be outdated.
	AsTheyAre bool `json:"as_they_are,omitempty"`
}

type keepDocsResult struct {
	commitResult
	// Outdated says that nothing was committed, because a person has changed the plan.
	Outdated *outdated `json:"outdated,omitempty"`
}

// keepDocsTool commits the documents of the phases, at their own paths.
func (s *workshop) keepDocsTool() troupe.Tool {
	return onSite(s, toolKeepDocs, "Commits the documents of the phases.", func(ctx context.Context, o *openSite, in keepDocsRequest) (out keepDocsResult, err error) {
		out.state = in.state
		if plan, err := s.readEdited(o.session); err == nil && plan.Outdated != nil && !in.AsTheyAre {
			out.Outdated = plan.Outdated
			return out, nil
		}
		if out.state, err = o.find(ctx, in.state, in.At); err != nil {
			return out, err
		}
		tree, err := o.worktree.Tree(ctx, out.Tree)
		if err != nil {
			return out, err
		}
		var writes []edit.Write
		for _, name := range in.Paths {
			content, err := s.readDocument(o.session, name)
			if err != nil || edit.CheckPath(name) != "" || !edit.IsText(content) {
				continue
			}
			old, exists, err := tree.File(name)
			if err != nil {
				return out, err
			}
			if ignored, _ := tree.Ignored(name); ignored || exists && (old.Content == content || old.Mode != "100644") {
				continue
			}
			writes = append(writes, edit.Write{Path: name, Content: content, Mode: "100644"})
		}
		if writes == nil {
			return out, nil
		}
		if out.Tree, err = tree.With(writes); err != nil {
			return out, err
		}
		message := "docs: specification of " + strings.ReplaceAll(in.Feature, "-", " ") + "\n\n" + o.trailer("documents")
		if out.Commit, err = o.worktree.Commit(ctx, out.Tree, out.Head, message, in.At); err != nil {
			return out, err
		}
		out.Head = out.Commit
		return out, o.become(ctx, out.Tree)
	})
}

type knowledgeRequest struct {
	Question string `json:"question"`
	Limit    int    `json:"limit"`
}

type passage struct {
	Document string `json:"document"`
	Text     string `json:"text"`
}

type knowledgeResult struct {
	Passages []passage `json:"passages"`
}

// knowledgeTool asks the knowledge base on behalf of discovery.
func knowledgeTool(knowledgeFor func(user string) Knowledge) troupe.Tool {
	return troupe.NewToolWithCall(toolKnowledge, "Looks up passages in the knowledge base.", func(ctx context.Context, call *troupe.Invocation, in knowledgeRequest) (knowledgeResult, error) {
		base := knowledgeFor(call.User)
		out := knowledgeResult{Passages: []passage{}}
		if base == nil {
			return out, errors.New("there is no knowledge base")
		}
		found, err := base.Query(ctx, in.Question, in.Limit)
		for _, p := range found {
			out.Passages = append(out.Passages, passage{p.Document, clipText(p.Text, 2000)})
		}
		return out, err
	}, troupe.RepeatSafe(), troupe.Timeout(uploadTime))
}
