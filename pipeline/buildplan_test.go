package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/knowledge"
)

// passages is a knowledge base that finds the same whatever is asked.
type passages []knowledge.Passage

func (p passages) Upload(context.Context, knowledge.Document) error { return nil }
func (p passages) Query(_ context.Context, question string, limit int) ([]knowledge.Passage, error) {
	if question != "todo app step 2" || limit != maxPassages {
		return nil, fmt.Errorf("asked for %d of %q", limit, question)
	}
	return slices.Clone(p), nil
}

func TestAStepIsFoundAmongPassages(t *testing.T) {
	part := func(document, heading, text string) knowledge.Passage {
		return knowledge.Passage{Document: document, Heading: heading, Text: text}
	}
	own, below, other := part("plans/p.md", "", "## Step 2: Page\nDo it."), part("p.md", "Plan > Step 2: Page", "More of it."), part("other.md", "", "## Step 2: Wrong")
	for name, c := range map[string]struct {
		base passages
		plan string
		want planStep
	}{
		"nothing":                     {nil, "", planStep{Step: 2}},
		"its own passage":             {passages{part("p.md", "", "## Step 1: Model"), own}, "", planStep{Step: 2, Passage: "## Step 2: Page\nDo it.", Found: true, Source: "plans/p.md"}},
		"with what is below it":       {passages{below, own}, "specs/p.md", planStep{Step: 2, Passage: "## Step 2: Page\nDo it.\n\nMore of it.", Found: true, Source: "plans/p.md"}},
		"the first that has it":       {passages{own, part("p.md", "", "## Step 2: Again")}, "", planStep{Step: 2, Passage: "## Step 2: Page\nDo it.", Found: true, Source: "plans/p.md"}},
		"of the plan alone":           {passages{other, own}, "specs/p.md", planStep{Step: 2, Passage: "## Step 2: Page\nDo it.", Found: true, Source: "plans/p.md"}},
		"the nearest, if none is":     {passages{part("p.md", "Plan", "Something."), below}, "", planStep{Step: 2, Passage: "Something.", Source: "p.md"}},
		"below another step":          {passages{own, part("p.md", "Plan > Step 3: x", "Not this.")}, "", planStep{Step: 2, Passage: "## Step 2: Page\nDo it.", Found: true, Source: "plans/p.md"}},
		"below it, a step of its own": {passages{own, part("p.md", "Plan > Step 2: Page", "## Step 7: x")}, "", planStep{Step: 2, Passage: "## Step 2: Page\nDo it.", Found: true, Source: "plans/p.md"}},
	} {
		got, err := queryStep(t.Context(), c.base, planRequest{Feature: "todo-app", Step: 2, Plan: c.plan})
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if _, err := queryStep(t.Context(), nil, planRequest{}); err == nil || err.Error() != "there is no knowledge base" {
		t.Error(err)
	}
	if noteOf(nil) != "the knowledge base has no passage with this step" || noteOf(errors.New("down")) != "down" {
		t.Error("a note is another")
	}
}

func TestAPathOfHeadingsLeadsThroughAStep(t *testing.T) {
	for headings, want := range map[string]bool{"Plan > Step 2: Page > Details": true, "Step 2": true, "Plan > Step 12": false, "": false} {
		if got := isBelow(headings, 2); got != want {
			t.Errorf("%q: got %t", headings, got)
		}
	}
}

// An answer that lacks something is told all that is wrong with it, each thing once.
func TestAllThatIsWrongWithAnAnswerIsTold(t *testing.T) {
	c, _ := ContractOf("requirements")
	p, err := c.Parse(`Here it is: {"status": "success", "phase": "requirements", "outputs": {"scope": ["x"]}, "artifacts": [], "errors": []}`)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, problem := range p.Problems {
		if slices.Contains(all, problem.String()) {
			t.Errorf("%s is told twice", problem)
		}
		all = append(all, problem.String())
	}
	for _, part := range []string{"/next_phase: ", "/validation: ", "/outputs/user_stories: ", "/outputs/scope: "} {
		if !slices.ContainsFunc(all, func(text string) bool { return strings.HasPrefix(text, part) }) {
			t.Errorf("%s is not among %q", part, all)
		}
		if !strings.Contains(p.Correction, strings.TrimSuffix(part, ": ")) {
			t.Errorf("%s is not in %s", part, p.Correction)
		}
	}
}
