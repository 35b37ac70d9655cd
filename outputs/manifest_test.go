package outputs

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

func TestAManifestReadsAsTheSpecificationSays(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	start := &troupe.RunStarted{Input: troupe.Handoff{Custom: map[string]any{
		"user": "Bryan", "related_sessions": []string{id(2), "../evil", id(1), id(2)},
	}}}
	appendTo(t, f, id(1), 1, start, &troupe.UserSaid{Text: "  Hello,\n<world> & all  "},
		&troupe.ArtifactSaved{Path: "{session-folder}/a.md", Type: "report", Description: "A"},
		&troupe.ArtifactSaved{Path: "{session-folder}/a.md", Type: "report", Description: "A, again"},
		&troupe.ArtifactSaved{Path: "{project-root}/docs/b.bin", Type: "nonsense"},
		&troupe.ArtifactSaved{Path: "/etc/passwd"},
		ended())
	want := `{
  "agent": {
    "bundle": "chat",
    "name": "alex",
    "title": "alex"
  },
  "displayName": "Nov 15 12:00p - Hello, <world> & all",
  "displayTimestamp": "Nov 15 12:00p",
  "execution": {
    "completed_at": "2026-11-15T12:00:07Z",
    "started_at": "2026-11-15T12:00:01Z",
    "status": "completed",
    "user": "Bryan"
  },
  "inputs": {},
  "messageCount": 2,
  "metadata": {},
  "outputs": [
    {
      "created_at": "2026-11-15T12:00:03Z",
      "description": "A",
      "file": "a.md",
      "type": "report"
    },
    {
      "created_at": "2026-11-15T12:00:05Z",
      "description": "{project-root}/docs/b.bin",
      "file": "{project-root}/docs/b.bin",
      "type": "artifact"
    }
  ],
  "related_sessions": [
    "00000000-0000-4000-8000-000000000002"
  ],
  "session_id": "00000000-0000-4000-8000-000000000001",
  "userSummary": "Hello, <world> & all",
  "version": "1.0.0",
  "workflow": {
    "description": "Interactive chat conversation",
    "name": "chat"
  }
}
`
	if got := string(manifestOf(t, f, id(1))); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for name, perm := range map[string]os.FileMode{"": 0o700, manifestFile: 0o600} {
		if info, err := os.Stat(fileIn(t, f, id(1), name)); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%q: %v, %v; want %v", name, info.Mode(), err, perm)
		}
	}
}

func TestUnknownFieldsAndOutputsOfOthersAreKept(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, append(begun("hi"), &troupe.ArtifactSaved{Path: "{session-folder}/a.md"})...)
	put(t, fileIn(t, f, id(1), manifestFile), `{"version":"1.7.0","session_id":"`+id(1)+`","messages":[{"n":12345678901234567890}],
		"agent":{"name":"x","icon":"🧙"},"execution":{"completed_at":"2026-01-01T00:00:00Z","cost":0.10},
		"outputs":[{"file":"other.md","type":"data","description":"by hand","created_at":"2026-01-01T00:00:00Z","size":7},{"file":"../../x"},{"file":"a.md","tag":1}],
		"related_sessions":["`+id(9)+`"],"metadata":{"custom_field":"value"}}`)
	appendTo(t, f, id(1), 4, &troupe.ArtifactSaved{Path: "{session-folder}/c.md"})
	askFor(t, f, id(1))
	var got map[string]any
	if err := json.Unmarshal(manifestOf(t, f, id(1)), &got); err != nil {
		t.Fatal(err)
	}
	text := string(manifestOf(t, f, id(1)))
	for _, kept := range []string{`"n": 12345678901234567890`, `"icon": "🧙"`, `"cost": 0.10`, `"size": 7`, `"tag": 1`, id(9), `"custom_field": "value"`, `"version": "1.7.0"`, `"other.md"`, `"c.md"`, `"name": "alex"`} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is not in %s", kept, text)
		}
	}
	for _, gone := range []string{"completed_at", "../../x"} {
		if strings.Contains(text, gone) {
			t.Errorf("%s is in %s", gone, text)
		}
	}
}

