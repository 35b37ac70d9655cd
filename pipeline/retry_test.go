package pipeline_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
)

func knowledgeOf(name, content string) knowledge.Document {
	return knowledge.Document{Name: name, Content: content, Key: name}
}

// retry processes again what failed in a session.
func retry(t *testing.T, w *world, s *session) (*troupe.RunFinished, error) {
	t.Helper()
	step, err := pipeline.Retry(w.config())
	if err != nil {
		t.Fatal(err)
	}
	return s.gather(s.engine.Run(t.Context(), step, troupe.Input{
		Session: s.id, Text: "retry", Custom: map[string]any{"artifacts": pipeline.Failed(s.events())},
	}))
}

func TestOnlyWhatFailedIsProcessedAgain(t *testing.T) {
	w := newWorld(t)
	w.shelf.failing = 2 // what discovery asks, and the upload
	w.answer = func(phase, prompt string) string {
		answer := output(phase)
		if phase == "requirements" {
			answer["artifacts"].([]object)[0]["path"] = "blocked/r.md"
		}
		return encode(answer)
	}
	mustWrite(t, w.output, "blocked", "a file where a directory must be")
	s, end := mustEnd(t, deliver(t, w.config()))
	failed := pipeline.Failed(s.events())
	if len(failed) != 2 || failed[0].Act != "write" || failed[1].Act != "upload" || failed[1].Type != pipeline.ArtifactKnowledge ||
		!strings.Contains(failed[1].Reason, "is down") || failed[1].Content != plan {
		t.Fatalf("got %s", encode(failed))
	}
	if sum := pipeline.Summarize(s.events()); end.Output.Meta.Status != "partial" || sum.Success || sum.Metrics.ArtifactSuccess != 3.0/5 || s.codes()["artifact_failed"] != 2 {
		t.Errorf("got %s, warned %v", encode(sum), s.codes())
	}
	asked := len(w.prompts())
	w.shelf.failing = 1
	if end, err := retry(t, w, s); err != nil || end.Output.Meta.Status != "partial" || end.Output.Summary != "2 artifacts processed again, 2 of them failed" || len(pipeline.Failed(s.events())) != 2 {
		t.Errorf("it is down, but: %+v, %v", end, err)
	}
	w.remove("blocked")
	if end, err := retry(t, w, s); err != nil || end.Output.Meta.Status != "success" || end.Output.Summary != "2 artifacts processed again, 0 of them failed" {
		t.Errorf("got %+v, %v", end, err)
	}
	if left := pipeline.Failed(s.events()); left != nil || w.files()["blocked/r.md"] != "# requirements\n" {
		t.Errorf("left: %s", encode(left))
	}
	for key, n := range w.shelf.uploads {
		if n != 1 {
			t.Errorf("%s was uploaded %d times", key, n)
		}
	}
	if len(w.shelf.uploads) != 1 || len(w.prompts()) != asked {
		t.Errorf("uploads %v, %d more requests", w.shelf.uploads, len(w.prompts())-asked)
	}
	sum := pipeline.Summarize(s.events())
	if sum.Metrics.ArtifactSuccess != 1 || len(sum.Phases) != 5 || sum.Request != request {
		t.Errorf("got %s", encode(sum))
	}
}

// A retry is told what to process, so that one that is killed goes on with the same.
func TestARetryThatIsKilledAnywhereGoesOn(t *testing.T) {
	w := newWorld(t)
	w.shelf.failing = 3
	w.answer = func(phase, prompt string) string {
		answer := output(phase)
		if phase == "qa" {
			answer["artifacts"] = append(answer["artifacts"].([]object), object{"name": "q.md", "path": "q.md", "content": "q", "type": "gkchatty"})
		}
		return encode(answer)
	}
	s, _ := mustEnd(t, deliver(t, w.config()))
	begun := len(s.events())
	if _, err := retry(t, w, s); err != nil {
		t.Fatal(err)
	}
	log := s.events()
	for cut := begun + 2; cut < len(log); cut++ {
		again := newWorld(t)
		again.become(log[:cut], true)
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), s.id, log[:cut]...); err != nil {
			t.Fatal(err)
		}
		step, err := pipeline.Retry(again.config())
		if err != nil {
			t.Fatal(err)
		}
		resumed := &session{t: t, store: store, engine: newEngine(t, store), id: s.id}
		if _, err := resumed.gather(resumed.engine.Resume(t.Context(), step, s.id)); err != nil {
			t.Fatalf("cut after %d: %v", cut, err)
		}
		if left := pipeline.Failed(resumed.events()); left != nil || len(again.shelf.uploads) != 2 {
			t.Errorf("cut after %d (%s): left %s, uploads %v", cut, log[cut-1].Kind(), encode(left), again.shelf.uploads)
		}
	}
}

func TestWhatSucceededNeedsNoRetry(t *testing.T) {
	w := newWorld(t)
	s, _ := mustEnd(t, deliver(t, w.config()))
	if failed := pipeline.Failed(s.events()); failed != nil {
		t.Errorf("got %s", encode(failed))
	}
	end, err := retry(t, w, s)
	if err != nil || !strings.Contains(end.Output.Summary, "0 artifacts") {
		t.Errorf("got %+v, %v", end, err)
	}
}

// An upload that came through although nobody heard of it is the same upload when it
// is tried again.
func TestAnUploadThatCameThroughUnheardIsNotMadeTwice(t *testing.T) {
	w := newWorld(t)
	w.shelf.late = true
	s, _ := mustEnd(t, deliver(t, w.config()))
	w.shelf.late = false
	if end, err := retry(t, w, s); err != nil || end.Output.Meta.Status != "success" {
		t.Errorf("got %+v, %v", end, err)
	}
	if len(w.shelf.documents) != 1 {
		t.Errorf("the knowledge base has %d documents", len(w.shelf.documents))
	}
}
