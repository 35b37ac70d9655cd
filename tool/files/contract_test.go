package files

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestResultsAreWhatBundlesRelyOn(t *testing.T) {
	t.Attr("FR", "FR-006")
	denied := `"error":"Security violation: Access denied: `
	cases := []struct {
		name      string
		tool      func(Finder) troupe.Tool
		arguments object
		class     string
		want      string // the whole result, or its beginning where it ends with ...
	}{
		{"read", Read, object{"file_path": "{bundle-root}/config.yaml"}, "",
			`{"success":true,"path":"{bundle-root}/config.yaml","content":"user_name: Ada\n","size":15}`},
		{"read with another spelling of the variable", Read, object{"file_path": "{{BUNDLE_ROOT}}/config.yaml"}, "",
			`{"success":true,"path":"{{BUNDLE_ROOT}}/config.yaml","content":"user_name: Ada\n","size":15}`},
		{"read a plain name", Read, object{"file_path": "notes.md"}, "",
			`{"success":true,"path":"notes.md","content":"Grüße\n","size":8}`},
		{"read tags as they are", Read, object{"file_path": "{bundle-root}/templates/page.html"}, "",
			`{"success":true,"path":"{bundle-root}/templates/page.html","content":"<p>\"Tom & Ada\"</p>\n","size":19}`},
		{"read a part", Read, object{"file_path": "notes.md", "offset": 1, "limit": 4}, "",
			`{"success":true,"path":"notes.md","content":"rü","size":8,"truncated":true,"next_offset":4}`},
		{"read past the end", Read, object{"file_path": "notes.md", "offset": 99}, "",
			`{"success":true,"path":"notes.md","content":"","size":8,"note":"the file ends before this place"}`},
		{"read lines", Read, object{"file_path": "{bundle-root}/templates/lines.txt", "line": 2, "lines": 2}, "",
			`{"success":true,"path":"{bundle-root}/templates/lines.txt","content":"two\nthree\n","size":18,"truncated":true,"next_offset":14}`},
		{"read from a line on", Read, object{"file_path": "{bundle-root}/templates/lines.txt", "line": 3}, "",
			`{"success":true,"path":"{bundle-root}/templates/lines.txt","content":"three\nfour","size":18}`},
		{"read the first lines", Read, object{"file_path": "{bundle-root}/templates/lines.txt", "lines": 1}, "",
			`{"success":true,"path":"{bundle-root}/templates/lines.txt","content":"one\n","size":18,"truncated":true,"next_offset":4}`},
		{"read a short line", Read, object{"file_path": "{bundle-root}/templates/short.txt", "line": 2, "lines": 1}, "",
			`{"success":true,"path":"{bundle-root}/templates/short.txt","content":"b\n","size":6,"truncated":true,"next_offset":4}`},
		{"read lines from an offset", Read, object{"file_path": "{bundle-root}/templates/lines.txt", "offset": 4, "lines": 1}, "",
			`{"success":true,"path":"{bundle-root}/templates/lines.txt","content":"two\n","size":18,"truncated":true,"next_offset":8}`},
		{"read more lines than there are", Read, object{"file_path": "{bundle-root}/templates/lines.txt", "line": 4, "lines": 100}, "",
			`{"success":true,"path":"{bundle-root}/templates/lines.txt","content":"four","size":18}`},
		{"read a line after the last", Read, object{"file_path": "{bundle-root}/templates/lines.txt", "line": 5}, "",
			`{"success":true,"path":"{bundle-root}/templates/lines.txt","content":"","size":18,"note":"the file ends before this place"}`},
		{"read from before the beginning", Read, object{"file_path": "notes.md", "offset": -1}, "failed",
			`{"success":false,"error":"read {session-folder}/notes.md: invalid argument: offset and limit are not negative","path":"notes.md"}`},
		{"read nothing there", Read, object{"file_path": "{bundle-root}/no.md"}, "not_found",
			`{"success":false,"error":"read {bundle-root}/no.md: not found","path":"{bundle-root}/no.md"}`},
		{"read outside", Read, object{"file_path": "{bundle-root}/../../../../../outside/canary.txt"}, "unauthorized",
			`{"success":false,` + denied + `resolve {bundle-root}/../../../../../outside/canary.txt: it leaves {bundle-root}","path":"{bundle-root}/../../../../../outside/canary.txt"}`},
		{"read an absolute path", Read, object{"file_path": "/etc/passwd"}, "unauthorized",
			`{"success":false,` + denied + `resolve /etc/passwd: it is absolute; begin with ...`},
		{"read what is not granted", Read, object{"file_path": "{project-root}/.env"}, "unauthorized",
			`{"success":false,` + denied + `read {project-root}/.env: reading {project-root} is not granted","path":"{project-root}/.env"}`},
		{"read an unknown variable", Read, object{"file_path": "{nowhere}/x.md"}, "invalid_arguments",
			`{"success":false,"error":"resolve {nowhere}/x.md: variable {nowhere} is unknown or empty; available variables: bundle-root, date, dotdot, output_folder, project-root, session-folder, session-id","path":"{nowhere}/x.md"}`},
		{"read a directory", Read, object{"file_path": "{bundle-root}"}, "not_found",
			`{"success":false,"error":"read {bundle-root}: not a regular file","path":"{bundle-root}"}`},

		{"save", Save, object{"file_path": "{session-folder}/a/b.md", "content": "ü\n"}, "",
			`{"success":true,"path":"{session-folder}/a/b.md","size":3}`},
		{"save a plain name", Save, object{"file_path": "b.md", "content": ""}, "",
			`{"success":true,"path":"b.md","size":0}`},
		{"save elsewhere", Save, object{"file_path": "{output_folder}/prd.md", "content": "x"}, "",
			`{"success":true,"path":"{session-folder}/docs/prd.md","size":1,"note":"you may not write to the place you named; the file was saved here instead"}`},
		{"save outside", Save, object{"file_path": "../x.md", "content": "x"}, "unauthorized",
			`{"success":false,` + denied + `resolve ../x.md: it leaves {session-folder}","path":"../x.md"}`},
		{"save under a bad name", Save, object{"file_path": "a\u202eb.md", "content": "x"}, "invalid_arguments",
			`{"success":false,"error":"write \"a\\u202eb.md\": name not allowed: ...`},
		{"save over a directory", Save, object{"file_path": "{session-folder}", "content": "x"}, "failed",
			`{"success":false,"error":"write {session-folder}: not a regular file: it is a directory","path":"{session-folder}"}`},

		{"write a new file", Write, object{"file_path": "{{SESSION_FOLDER}}/a/b.md", "content": "ü\n"}, "",
			`{"success":true,"path":"{{SESSION_FOLDER}}/a/b.md","size":3,"created":true}`},
		{"write over a file", Write, object{"file_path": "notes.md", "content": ""}, "",
			`{"success":true,"path":"notes.md","size":0,"created":false}`},
		{"write over a link", Write, object{"file_path": "link", "content": ""}, "",
			`{"success":true,"path":"link","size":0,"created":false}`},
		{"write elsewhere", Write, object{"file_path": "{output_folder}/prd.md", "content": "x"}, "",
			`{"success":true,"path":"{session-folder}/docs/prd.md","size":1,"note":"you may not write to the place you named; the file was saved here instead","created":true}`},
		{"write outside", Write, object{"file_path": "../x.md", "content": "x"}, "unauthorized",
			`{"success":false,` + denied + `resolve ../x.md: it leaves {session-folder}","path":"../x.md"}`},
		{"write nowhere", Write, object{"content": "x"}, "failed",
			`{"success":false,"error":"resolve : not found: the path is empty"}`},
		{"write over a directory", Write, object{"file_path": "{session-folder}", "content": "x"}, "failed",
			`{"success":false,"error":"write {session-folder}: not a regular file: it is a directory","path":"{session-folder}"}`},
		{"write too much", Write, object{"file_path": "big", "content": strings.Repeat("x", 10<<20+1)}, "failed",
			`{"success":false,"error":"write {session-folder}/big: too large: ...`},

		{"make a directory", MakeDir, object{"path": "{session_folder}/a/b"}, "", `{"success":true,"path":"{session_folder}/a/b"}`},
		{"make a directory that exists", MakeDir, object{"path": "{session-folder}"}, "", `{"success":true,"path":"{session-folder}"}`},
		{"make a directory elsewhere", MakeDir, object{"path": "{output_folder}/a"}, "",
			`{"success":true,"path":"{session-folder}/docs/a","note":"you may not write to the place you named; the directory was made here instead"}`},
		{"make a directory outside", MakeDir, object{"path": "/tmp/a"}, "unauthorized",
			`{"success":false,` + denied + `resolve /tmp/a: it is absolute; begin with ...`},
		{"make a directory of a file", MakeDir, object{"path": "notes.md"}, "failed",
			`{"success":false,"error":"write {session-folder}/notes.md: not a directory","path":"notes.md"}`},
		{"make a directory of a bad name", MakeDir, object{"path": "a/nul"}, "invalid_arguments",
			`{"success":false,"error":"write nul: name not allowed: it is reserved on Windows","path":"a/nul"}`},

		{"list what matches where there is no folder yet", List, object{"path": "{session-folder}/plans/*prd*.md"}, "",
			`{"success":true,"path":"{session-folder}/plans/*prd*.md","entries":[]}`},
		{"list", List, object{"path": "{bundle-root}"}, "",
			`{"success":true,"path":"{bundle-root}","entries":[{"name":"config.yaml","type":"file","size":15},{"name":"templates","type":"directory","size":0}]}`},
		{"list the session", List, object{}, "",
			`{"success":true,"path":"{session-folder}","entries":[{"name":"link","type":"link","size":0},{"name":"notes.md","type":"file","size":8}]}`},
		{"list outside", List, object{"path": "{session-folder}/.."}, "unauthorized",
			`{"success":false,` + denied + `resolve {session-folder}/..: it leaves {session-folder}","path":"{session-folder}/.."}`},
		{"list a file", List, object{"path": "notes.md"}, "not_found",
			`{"success":false,"error":"list {session-folder}/notes.md: not a directory","path":"notes.md"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if err := os.Symlink("notes.md", filepath.Join(w.session, "link")); err != nil {
				t.Fatal(err)
			}
			tool := c.tool(w.open(t))
			inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
				got, class := call(ctx, run, tool, c.arguments)
				beginning, open := strings.CutSuffix(c.want, "...")
				if class != c.class || got != c.want && !(open && strings.HasPrefix(got, beginning)) {
					t.Errorf("%v of class %q\n got %s\nwant %s", c.arguments, class, got, c.want)
				}
				if !json.Valid([]byte(got)) {
					t.Errorf("not JSON: %s", got)
				}
				return nil
			})
		})
	}
}

func TestSavedFilesGoOnRecord(t *testing.T) {
	t.Attr("FR", "FR-006")
	w := newWorld(t)
	find := w.open(t)
	const content = "---\na: b\n---\n\n## The Plan\nx"
	want := troupe.ArtifactSaved{
		Path: "{session-folder}/docs/prd.md", Size: int64(len(content)), Type: "document", Description: "The Plan",
		SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
	}
	for _, tool := range []troupe.Tool{Save(find), Write(find)} {
		saved := inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
			call(ctx, run, tool, object{"file_path": "{{SESSION_FOLDER}}/docs/prd.md", "content": content})
			call(ctx, run, tool, object{"file_path": "../refused.md", "content": "x"})
			return nil
		})
		if len(saved) != 1 || *saved[0] != want {
			t.Errorf("%s: on record is %+v; want %+v", tool.Spec().Name, saved, want)
		}
	}
}

func TestToolsAreSafeToRepeatAndDescribed(t *testing.T) {
	for name, tool := range map[string]troupe.Tool{
		"read_file": Read(nil), "save_output": Save(nil), "list_files": List(nil), "write_file": Write(nil), "make_directory": MakeDir(nil),
		"edit_file": Edit(nil), "search_files": Search(nil),
	} {
		spec := tool.Spec()
		reads := name == "read_file" || name == "list_files" || name == "search_files"
		if spec.Name != name || spec.RepeatSafe != (name != "edit_file") || spec.ReadOnly != reads || len(spec.Description) < 100 || len(spec.Input) == 0 {
			t.Errorf("spec of %s is %+v", name, spec)
		}
	}
}

func TestHostPathsInTheCauseStayInTheLog(t *testing.T) {
	w := newWorld(t)
	tool := Read(w.open(t))
	inRun(t, otherSession, func(ctx context.Context, run *troupe.Run) error {
		got, class := call(ctx, run, tool, object{"file_path": "notes.md"})
		if want := `{"success":false,"error":"the files of this session are not available at the moment"}`; got != want || class != "failed" {
			t.Errorf("class %s: %s", class, got)
		}
		return nil
	})
}

func TestErrorsThatAreNotOfTheWorkspaceStayInTheLog(t *testing.T) {
	cause := errors.New("disk /dev/sda1 at /srv/data is on fire")
	err := failure(cause, "notes.md")
	told, ok := errors.AsType[*troupe.ToolError](err)
	if !ok || strings.Contains(told.Content, "/srv") || !errors.Is(err, cause) {
		t.Errorf("the model is told %+v", err)
	}
}

func TestNothingIsSavedOnceTheCallIsOver(t *testing.T) {
	w := newWorld(t)
	tool := Save(w.open(t))
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		over, cancel := context.WithCancel(ctx)
		cancel()
		_, err := tool.Call(over, &troupe.Invocation{Run: run, Arguments: []byte(`{"file_path":"late.md","content":"x"}`)})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return nil
	})
	if _, err := os.Stat(filepath.Join(w.session, "late.md")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file was saved:", err)
	}
}

func TestArtifactsAreTypedAndDescribed(t *testing.T) {
	for _, c := range []struct{ name, content, kind, description string }{
		{"prd.md", "# PRD\n", "document", "PRD"},
		{"a/qa-report.md", "text", "report", "qa-report.md"},
		{"Code Review.TXT", "#hash\n####### seven\n##\n###   Three  \n", "report", "Three"},
		{"reporter.md", "", "document", "reporter.md"},
		{"data.json", "# not a heading", "data", "data.json"},
		{"main.go", "# not a heading", "artifact", "main.go"},
		{"long.md", "# " + strings.Repeat("ü", 100), "document", strings.Repeat("ü", 60)},
	} {
		if kind := artifactType(c.name); kind != c.kind {
			t.Errorf("%s is a %s; want %s", c.name, kind, c.kind)
		}
		if got := describe(c.name, c.content); got != c.description {
			t.Errorf("%s is described as %q; want %q", c.name, got, c.description)
		}
	}
}
