package pipeline_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/tool/approve"
)

// A person who is to be asked about commits is asked about those of a delivery too, and
// nothing is committed without them.
func TestRulesApplyToWhatADeliveryDoesItself(t *testing.T) {
	y := shellYard(t)
	y.config.Repository.Sandbox.Level = "off"
	guarded := map[string]bool{}
	policy := approve.Policy{{Tool: "commit_step", Do: approve.Ask}}
	y.config.Guard = func(tools ...troupe.Tool) []troupe.Tool {
		for _, tool := range tools {
			guarded[tool.Spec().Name] = true
		}
		return policy.Tools(tools...)
	}
	report, end, err := y.run(nil)
	for asked := 0; err == nil && report == nil; asked++ {
		if end.Stop != "input_requested" || !strings.HasPrefix(end.Output.Summary, "May I call commit_step with these arguments?") || asked > 9 {
			t.Fatalf("it stopped for %s: %s", end.Stop, end.Output.Summary)
		}
		if log := y.sh("git log --all --format=%s"); asked == 0 && strings.Contains(log, "First") {
			t.Errorf("committed before anybody was asked: %s", log)
		}
		report, end, err = y.say("yes")
	}
	if err != nil || report.Outcome != pipeline.OutcomeDelivered {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, e := range y.events() {
		if b, ok := e.Body.(*troupe.ToolCalled); ok && b.Tool != "gate" && !guarded[b.Tool] {
			t.Errorf("no rule is asked about %s", b.Tool)
		}
	}

	y.config.Guard = approve.Policy{{Tool: "write_artifact", Do: approve.Deny}}.Tools
	if r, _, err := y.run(nil); err == nil && r.Outcome == pipeline.OutcomeDelivered && len(y.warnings("artifact_failed")) == 0 {
		t.Error("what may not be written was written")
	}
}
