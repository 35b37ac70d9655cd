package troupetest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// scripted returns a script that shows a behaviour.
func scripted(t *testing.T, does troupetest.Behaviour) troupe.Model {
	turn := map[troupetest.Behaviour]troupetest.Turn{
		troupetest.Answering:   troupetest.Say("In ", "Norway, too."),
		troupetest.Calling:     troupetest.Call("lookup", `{"city":"Oslo"}`),
		troupetest.Failing:     troupetest.Fail(&troupe.ModelError{Status: 500}),
		troupetest.BreakingOff: troupetest.CutOff("In"),
		troupetest.Stalling:    troupetest.Say("In").Wait(time.Hour),
	}[does]
	return troupetest.NewScript(t, turn.Forever())
}

func TestScriptIsAModel(t *testing.T) { troupetest.TestModel(t, scripted) }

func TestMemoryStoreIsAStore(t *testing.T) {
	troupetest.TestStore(t, func(testing.TB) troupe.Store { return troupe.NewMemoryStore() })
}

func TestFileStoreIsDurable(t *testing.T) { troupetest.TestDurableStore(t, openFileStore) }

// openFileStore reads a memory store from a file; closing writes it back.
func openFileStore(tb testing.TB, dir string) (troupe.Store, func()) {
	file := filepath.Join(dir, "events.jsonl")
	store := troupe.NewMemoryStore()
	data, _ := os.ReadFile(file)
	for line := range bytes.Lines(data) {
		var e troupe.Event
		if err := json.Unmarshal(line, &e); err != nil {
			tb.Fatal(err)
		}
		if err := store.Append(tb.Context(), e.Session, e); err != nil {
			tb.Fatal(err)
		}
	}
	return store, func() {
		var out bytes.Buffer
		for info := range store.Sessions(tb.Context(), troupe.SessionFilter{}) {
			for e := range store.Events(tb.Context(), info.ID, 0) {
				if err := json.NewEncoder(&out).Encode(e); err != nil {
					tb.Fatal(err)
				}
			}
		}
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