// What a run of another process came to is not what the next one came to.
func TestAManifestSaysOfALaterRunWhatThatCameTo(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	first := keep(t, store, dir, Options{})
	failed := &troupe.RunFinished{Stop: "turns", Output: troupe.Handoff{Summary: "no", Meta: troupe.HandoffMeta{Status: "failed"}}}
	appendTo(t, first, id(1), 1, append(begun("hi"), failed)...)
	if m := load(t, first, id(1)); m.Execution.Outcome != "failed" || m.Execution.Stop != "turns" {
		t.Fatalf("the first run: %+v", m.Execution)
	}
	first.Close()
	second := keep(t, store, dir, Options{})
	appendTo(t, second, id(1), 4, append(begun("go on"), ended())...)
	if m := load(t, second, id(1)); m.Execution.Outcome != "" || m.Execution.Stop != "" || m.MessageCount != 4 {
		t.Errorf("the second run: %+v", m.Execution)
	}
}

func TestOutputsSavedByOtherMeansAreRegistered(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, append(begun("hi"), &troupe.ArtifactSaved{Path: "{session-folder}/a.md", Type: "document", Description: "A"})...)
	for _, o := range []Output{{File: "sub/b.csv", Type: "data", Description: "numbers"}, {File: "a.md", Type: "report", Description: "the final one"}} {
		if err := f.Register(t.Context(), id(1), o); err != nil {
			t.Fatal(err)
		}
	}
	appendTo(t, f, id(1), 4, ended())
	m := load(t, f, id(1))
	if len(m.Outputs) != 2 || m.Outputs[0].Description != "the final one" || m.Outputs[1].File != "sub/b.csv" || m.Outputs[1].CreatedAt.IsZero() {
		t.Errorf("outputs are %+v", m.Outputs)
	}
	for _, bad := range []struct {
		session string
		output  Output
	}{
		{id(2), Output{File: "a.md", Type: "data"}}, {"../x", Output{File: "a.md", Type: "data"}}, {id(1), Output{File: "../a.md", Type: "data"}},
		{id(1), Output{File: "/etc/passwd", Type: "data"}}, {id(1), Output{File: manifestFile, Type: "data"}}, {id(1), Output{File: "a.md", Type: "secret"}}, {id(1), Output{Type: "data"}},
	} {
		if err := f.Register(t.Context(), bad.session, bad.output); err == nil {
			t.Errorf("%+v was registered", bad)
		}
	}
	if again := load(t, f, id(1)); !reflect.DeepEqual(again, m) {
		t.Errorf("refused outputs changed the manifest to %+v", again)
	}
}

func TestAManifestThatAnAgentOverwroteIsPutRight(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	put(t, fileIn(t, f, id(1), manifestFile), `{"version":"1.0.0","session_id":"`+id(1)+`","execution":{"status":"completed","user":"root"},"note":"mine"}`)
	appendTo(t, f, id(1), 3, &troupe.ArtifactSaved{Path: "{session-folder}/manifest.json"})
	askFor(t, f, id(1))
	m := load(t, f, id(1))
	if m.Execution.Status != "running" || m.Execution.User != "User" || len(m.Outputs) != 0 {
		t.Errorf("the manifest says %+v", m)
	}
	if !strings.Contains(string(manifestOf(t, f, id(1))), `"note": "mine"`) {
		t.Error("the agent's own field is gone")
	}
}

func TestOutputsBeyondTheLimitAreCounted(t *testing.T) {
	r := record{session: id(1), options: &Options{}}
	for i, e := range told(id(1), 1, make([]troupe.Body, maxOutputs+3)...) {
		e.Body = &troupe.ArtifactSaved{Path: fmt.Sprintf("{session-folder}/%d.md", i)}
		r.note(&e)
	}
	if m := r.manifest; len(m.Outputs) != maxOutputs || m.Metadata["outputs_left_out"] != 3 {
		t.Errorf("%d outputs, metadata %v", len(m.Outputs), m.Metadata)
	}
}

