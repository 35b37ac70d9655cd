package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// named returns the tool of that name.
func named(t testing.TB, tools []troupe.Tool, name string) troupe.Tool {
	t.Helper()
	for _, tool := range tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatal("there is no tool", name)
	return nil
}

type step struct {
	tool      string
	arguments object
	class     string
	want      string
}

func follow(t *testing.T, tools []troupe.Tool, steps []step) {
	t.Helper()
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		for _, s := range steps {
			if got, class := call(ctx, run, named(t, tools, s.tool), s.arguments); got != s.want || class != s.class {
				t.Errorf("%s %v: class %q\n got %s\nwant %s", s.tool, s.arguments, class, got, s.want)
			}
		}
		return nil
	})
}

func TestOneDirectoryHasPlainNames(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "notes.md", "hello\n")
	put(t, dir, "routes/{id}.tsx", "export ${x}\n")
	put(t, dir, ".env", canary)
	tools, err := Dir(dir, workspace.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	follow(t, tools, []step{
		{"list_files", object{}, "", `{"success":true,"path":".","entries":[{"name":"notes.md","type":"file","size":6},{"name":"routes","type":"directory","size":0}]}`},
		{"list_files", object{"path": "routes/"}, "", `{"success":true,"path":"routes/","entries":[{"name":"{id}.tsx","type":"file","size":12}]}`},
		{"read_file", object{"file_path": "notes.md"}, "", `{"success":true,"path":"notes.md","content":"hello\n","size":6}`},
		{"read_file", object{"file_path": "./routes/../notes.md"}, "", `{"success":true,"path":"./routes/../notes.md","content":"hello\n","size":6}`},
		{"read_file", object{"file_path": "routes/{id}.tsx"}, "", `{"success":true,"path":"routes/{id}.tsx","content":"export ${x}\n","size":12}`},
		{"search_files", object{"pattern": "hello|x"}, "",
			`{"success":true,"matches":2,"files":[{"path":"notes.md","lines":["1:hello"]},{"path":"routes/{id}.tsx","lines":["1:export ${x}"]}]}`},
		{"write_file", object{"file_path": "src/main.go", "content": "package x\n"}, "", `{"success":true,"path":"src/main.go","size":10,"created":true}`},
		{"edit_file", object{"file_path": "src/main.go", "edits": []replacement{{"x", "main"}}}, "", `{"success":true,"path":"src/main.go","size":13,"lines":[1]}`},
		{"make_directory", object{"path": "empty"}, "", `{"success":true,"path":"empty"}`},

		{"read_file", object{"file_path": "gone.md"}, "not_found", `{"success":false,"error":"read gone.md: not found","path":"gone.md"}`},
		{"read_file", object{"file_path": "{session-folder}/x.md"}, "not_found", `{"success":false,"error":"read {session-folder}/x.md: not found","path":"{session-folder}/x.md"}`},
		{"read_file", object{"file_path": "."}, "not_found", `{"success":false,"error":"read .: not a regular file","path":"."}`},
		{"read_file", object{"file_path": "/etc/passwd"}, "unauthorized",
			`{"success":false,"error":"Security violation: Access denied: resolve /etc/passwd: it is absolute; name files by relative paths","path":"/etc/passwd"}`},
		{"read_file", object{"file_path": "a/../../b"}, "unauthorized",
			`{"success":false,"error":"Security violation: Access denied: resolve a/../../b: it leads out of what you may use","path":"a/../../b"}`},
		{"read_file", object{"file_path": ".env"}, "unauthorized",
			`{"success":false,"error":"Security violation: Access denied: read .env: keys, .env, .git and the like stay closed","path":".env"}`},
		{"write_file", object{"file_path": "", "content": "x"}, "failed", `{"success":false,"error":"resolve : not found: the path is empty"}`},
		{"write_file", object{"file_path": "Notes.md", "content": "x"}, "invalid_arguments",
			`{"success":false,"error":"write Notes.md: name not allowed: it differs from notes.md only in case or Unicode form","path":"Notes.md"}`},
		{"read_file", object{"file_path": strings.Repeat("{", 1000)}, "failed",
			`{"success":false,"error":"resolve ` + strings.Repeat("{", 200) + `...: too large: the path is too long","path":"` + strings.Repeat("{", 1000) + `"}`},
	})
}

func TestWhatIsSavedInADirectoryIsOnRecordByItsPlainName(t *testing.T) {
	tools, err := Dir(t.TempDir(), workspace.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	saved := inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		call(ctx, run, named(t, tools, "write_file"), object{"file_path": "docs/plan.md", "content": "# Plan\n"})
		call(ctx, run, named(t, tools, "edit_file"), object{"file_path": "docs/plan.md", "edits": []replacement{{"# Plan", "# The plan"}}})
		return nil
	})
	if len(saved) != 2 || saved[1].Path != "docs/plan.md" || saved[1].Size != 11 || saved[1].Description != "The plan" || saved[0].SHA256 == saved[1].SHA256 {
		t.Errorf("on record are %+v", saved)
	}
}

