package pipeline_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// blocked answers as a good agent does, but the architect is blocked until it has
// guidance.
func blocked(phase, prompt string) string {
	answer := output(phase)
	if phase == "architecture" && !strings.Contains(prompt, "use SQLite") {
		answer["next_phase"] = object{"ready": false, "blockers": []string{"which database?"}, "requirements": []string{"a decision"}}
	}
	return encode(answer)
}

func atClosedGate(t *testing.T) (*world, *session) {
	t.Helper()
	w := newWorld(t)
	w.answer = blocked
	s, end, err := begin(t, deliver(t, w.config()), nil)
	if err != nil || end.Stop != "input_requested" {
		t.Fatalf("got %+v, %v", end, err)
	}
	for _, part := range []string{"architecture", "which database?", "a decision", "go on with discovery"} {
		if !strings.Contains(end.Output.Summary, part) {
			t.Errorf("the question lacks %q: %s", part, end.Output.Summary)
		}
	}
	if got := pipeline.Summarize(s.events()); got.State != "waiting" || got.Question != end.Output.Summary || len(got.Phases) != 2 {
		t.Errorf("got %s", encode(got))
	}
	return w, s
}

// An agent that asks something in place of an answer is heard, and answered.
func TestWhatAnAgentAsksIsShown(t *testing.T) {
	w := newWorld(t)
	w.answer = func(phase, prompt string) string {
		if phase == "requirements" && !strings.Contains(prompt, "quite formal") {
			return "Should it be formal?\nOr informal?"
		}
		return encode(output(phase))
	}
	s, end, err := begin(t, deliver(t, w.config()), nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "It said:\n> Should it be formal?\n> Or informal?\n") {
		t.Fatalf("got %+v, %v", end, err)
	}
	if end, err := s.say("quite formal, please"); err != nil || end.Output.Meta.Status != "success" {
		t.Errorf("got %+v, %v", end, err)
	}
}

func TestAClosedGatePassesOnAYes(t *testing.T) {
	w, s := atClosedGate(t)
	end, err := s.say("Go on!")
	if err != nil || end.Output.Meta.Status != "success" || len(w.prompts()) != 5 {
		t.Errorf("got %+v, %v after %d requests", end, err, len(w.prompts()))
	}
}

func TestAClosedGateGivesGuidanceToThePhase(t *testing.T) {
	w, s := atClosedGate(t)
	end, err := s.say("Please use SQLite")
	if err != nil || end.Output.Meta.Status != "success" {
		t.Fatalf("got %+v, %v", end, err)
	}
	if prompt := w.prompt("architecture"); !strings.Contains(prompt, `"guidance": "Please use SQLite"`) {
		t.Errorf("the architect was not told: %s", prompt)
	}
	sum := pipeline.Summarize(s.events())
	if p := sum.Phases[1]; len(sum.Phases) != 5 || p.Name != "architecture" || p.Runs != 2 || p.Tokens != 30 {
		t.Errorf("got %s", encode(sum))
	}
}

func TestGuidanceIsBounded(t *testing.T) {
	w, s := atClosedGate(t)
	for range 3 {
		end, err := s.say("think harder")
		if err != nil || end.Stop != "input_requested" {
			t.Fatalf("got %+v, %v", end, err)
		}
	}
	end, err := s.say("think harder")
	if err != nil || end.Output.Meta.Status != "partial" || !strings.Contains(end.Output.Summary, "stopped by a person after architecture; what was written until then is kept") {
		t.Errorf("got %+v, %v", end, err)
	}
	if n := len(w.prompts()); n != 5 {
		t.Errorf("the models were asked %d times", n)
	}
}

func TestAStopEndsTheDeliveryAsPartial(t *testing.T) {
	w, s := atClosedGate(t)
	end, err := s.say("stop")
	if err != nil || end.Stop != "answered" || end.Output.Meta.Status != "partial" || len(w.prompts()) != 2 {
		t.Errorf("got %+v, %v", end, err)
	}
}

func TestManualApprovalShowsWhatChanged(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.Approve, c.To = pipeline.ApproveManual, "architecture"
	mustWrite(t, w.output, "specs/r.md", "# requirements\n\nold\n")
	w.answer = func(phase, prompt string) string {
		answer := output(phase)
		if phase == "requirements" {
			answer["artifacts"].([]object)[0]["path"] = "specs/r.md"
		}
		return encode(answer)
	}
	s, end, err := begin(t, deliver(t, c), nil)
	if err != nil || end.Stop != "input_requested" {
		t.Fatalf("got %+v, %v", end, err)
	}
	for _, part := range []string{"waits for approval", "specs/r.md (changed, 15 bytes)", "--- a/specs/r.md\n+++ b/specs/r.md\n@@ -1,3 +1,1 @@\n # requirements\n-\n-old\n"} {
		if !strings.Contains(end.Output.Summary, part) {
			t.Errorf("the question lacks %q: %s", part, end.Output.Summary)
		}
	}
	if end, err = s.say("yes"); err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "(created, ") {
		t.Fatalf("the second phase was not shown: %+v, %v", end, err)
	}
	if end, err = s.say("yes"); err != nil || end.Output.Meta.Status != "success" {
		t.Errorf("got %+v, %v", end, err)
	}
}