func TestAnUnreadableWorkflowResultSaysNothing(t *testing.T) {
	for _, result := range []string{"", "[cut here", `{"workflow_name":3}`, `{"success":true}`, `{"workflow_name":"a","user_input":"text"}`} {
		r := record{session: id(1), options: &Options{}}
		for _, e := range told(id(1), 1, &troupe.RunStarted{}, &troupe.ToolReturned{Tool: "execute_workflow", Content: result}) {
			r.note(&e)
		}
		if name := r.manifest.Workflow.Name; name != "chat" && name != "a" || len(r.manifest.Inputs) != 0 {
			t.Errorf("%s made it %+v", result, r.manifest)
		}
	}
}

func FuzzManifestsOfAnyKindAreReadOrRefused(f *testing.F) {
	for _, seed := range []string{
		`{"version":"1.0.0","session_id":"` + id(1) + `","outputs":[{"file":"a","x":1}],"future":{"a":[1e400]}}`,
		`{"version":"1.0.0","session_id":"` + id(1) + `","agent":null,"execution":{"completed_at":"2026-01-01T00:00:00Z"}}`,
		`{"version":"2.0.0"}`, `[]`, `null`, `{`, "\xff", `{"version":"1.0.0","VERSION":"3"}`,
	} {
		f.Add(seed)
	}
	record := record{session: id(1), options: &Options{}}
	for _, e := range told(id(1), 1, append(begun("hi"), ended())...) {
		record.note(&e)
	}
	f.Fuzz(func(t *testing.T, content string) {
		object, err := parseAll(content, id(1))
		if err != nil {
			return
		}
		unknown := make(map[string]string)
		for key, value := range object {
			if !strings.Contains("version session_id agent workflow execution outputs inputs related_sessions metadata displayName displayTimestamp userSummary messageCount", key) {
				unknown[key] = fmt.Sprint(value)
			}
		}
		updated, err := record.manifest.over(object)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseAll(string(updated), id(1))
		if err != nil || again["execution"].(map[string]any)["status"] != "completed" {
			t.Fatalf("%s became %s: %v", content, updated, err)
		}
		for key, value := range unknown {
			if fmt.Sprint(again[key]) != value {
				t.Errorf("field %q was %s and is %v", key, value, again[key])
			}
		}
	})
}

func TestAManifestAloneIsWhatItIsOverNothing(t *testing.T) {
	m := Manifest{
		Version: manifestVersion, SessionID: id(1), Agent: Agent{Name: "a", Title: "<A> & co", Bundle: "b"}, Workflow: Workflow{Name: "w", Description: "d"},
		Execution: Execution{StartedAt: time.Date(2026, 1, 31, 1, 2, 3, 4, time.UTC), Status: "completed", User: "u"},
		Outputs:   []Output{{File: "a.md", Type: "report"}, {File: "/etc/passwd", Type: "data"}, {File: "a.md", Type: "data"}},
		Inputs:    map[string]any{"z": 1, "a": []any{"x", nil}}, RelatedSessions: []string{id(2), "", id(2)}, Metadata: map[string]any{"n": 1.5},
		DisplayName: "x", UserSummary: "é", MessageCount: 3,
	}
	for range 2 {
		alone, err := m.alone()
		over, failure := m.over(map[string]any{})
		if err != nil || failure != nil || string(alone) != string(over) {
			t.Errorf("alone it is %s, %v; over nothing %s, %v", alone, err, over, failure)
		}
		m.Execution.CompletedAt, m.Outputs, m.RelatedSessions, m.DisplayName = m.Execution.StartedAt, nil, nil, ""
	}
}
