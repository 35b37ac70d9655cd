package outputs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// beginAt stores the first events of a session that begins at minute n.
func beginAt(t testing.TB, store troupe.Store, n int, agent, workflow string, bodies ...troupe.Body) {
	t.Helper()
	loaded := &troupe.ToolReturned{Tool: "execute_workflow", Content: fmt.Sprintf(`{"workflow_name":%q}`, workflow)}
	events := told(id(n), 1, append(append(begun("hi"), loaded), bodies...)...)
	for i := range events {
		events[i].Agent = agent
		events[i].Time = events[i].Time.Add(time.Duration(n) * time.Minute)
	}
	if err := store.Append(t.Context(), id(n), events...); err != nil {
		t.Fatal(err)
	}
}

func TestSessionsAreFoundNewestFirst(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	beginAt(t, f, 2, "casey", "deep-dive-app", ended())
	beginAt(t, f, 1, "alex", "intake", ended())
	beginAt(t, f, 4, "casey", "deep-dive-itsm", &troupe.RunFailed{})
	beginAt(t, f, 3, "alex", "deep-dive-app")
	own(t, f, id(3))
	for _, c := range []struct {
		filter Filter
		want   []string
	}{
		{Filter{}, []string{id(4), id(3), id(2), id(1)}},
		{Filter{Limit: 2}, []string{id(4), id(3)}},
		{Filter{Agent: "casey"}, []string{id(4), id(2)}},
		{Filter{Agent: "case"}, nil},
		{Filter{AgentLike: regexp.MustCompile("^a")}, []string{id(3), id(1)}},
		{Filter{Workflow: "deep-dive-app"}, []string{id(3), id(2)}},
		{Filter{WorkflowLike: regexp.MustCompile("^deep-dive-"), Status: "completed"}, []string{id(2)}},
		{Filter{Status: "running"}, []string{id(3)}},
		{Filter{Status: "interrupted"}, nil},
		{Filter{Status: "cancelled"}, nil},
	} {
		found, err := f.Find(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range found {
			got = append(got, m.SessionID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v found %v; want %v", c.filter, got, c.want)
		}
	}
}

func TestFindPutsRightWhatItMeetsAndSkipsWhatItCannotRead(t *testing.T) {
	var log journal
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{Log: log.logger()})
	beginAt(t, f, 1, "alex", "old")
	appendTo(t, store, id(1), 4, ended()) // and killed before the manifest was written
	beginAt(t, f, 2, "alex", "damaged", ended())
	put(t, fileIn(t, f, id(2), manifestFile), "{")
	put(t, fileIn(t, f, id(3), manifestFile), `{"version":"1.0.0","session_id":"`+id(3)+`","execution":{"status":"running","started_at":"2020-01-01T00:00:00Z"}}`)
	put(t, fileIn(t, f, id(4), manifestFile), "of a session that nobody knows")
	put(t, dir+"/notes.txt", "not a session")
	delete(f.live, id(1)) // as in another process
	found, err := f.Find(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.SessionID+" "+string(m.Execution.Status))
	}
	if want := []string{id(2) + " completed", id(1) + " completed", id(3) + " running"}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
	if load(t, f, id(1)).Execution.Status != "completed" || load(t, f, id(2)).Workflow.Name != "damaged" {
		t.Error("the manifests on disk are not put right")
	}
	if content := manifestOf(t, f, id(4)); string(content) != "of a session that nobody knows" {
		t.Errorf("a manifest that cannot be made again became %s", content)
	}
	if log.count("manifest not read") != 1 {
		t.Errorf("the log says %s", log.text.String())
	}
}

