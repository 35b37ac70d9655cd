package pipeline_test

import (
	"strings"
	"testing"
)

// An agent that makes the same call over and over is not asked once more: it would do the
// same again.
func TestABuilderThatRepeatsACallIsNotAskedAgain(t *testing.T) {
	y := shellYard(t).with("implementation", func(string, string, int) string { return `CALL list_files {}` })
	r := y.mustRun("failed")
	if !strings.Contains(r.Reasons[0], "it called tools again and again and gave no answer") {
		t.Errorf("the reasons are %q", r.Reasons)
	}
	if n := len(y.warnings("json_correction")); n != 0 {
		t.Errorf("it was asked %d times to correct an answer that it did not give", n)
	}
	if len(y.warnings("reply_missing")) == 0 {
		t.Error("nobody is warned")
	}
}
