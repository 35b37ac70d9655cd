package pipeline_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
)

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.output, name)); err != nil {
		w.t.Fatal(err)
	}
}

// Cut a delivery's log at every event, and go on from there: each artifact is there
// once, each upload was made once, and no model is asked what it has answered. A
// call that was on its way may have come through or not.
func TestADeliveryThatIsKilledAnywhereGoesOn(t *testing.T) {
	w := newWorld(t)
	w.answer = blocked
	s, end, err := begin(t, deliver(t, w.config()), nil)
	if err != nil || end.Stop != "input_requested" {
		t.Fatalf("got %+v, %v", end, err)
	}
	if end, err = s.say("use SQLite"); err != nil {
		t.Fatal(err)
	}
	log := s.events()
	whole := delivered{w.files(), len(w.prompts()), end.Output.Summary, len(log)}
	if len(whole.files) != 5 || len(w.shelf.uploads) != 1 {
		t.Fatalf("it wrote %v", whole.files)
	}
	for cut := 2; cut < len(log); cut++ {
		for _, through := range []bool{false, true} {
			killedAt(t, log, cut, through, whole)
		}
	}
	t.Log(len(log), "events")
}

type delivered struct {
	files   map[string]string
	asked   int
	summary string
	events  int
}

func killedAt(t *testing.T, log []troupe.Event, cut int, through bool, whole delivered) {
	t.Helper()
	w := newWorld(t)
	w.answer = blocked
	w.become(log[:cut], through)
	store, id := troupe.NewMemoryStore(), log[0].Session
	if err := store.Append(t.Context(), id, log[:cut]...); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, store: store, engine: newEngine(t, store), step: deliver(t, w.config()), id: id}
	where := fmt.Sprintf("cut after %d (%s of %s), through %v", cut, log[cut-1].Kind(), log[cut-1].Agent, through)
	end, waits := log[cut-1].Body.(*troupe.RunFinished)
	if waits = waits && log[cut-1].Parent == ""; !waits {
		var err error
		if end, err = s.gather(s.engine.Resume(t.Context(), s.step, id)); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	if end.Stop == "input_requested" {
		var err error
		if end, err = s.say("use SQLite"); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	if end.Output.Summary != whole.summary {
		t.Errorf("%s: it came to %s", where, end.Output.Summary)
	}
	if got := w.files(); !maps.Equal(got, whole.files) {
		t.Errorf("%s: files %v", where, got)
	}
	for key, n := range w.shelf.uploads {
		if n != 1 || len(w.shelf.uploads) != 1 {
			t.Errorf("%s: %s was uploaded %d times", where, key, n)
		}
	}
	saved, replies := map[string]int{}, 0
	for _, e := range s.events() {
		switch b := e.Body.(type) {
		case *troupe.ArtifactSaved:
			saved[b.Path]++
		case *troupe.ModelReplied:
			replies++
		}
	}
	for name, n := range saved {
		// The architect was heard twice, and wrote the same document twice.
		if n != 1 && !(n == 2 && filepath.Base(filepath.Dir(name)) == "architecture") {
			t.Errorf("%s: %s was saved %d times", where, name, n)
		}
	}
	if replies != whole.asked || len(saved) != len(whole.files) {
		t.Errorf("%s: %d replies, want %d; %d artifacts", where, replies, whole.asked, len(saved))
	}
	if sum := pipeline.Summarize(s.events()); !sum.Success {
		t.Errorf("%s: %s", where, encode(sum))
	}
}

// become makes the world what a log says it is. What a call without an outcome did
// is done too if it came through.
func (w *world) become(log []troupe.Event, through bool) {
	w.t.Helper()
	type call struct{ run, step string }
	open := map[call]*troupe.ToolCalled{}
	do := func(c *troupe.ToolCalled) {
		var in struct{ Path, Content, SHA256, Key string }
		if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
			w.t.Fatal(err)
		}
		switch c.Tool {
		case "write_artifact":
			mustWrite(w.t, w.output, in.Path, in.Content)
		case "upload_artifact":
			err := w.shelf.Upload(w.t.Context(), knowledge.Document{Name: filepath.Base(in.Path), Content: plan, Key: in.Key})
			if err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for _, e := range log {
		switch b := e.Body.(type) {
		case *troupe.ToolCalled:
			open[call{e.Run, e.Step}] = b
		case *troupe.ToolReturned:
			if b.Class == "" {
				do(open[call{e.Run, e.Step}])
			}
			delete(open, call{e.Run, e.Step})
		}
	}
	if through {
		for _, c := range open {
			do(c)
		}
	}
}