func TestSeveralRootsAreNamedFirst(t *testing.T) {
	w := newWorld(t)
	tools, err := Roots(
		workspace.Root{Name: "Docs", Dir: w.bundle, Access: workspace.ReadOnly},
		workspace.Root{Name: "my work", Dir: w.session, Access: workspace.ReadWrite},
	)
	if err != nil {
		t.Fatal(err)
	}
	follow(t, tools, []step{
		{"list_files", object{}, "", `{"success":true,"path":".","entries":[{"name":"Docs","type":"directory","size":0},{"name":"my work","type":"directory","size":0}]}`},
		{"list_files", object{"path": "my work"}, "", `{"success":true,"path":"my work","entries":[{"name":"notes.md","type":"file","size":8}]}`},
		{"read_file", object{"file_path": "Docs/config.yaml"}, "", `{"success":true,"path":"Docs/config.yaml","content":"user_name: Ada\n","size":15}`},
		{"write_file", object{"file_path": "my work/a.md", "content": "Ada"}, "", `{"success":true,"path":"my work/a.md","size":3,"created":true}`},
		{"search_files", object{"pattern": "Ada", "glob": "*.{md,yaml}"}, "",
			`{"success":true,"matches":2,"files":[{"path":"Docs/config.yaml","lines":["1:user_name: Ada"]},{"path":"my work/a.md","lines":["1:Ada"]}]}`},
		{"write_file", object{"file_path": "Docs/a.md", "content": "x"}, "unauthorized",
			`{"success":false,"error":"Security violation: Access denied: write Docs/a.md: writing to Docs is not granted","path":"Docs/a.md"}`},
		{"read_file", object{"file_path": "a.md"}, "not_found",
			`{"success":false,"error":"resolve a.md: not found: a path begins with the name of a folder: Docs (read only), my work","path":"a.md"}`},
		{"read_file", object{"file_path": "Docs/../../x"}, "unauthorized",
			`{"success":false,"error":"Security violation: Access denied: resolve Docs/../../x: it leads out of what you may use","path":"Docs/../../x"}`},
	})
}

// An agent hears of a session folder only if it has one.
func TestDescriptionsFitWhatTheAgentHas(t *testing.T) {
	one, err := Dir(t.TempDir(), workspace.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Roots(workspace.Root{Name: "docs", Dir: t.TempDir(), Access: workspace.ReadOnly}, workspace.Root{Name: "src", Dir: t.TempDir(), Access: workspace.ReadWrite})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range append(one, two...) {
		spec := tool.Spec()
		if text := spec.Description + string(spec.Input) + string(spec.Output); strings.Contains(text, "session") || strings.Contains(text, "bundle") || strings.Contains(text, "-root") {
			t.Errorf("%s: %s", spec.Name, text)
		}
	}
	for _, tool := range two {
		if !strings.Contains(tool.Spec().Description, "docs (read only), src") {
			t.Errorf("%s does not say what there is: %s", tool.Spec().Name, tool.Spec().Description)
		}
	}
	for _, tool := range []troupe.Tool{Read(nil), Save(nil), List(nil), Write(nil), MakeDir(nil), Edit(nil), Search(nil)} {
		if !strings.Contains(tool.Spec().Description, "{session-folder}") {
			t.Errorf("%s does not say where: %s", tool.Spec().Name, tool.Spec().Description)
		}
	}
}

func TestADirectoryToReadHasNoToolsThatWrite(t *testing.T) {
	tools, err := Dir(t.TempDir(), workspace.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if !tool.Spec().ReadOnly {
			t.Errorf("%s writes", tool.Spec().Name)
		}
	}
	if len(tools) != 3 {
		t.Errorf("there are %d tools", len(tools))
	}
}

func TestRootsThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	for want, open := range map[string]func() ([]troupe.Tool, error){
		"open root your folder: there is no such directory": func() ([]troupe.Tool, error) { return Dir(filepath.Join(dir, "gone"), workspace.ReadOnly) },
		"open root docs: there is no such directory": func() ([]troupe.Tool, error) {
			return Roots(workspace.Root{Name: "docs", Dir: filepath.Join(dir, "gone"), Access: workspace.ReadOnly})
		},
		"no root may be read: set its access to workspace.ReadOnly or workspace.ReadWrite": func() ([]troupe.Tool, error) { return Dir(dir, workspace.NoAccess) },
		"no root is given": func() ([]troupe.Tool, error) { return Roots() },
		`root "a/b": its name must be one element of a path`: func() ([]troupe.Tool, error) {
			return Roots(workspace.Root{Name: "a/b", Dir: dir, Access: workspace.ReadOnly})
		},
		`root "a": named twice`: func() ([]troupe.Tool, error) {
			return Roots(workspace.Root{Name: "a", Dir: dir, Access: workspace.ReadOnly}, workspace.Root{Name: "a", Dir: dir, Access: workspace.ReadOnly})
		},
	} {
		if tools, err := open(); err == nil || err.Error() != want || tools != nil {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}

// M5 of what models do: a stray space around a path.
func TestStraySpacesAroundAPathMeanNothing(t *testing.T) {
	w := newWorld(t)
	put(t, w.session, "spaced ", "with a space")
	put(t, w.session, "spaced", "without")
	find := w.open(t)
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		for path, want := range map[string]string{
			" notes.md":                       "Grüße\n",
			"notes.md\n":                      "Grüße\n",
			"\t{bundle-root}/config.yaml  ":   "user_name: Ada\n",
			"spaced ":                         "with a space",
			" spaced":                         "without",
			"  {session-folder}/../notes.md ": "",
		} {
			got, _ := call(ctx, run, Read(find), object{"file_path": path})
			var out readResult
			if err := json.Unmarshal([]byte(got), &out); err != nil || out.Content != want {
				t.Errorf("%q: %s", path, got)
			}
		}
		call(ctx, run, Write(find), object{"file_path": " new.md ", "content": "x"})
		call(ctx, run, MakeDir(find), object{"path": " dir "})
		call(ctx, run, Edit(find), object{"file_path": " new.md ", "edits": []replacement{{"x", "y"}}})
		return nil
	})
	if content, err := os.ReadFile(filepath.Join(w.session, "new.md")); string(content) != "y" {
		t.Errorf("new.md is %q, %v", content, err)
	}
	if _, err := os.Stat(filepath.Join(w.session, "dir")); err != nil {
		t.Error(err)
	}
}
