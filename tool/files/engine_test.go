package files

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// A script is a model that asks for its turns' calls, one turn after the other,
// and then says that it is done.
type script [][]troupe.ToolCall

func (s script) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		turn := 0
		for _, m := range req.Messages {
			if m.Role == troupe.RoleAssistant {
				turn++
			}
		}
		if turn == len(s) {
			_ = yield(troupe.Chunk{Text: "done"}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
			return
		}
		for i := range s[turn] {
			if !yield(troupe.Chunk{Call: &s[turn][i]}, nil) {
				return
			}
		}
		yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}, nil)
	}
}

func asks(id, tool string, arguments object) troupe.ToolCall {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return troupe.ToolCall{ID: id, Name: tool, Arguments: string(data)}
}

// perform runs an agent with all the tools in the session and returns its events.
func perform(t *testing.T, ctx context.Context, store troupe.Store, find Finder, model troupe.Model) []troupe.Event {
	t.Helper()
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "ada", Model: model, Tools: []troupe.Tool{
		Read(find), Save(find), List(find), Write(find), MakeDir(find), Edit(find), Search(find),
	}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	var events []troupe.Event
	for event, err := range engine.Run(ctx, agent, troupe.Input{Session: session, Text: "go"}) {
		if err != nil {
			return events
		}
		if event.Seq > 0 {
			events = append(events, event)
		}
	}
	return events
}

func TestAnAgentListsSavesAndReads(t *testing.T) {
	t.Attr("FR", "FR-006")
	w := newWorld(t)
	events := perform(t, t.Context(), troupe.NewMemoryStore(), w.open(t), script{
		{asks("1", "list_files", object{})},
		{asks("2", "save_output", object{"file_path": "{session-folder}/plan.md", "content": "# Plan"})},
		{asks("3", "read_file", object{"file_path": "{session_folder}/plan.md"})},
		{asks("4", "make_directory", object{"path": "src"})},
		{asks("5", "write_file", object{"file_path": "src/main.go", "content": ""}), asks("6", "write_file", object{"file_path": "src/go.mod", "content": ""})},
	})
	var got []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case *troupe.ToolReturned:
			got = append(got, b.CallID+" "+string(b.Class)+" "+b.Content)
		case *troupe.ArtifactSaved:
			got = append(got, "saved "+b.Path)
		case *troupe.RunFinished:
			got = append(got, b.Output.Summary)
		}
	}
	slices.Sort(got) // two of the calls are made at the same time
	want := []string{
		`1  {"success":true,"path":"{session-folder}","entries":[{"name":"notes.md","type":"file","size":8}]}`,
		`2  {"success":true,"path":"{session-folder}/plan.md","size":6}`,
		`3  {"success":true,"path":"{session_folder}/plan.md","content":"# Plan","size":6}`,
		`4  {"success":true,"path":"src"}`,
		`5  {"success":true,"path":"src/main.go","size":0,"created":true}`,
		`6  {"success":true,"path":"src/go.mod","size":0,"created":true}`,
		`done`,
		`saved {session-folder}/plan.md`,
		`saved {session-folder}/src/go.mod`,
		`saved {session-folder}/src/main.go`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestWritersOfOneFileDoNotInterleave(t *testing.T) {
	w := newWorld(t)
	const writers = 16
	var calls []troupe.ToolCall
	for i := range writers {
		content := strings.Repeat(string(rune('a'+i)), 100_000)
		calls = append(calls, asks(fmt.Sprint(i), "save_output", object{"file_path": "one.txt", "content": content}),
			asks(fmt.Sprint("r", i), "read_file", object{"file_path": "one.txt"}))
	}
	events := perform(t, t.Context(), troupe.NewMemoryStore(), w.open(t), script{calls})
	saved := 0
	for _, e := range events {
		switch b := e.Body.(type) {
		case *troupe.ArtifactSaved:
			saved++
		case *troupe.ToolReturned:
			var out readResult
			if err := json.Unmarshal([]byte(b.Content), &out); err != nil {
				t.Fatal(err)
			}
			if out.Content != "" && out.Content != strings.Repeat(out.Content[:1], 100_000) {
				t.Errorf("a reader saw %d bytes of several writers", len(out.Content))
			}
		}
	}
	if saved != writers {
		t.Errorf("%d of %d files were saved", saved, writers)
	}
	content, err := os.ReadFile(filepath.Join(w.session, "one.txt"))
	if err != nil || string(content) != strings.Repeat(string(content[:1]), 100_000) {
		t.Errorf("the file has %d bytes: %v", len(content), err)
	}
}

func TestAFileThatWasWrittenIsOnRecordThoughTheRunWasStopped(t *testing.T) {
	w := newWorld(t)
	find := w.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopping := func(id string) (*workspace.Workspace, error) {
		cancel() // the tool is past its last look at the context
		return find(id)
	}
	store := troupe.NewMemoryStore()
	perform(t, ctx, store, stopping, script{{asks("1", "save_output", object{"file_path": "late.md", "content": "x"})}})
	if _, err := os.Stat(filepath.Join(w.session, "late.md")); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for event, err := range store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, event.Kind())
	}
	if text := fmt.Sprint(kinds); !strings.HasSuffix(text, "artifact_saved tool_returned run_cancelled]") {
		t.Errorf("the log reads %s", text)
	}
}