func TestConcurrentWritersLeaveManifestsThatAgreeWithTheLog(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	const sessions, writers, rounds = 8, 4, 12
	var wg sync.WaitGroup
	for n := range sessions {
		appendTo(t, f, id(n), 1, begun("hi")...)
		for w := range writers {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(n), uint64(w)))
				for i := 0; i < rounds; {
					bodies := []troupe.Body{ended(), &troupe.RunStarted{}, &troupe.RunFailed{}, &troupe.ArtifactSaved{Path: fmt.Sprintf("{session-folder}/%d-%d.md", w, i)}}
					last := int64(0)
					for e, err := range store.Events(t.Context(), id(n), 0) {
						if err != nil {
							t.Error(err)
						}
						last = e.Seq
					}
					// Most lose against another writer and try again.
					if f.Append(t.Context(), id(n), told(id(n), last+1, bodies[random.IntN(len(bodies))])...) == nil {
						i++
					}
				}
			})
		}
	}
	wg.Go(func() {
		for range 20 {
			if _, err := f.Find(t.Context(), Filter{}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	fresh := keep(t, store, t.TempDir(), Options{})
	for n := range sessions {
		if err := fresh.refresh(t.Context(), id(n)); err != nil {
			t.Fatal(err)
		}
		askFor(t, f, id(n))
		got, want := load(t, f, id(n)), load(t, fresh, id(n))
		if got.Execution != want.Execution || len(got.Outputs) != len(want.Outputs) || got.MessageCount != want.MessageCount {
			t.Errorf("the manifest says %+v; the log says %+v", got, want)
		}
	}
}

func TestFewRecordsAreKeptAtHandAndTheOthersReadAgain(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	const extra = 5
	for n := range maxLive + extra {
		f.letGo(f.hold(id(n)))
	}
	if len(f.live) > maxLive {
		t.Errorf("%d records are kept; want at most %d", len(f.live), maxLive)
	}
	appendTo(t, f, id(1), 1, begun("hi")...)
	delete(f.live, id(1))
	appendTo(t, f, id(1), 3, ended())
	if m := load(t, f, id(1)); m.UserSummary != "hi" || m.Execution.Status != "completed" || m.MessageCount != 2 {
		t.Errorf("the manifest says %+v", m)
	}
}

func TestARecordInUseIsNotDropped(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	for n := range maxLive {
		f.hold(id(n))
	}
	f.letGo(f.hold(id(maxLive)))
	for n := range maxLive {
		if f.live[id(n)] == nil {
			t.Fatalf("the record of session %d is gone: the session would have two", n)
		}
	}
}

func TestEventsThatComeLateTakeNothingBack(t *testing.T) {
	store := troupe.NewMemoryStore()
	f := keep(t, store, t.TempDir(), Options{})
	events := told(id(1), 1, append(begun("hi"), ended())...)
	if err := store.Append(t.Context(), id(1), events...); err != nil {
		t.Fatal(err)
	}
	r := f.hold(id(1))
	for _, stored := range [][]troupe.Event{events[2:], events[:2]} {
		if err := f.follow(t.Context(), r, stored); err != nil {
			t.Fatal(err)
		}
	}
	if m := load(t, f, id(1)); m.Execution.Status != "completed" || m.MessageCount != 2 {
		t.Errorf("the manifest says %+v", m)
	}
}

func TestKeepNeedsADirectory(t *testing.T) {
	file := t.TempDir() + "/file"
	put(t, file, "")
	if _, err := Keep(troupe.NewMemoryStore(), file, Options{}); err == nil || !strings.HasPrefix(err.Error(), "keep outputs: ") {
		t.Errorf("a file serves as directory: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// A conversation whose last answer asks something, or ends with a menu, waits for a person,
// although its run is over: in the manifest, in lists and for filters.
func TestAConversationThatEndsWithAQuestionWaits(t *testing.T) {
	store := troupe.NewMemoryStore()
	f := keep(t, store, t.TempDir(), Options{})
	says := func(text string) troupe.Body {
		return &troupe.RunFinished{Output: troupe.Handoff{Summary: text}}
	}
	beginAt(t, f, 1, "pm", "create-prd", says("Saved.\n\n[A] Advanced Elicitation [P] Party Mode [C] Continue"))
	beginAt(t, f, 2, "pm", "create-prd", says("What is it called?"))
	beginAt(t, f, 3, "pm", "create-prd", says("It is saved."))
	if m := load(t, f, id(1)); m.Execution.Status != "waiting" || m.Execution.CompletedAt.IsZero() {
		t.Errorf("the manifest says %+v", m.Execution)
	}
	find := func(status string) (found []string) {
		t.Helper()
		all, err := f.Find(t.Context(), Filter{Status: status})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			found = append(found, m.SessionID+" "+m.Execution.Status)
		}
		return found
	}
	if got, want := find("waiting"), []string{id(2) + " waiting", id(1) + " waiting"}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
	if got, want := find("completed"), []string{id(3) + " completed"}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
	// What was said since counts, also where the folder has not heard of it.
	later := told(id(2), 5, append(begun("Lantern"), says("Noted."))...)
	for i := range later {
		later[i].Agent, later[i].Time = "pm", later[i].Time.Add(time.Hour)
	}
	if err := store.Append(t.Context(), id(2), later...); err != nil {
		t.Fatal(err)
	}
	if got, want := find("waiting"), []string{id(1) + " waiting"}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
}

// What a run says of work that is not done is in the manifest, until the next run begins.
func TestAManifestSaysWhatIsNotDone(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	for i, c := range []struct{ status, stop, wantStop, want string }{
		{"success", "answered", "", ""}, {"partial", "answered", "", "partial"}, {"failed", "answered", "", "failed"},
		{"partial", "empty", "empty", "partial"}, {"partial", "input_requested", "", ""},
	} {
		beginAt(t, f, i+1, "panel", "", &troupe.RunFinished{Stop: c.stop, Output: troupe.Handoff{Summary: "So it is.", Meta: troupe.HandoffMeta{Status: c.status}}})
		if m := load(t, f, id(i+1)); m.Execution.Stop != c.wantStop || m.Execution.Outcome != c.want {
			t.Errorf("after %s, %s the manifest says %+v", c.status, c.stop, m.Execution)
		}
	}
}

// A session's title is what people have given it, in its manifest, too, and wherever that is
// read from while the file is behind.
func TestARenamedSessionIsListedByItsTitle(t *testing.T) {
	const title = "Laptops for the new office in Lyon, all of them"
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	appendTo(t, f, id(1), 1, append(begun("I need to purchase\n10 laptops"), ended())...)
	late := told(id(1), 4, &troupe.SessionRenamed{Title: title})
	late[0].Run, late[0].Agent = "", ""
	if err := store.Append(t.Context(), id(1), late...); err != nil { // which the folders do not hear of
		t.Fatal(err)
	}
	v, err := Look(store, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for name, find := range map[string]func(context.Context, Filter) ([]Manifest, error){"a view": v.Find, "its keeper": f.Find} {
		if found, err := find(t.Context(), Filter{}); err != nil || len(found) != 1 || found[0].UserSummary != title || !strings.HasSuffix(found[0].DisplayName, " - "+title) {
			t.Errorf("%s finds %+v, %v", name, found, err)
		}
	}
	appendTo(t, f, id(1), 5, &troupe.SessionRenamed{Title: "Lyon"})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, id(1), manifestFile))
	if err != nil || !strings.Contains(string(data), `"userSummary": "Lyon"`) {
		t.Errorf("%s %v", data, err)
	}
}
