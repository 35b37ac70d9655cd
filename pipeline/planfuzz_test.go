package pipeline

import (
	"strings"
	"testing"
)

// Whatever somebody has written into the document of a plan, amending it keeps each line that is not
// of a step, and ends; and what of it is a step is a part of it.
func FuzzAmendDocument(f *testing.F) {
	f.Add("# Plan\n\n## Step 1: One\n\nA\n\n### Step 2 needs this\n\n```\n## Step 2\n```\n\n## Step 2: Two\n\nB\n\n## Risks\n", "A\nB")
	f.Add("- **1**: One\n~~~\n", "")
	f.Add("1. One\r\n2. Two\r\n", "")
	was := []PlanStep{{ID: "1", Title: "One", Goal: "Do one."}, {ID: "2", Title: "Two", Goal: "Do two."}}
	now := []PlanStep{{ID: "2", Title: "Two", Goal: "Other."}, {ID: "3", Title: "Three", Goal: "New."}}
	f.Fuzz(func(t *testing.T, text, made string) {
		amended := amendDocument(text, true, made, was, now)
		for n := range 4 {
			if part := stepOf(text, n); !strings.Contains(text, part) {
				t.Errorf("step %d is %q", n, part)
			}
		}
		if marks := marksOf(text, was); marks != nil && !strings.HasPrefix(amended, strings.TrimRight(text[:marks[0].at], "\n")) {
			t.Errorf("what is above the steps is not there: %q became %q", text, amended)
		}
		for _, s := range planFromText(text).Steps {
			if !strings.Contains(text, s.Goal) {
				t.Errorf("the goal %q is none of %q", s.Goal, text)
			}
		}
	})
}