// M1 of what models do: looking for what may not be there closes nothing.
func TestFilesThatAreNotThereAreAnswersHoweverMany(t *testing.T) {
	w := newWorld(t)
	events := perform(t, t.Context(), troupe.NewMemoryStore(), w.open(t), script{
		{asks("1", "read_file", object{"file_path": "{bundle-root}/a.md"})},
		{asks("2", "read_file", object{"file_path": "{bundle-root}/b.md"})},
		{asks("3", "read_file", object{"file_path": "c.md"})},
		{asks("4", "edit_file", object{"file_path": "notes.md", "edits": []replacement{{"one", "two"}}})},
		{asks("5", "edit_file", object{"file_path": "notes.md", "edits": []replacement{{"two", "two"}}})},
		{asks("6", "edit_file", object{"file_path": "none.md", "edits": []replacement{{"two", "three"}}})},
		{asks("7", "edit_file", object{"file_path": "notes.md", "edits": []replacement{{"Grüße", "Hello"}}})},
		{asks("8", "read_file", object{"file_path": "notes.md"})},
	})
	var got []string
	for _, e := range events {
		if b, ok := e.Body.(*troupe.ToolReturned); ok {
			got = append(got, b.CallID+string(b.Class)+fmt.Sprint(strings.Contains(b.Content, `"success":true`)))
		}
	}
	want := []string{"1not_foundfalse", "2not_foundfalse", "3not_foundfalse", "4not_foundfalse", "5not_foundfalse", "6not_foundfalse", "7true", "8true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

// M2 and M3 of what models do: writing a file twice in one turn, reading it back and
// changing it in the same turn. What the model's order says is what happens.
func TestCallsOfOneTurnTakeEffectInOrder(t *testing.T) {
	w := newWorld(t)
	events := perform(t, t.Context(), troupe.NewMemoryStore(), w.open(t), script{{
		asks("1", "write_file", object{"file_path": "a.md", "content": strings.Repeat("long ", 1<<20)}),
		asks("2", "write_file", object{"file_path": "a.md", "content": "short"}),
		asks("3", "read_file", object{"file_path": "a.md"}),
		asks("4", "edit_file", object{"file_path": "a.md", "edits": []replacement{{"short", "shorter"}}}),
		asks("5", "search_files", object{"pattern": "shorter"}),
	}})
	got := make(map[string]string)
	for _, e := range events {
		if b, ok := e.Body.(*troupe.ToolReturned); ok {
			got[b.CallID] = b.Content
		}
	}
	if want := `{"success":true,"path":"a.md","content":"short","size":5}`; got["3"] != want {
		t.Errorf("read was %.200s", got["3"])
	}
	if want := `{"success":true,"matches":1,"files":[{"path":"{session-folder}/a.md","lines":["1:shorter"]}]}`; got["5"] != want {
		t.Errorf("found was %.200s", got["5"])
	}
}

// M5: the names that other programs' tools have for an argument are understood where they
// can mean one thing only.
func TestArgumentsByTheNamesOfOtherToolsAreUnderstood(t *testing.T) {
	w := newWorld(t)
	calls := []troupe.ToolCall{
		asks("write", "write_file", object{"path": "{session-folder}/a.md", "contents": "one <two> three"}),
		asks("flat", "edit_file", object{"path": "{session-folder}/a.md", "old_str": "one", "new_str": "1"}),
		asks("list", "edit_file", object{"filename": "{session-folder}/a.md", "edits": []object{{"old_text": "<two>", "new_text": "2"}, {"search": "1", "replace": "I"}}}),
		asks("saved", "save_output", object{"filePath": "{session-folder}/b.md", "text": "b"}),
		asks("made", "make_directory", object{"directory": "{session-folder}/c"}),
		asks("read", "read_file", object{"path": "{session-folder}/a.md"}),
		asks("listed", "list_files", object{"dir": "{session-folder}"}),
		// These could mean two things, or nothing.
		asks("both", "edit_file", object{"file_path": "{session-folder}/a.md", "path": "{session-folder}/b.md", "edits": []object{{"search": "I", "replace": "i"}}}),
		asks("two", "read_file", object{"path": "{session-folder}/a.md", "filename": "{session-folder}/b.md"}),
		asks("double", "edit_file", object{"path": "{session-folder}/a.md", "old_str": "I", "old_text": "2", "new_str": "x"}),
		asks("half", "edit_file", object{"path": "{session-folder}/a.md", "old_str": "I"}),
		asks("case", "read_file", object{"File_Path": "{session-folder}/a.md"}),
		asks("other", "read_file", object{"url": "{session-folder}/a.md"}),
	}
	events := perform(t, t.Context(), troupe.NewMemoryStore(), w.open(t), script{calls})
	for _, e := range events {
		r, ok := e.Body.(*troupe.ToolReturned)
		if !ok {
			continue
		}
		isWrong := slices.Contains([]string{"both", "two", "double", "half", "case", "other"}, r.CallID)
		if isWrong != (r.Class == "invalid_arguments") || !isWrong && r.Class != "" {
			t.Errorf("%s: %q %s", r.CallID, r.Class, r.Content)
		}
		if r.CallID == "read" && !strings.Contains(r.Content, "I 2 three") {
			t.Errorf("the file is %s", r.Content)
		}
		if r.CallID == "half" && !strings.Contains(r.Content, "edits") {
			t.Errorf("the names that there are: %s", r.Content)
		}
	}
}
