package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/workspace"
)

const toolPlan = "query_plan"

// maxPassages is how many passages are looked through for a step.
const maxPassages = 8

type planRequest struct {
	Feature string `json:"feature"`
	Step    int    `json:"step"`
	// Plan is the path of the plan in the output root, where that is known.
	Plan string `json:"plan,omitempty"`
	// Edited says that a person has changed it: what the knowledge base finds may be of
	// the plan as it was.
	Edited bool `json:"edited,omitempty"`
}

// A planStep is what is known of one step of a plan.
type planStep struct {
	Step int `json:"step"`
	// Passage is the step's own part of the plan, or what of the plan is nearest to it.
	Passage string `json:"passage,omitempty"`
	// Found says that the passage has the step's heading.
	Found  bool   `json:"found"`
	Source string `json:"source,omitempty"`
	// Note says why the knowledge base was not what answered.
	Note string `json:"note,omitempty"`
}

// planTool returns the tool query_plan, which looks up one step of a plan: in the
// knowledge base, or in the plan's file where that has no answer.
func planTool(knowledgeFor func(user string) Knowledge, output func(string) (*workspace.Workspace, error)) troupe.Tool {
	return troupe.NewToolWithCall(toolPlan, "Looks up one step of a plan.",
		func(ctx context.Context, call *troupe.Invocation, in planRequest) (planStep, error) {
			nearest, err := planStep{Step: in.Step, Note: "a person has changed the plan"}, error(nil)
			if !in.Edited {
				nearest, err = queryStep(ctx, knowledgeFor(call.User), in)
			}
			if err == nil && nearest.Found || in.Plan == "" {
				return nearest, err
			}
			ws, loc, failure := locate(output, call.Run.Session(), in.Plan)
			if failure == nil {
				var content string
				if content, failure = ws.ReadFile(loc); failure == nil {
					if passage := stepOf(content, in.Step); passage != "" {
						return planStep{Step: in.Step, Passage: passage, Found: true, Source: in.Plan, Note: cmp.Or(nearest.Note, noteOf(err))}, nil
					}
				}
			}
			if err != nil {
				return nearest, errors.Join(err, failure)
			}
			return nearest, nil
		}, troupe.RepeatSafe(), troupe.Timeout(uploadTime))
}

func noteOf(err error) string {
	if err == nil {
		return "the knowledge base has no passage with this step"
	}
	return err.Error()
}

// queryStep asks the knowledge base for one step.
func queryStep(ctx context.Context, base Knowledge, in planRequest) (planStep, error) {
	step := planStep{Step: in.Step}
	if base == nil {
		return step, errors.New("there is no knowledge base")
	}
	passages, err := base.Query(ctx, fmt.Sprintf("%s step %d", strings.ReplaceAll(in.Feature, "-", " "), in.Step), maxPassages)
	if err != nil {
		return step, err
	}
	passages = slices.DeleteFunc(passages, func(p knowledge.Passage) bool {
		return in.Plan != "" && path.Base(p.Document) != path.Base(in.Plan)
	})
	var parts []string // the one with the heading first
	for _, p := range passages {
		if text := stepOf(p.Text, in.Step); text != "" && !step.Found {
			parts, step.Found, step.Source = slices.Insert(parts, 0, text), true, p.Document
		} else if isBelow(p.Heading, in.Step) && lastStep(p.Text) == 0 {
			parts = append(parts, p.Text)
		}
	}
	switch {
	case step.Found:
		step.Passage = strings.Join(parts, "\n\n")
	case len(passages) > 0:
		step.Passage, step.Source = passages[0].Text, passages[0].Document
	}
	return step, nil
}

// isBelow reports whether a path of headings leads through a step.
func isBelow(headings string, n int) bool {
	for title := range strings.SplitSeq(headings, " > ") {
		if stepOf("# "+title, n) != "" {
			return true
		}
	}
	return false
}

// titleOf returns the first line of a passage without the marks of a heading.
func titleOf(passage string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(passage), "\n")
	line = strings.Trim(line, "#* ")
	if _, title, ok := strings.Cut(line, ":"); ok {
		line = strings.TrimSpace(title)
	}
	return strings.ToValidUTF8(line[:min(len(line), 120)], "")
}
