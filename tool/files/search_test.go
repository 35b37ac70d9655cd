package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

func TestSearchFindsLines(t *testing.T) {
	w := newWorld(t)
	put(t, w.session, "main.go", program)
	put(t, w.session, "docs/a/plan.md", "# Plan\n\nfmt is not a plan\r\n")
	put(t, w.session, "docs/{id}.md", "${HOME} fmt\n")
	put(t, w.session, "binary", "fmt\x00")
	put(t, w.session, "latin1.txt", "caf\xe9 fmt")
	put(t, w.session, "node_modules/x/fmt.js", "fmt\n")
	put(t, w.session, "long.txt", strings.Repeat("x", 10_000)+"needle"+strings.Repeat("y", 10_000)+"\n")
	put(t, w.session, "early.txt", strings.Repeat("x", 100)+"early"+strings.Repeat("y", 1000))
	put(t, w.session, "late.txt", strings.Repeat("x", 200)+"late"+strings.Repeat("y", 1000))
	put(t, w.session, "ten.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n")
	if err := os.Symlink("main.go", filepath.Join(w.session, "link.go")); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name      string
		arguments object
		class     string
		want      string
	}{
		{"all files", object{"pattern": `\bfmt\b`}, "", `{"success":true,"matches":6,"files":[` +
			`{"path":"{session-folder}/docs/a/plan.md","lines":["3:fmt is not a plan"]},` +
			`{"path":"{session-folder}/docs/{id}.md","lines":["1:${HOME} fmt"]},` +
			`{"path":"{session-folder}/latin1.txt","lines":["1:caf� fmt"]},` +
			`{"path":"{session-folder}/main.go","lines":["3:import \"fmt\"","6:\tfmt.Println(\"one\")","7:\tfmt.Println(\"two\")"]}]}`},
		{"one file", object{"pattern": "IMPORT", "path": "main.go", "ignore_case": true}, "",
			`{"success":true,"matches":1,"files":[{"path":"{session-folder}/main.go","lines":["3:import \"fmt\""]}]}`},
		{"context, in groups", object{"pattern": `^(3|4|9)$`, "path": "ten.txt", "context": 1}, "",
			`{"success":true,"matches":3,"files":[{"path":"{session-folder}/ten.txt","lines":["2-2","3:3","4:4","5-5","--","8-8","9:9","10-10"]}]}`},
		{"context that touches", object{"pattern": `^(3|6)$`, "path": "ten.txt", "context": 1}, "",
			`{"success":true,"matches":2,"files":[{"path":"{session-folder}/ten.txt","lines":["2-2","3:3","4-4","5-5","6:6","7-7"]}]}`},
		{"by name", object{"pattern": "fmt", "glob": "*.md"}, "", `{"success":true,"matches":2,"files":[` +
			`{"path":"{session-folder}/docs/a/plan.md","lines":["3:fmt is not a plan"]},{"path":"{session-folder}/docs/{id}.md","lines":["1:${HOME} fmt"]}]}`},
		{"by path", object{"pattern": "fmt", "glob": "docs/*/*.{md,txt}"}, "",
			`{"success":true,"matches":1,"files":[{"path":"{session-folder}/docs/a/plan.md","lines":["3:fmt is not a plan"]}]}`},
		{"where nobody looks by default", object{"pattern": "fmt", "path": "node_modules"}, "",
			`{"success":true,"matches":1,"files":[{"path":"{session-folder}/node_modules/x/fmt.js","lines":["1:fmt"]}]}`},
		{"up to a limit", object{"pattern": "fmt", "limit": 1, "glob": "*.go"}, "", `{"success":true,"matches":1,"files":[` +
			`{"path":"{session-folder}/main.go","lines":["3:import \"fmt\""]}],"truncated":true,"note":"there may be more than is shown; search a narrower path, glob or pattern"}`},
		{"the bundle", object{"pattern": "Ada", "path": "{bundle-root}"}, "", `{"success":true,"matches":2,"files":[` +
			`{"path":"{bundle-root}/config.yaml","lines":["1:user_name: Ada"]},{"path":"{bundle-root}/templates/page.html","lines":["1:<p>\"Tom & Ada\"</p>"]}]}`},
		{"no line", object{"pattern": "xyz", "glob": "*.go"}, "", `{"success":true,"matches":0,"files":[],"note":"no line matches in 1 files"}`},
		{"no file", object{"pattern": "xyz", "glob": "*.c"}, "", `{"success":true,"matches":0,"files":[],"note":"there was no text file to search"}`},
		{"part of a long line", object{"pattern": "needle"}, "",
			`{"success":true,"matches":1,"files":[{"path":"{session-folder}/long.txt","lines":["1:...` + strings.Repeat("x", 75) + "needle" + strings.Repeat("y", 216) + `..."]}]}`},
		{"the beginning of a long line", object{"pattern": "early", "path": "early.txt"}, "",
			`{"success":true,"matches":1,"files":[{"path":"{session-folder}/early.txt","lines":["1:` + strings.Repeat("x", 100) + "early" + strings.Repeat("y", 195) + `..."]}]}`},
		{"the middle of a long line", object{"pattern": "late", "path": "late.txt"}, "",
			`{"success":true,"matches":1,"files":[{"path":"{session-folder}/late.txt","lines":["1:...` + strings.Repeat("x", 75) + "late" + strings.Repeat("y", 218) + `..."]}]}`},
		{"nowhere", object{"pattern": "x", "path": "gone"}, "not_found",
			`{"success":false,"error":"resolve gone: not found: neither in the session folder nor in the bundle","path":"gone"}`},
		{"outside", object{"pattern": "x", "path": "../.."}, "unauthorized",
			`{"success":false,"error":"Security violation: Access denied: resolve ../..: it leaves {session-folder}","path":"../.."}`},
		{"not a regular expression", object{"pattern": "a("}, "invalid_arguments",
			"{\"success\":false,\"error\":\"pattern: error parsing regexp: missing closing ): `a(`\"}"},
		{"not a glob", object{"pattern": "a", "glob": "*.{go"}, "invalid_arguments",
			`{"success":false,"error":"glob: a { is not closed"}`},
		{"too long", object{"pattern": strings.Repeat("a", 1001)}, "invalid_arguments",
			`{"success":false,"error":"pattern and glob: at most 1000 bytes each"}`},
	}
	tool := Search(w.open(t))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
				if got, class := call(ctx, run, tool, c.arguments); got != c.want || class != c.class {
					t.Errorf("class %q\n got %s\nwant %s", class, got, c.want)
				}
				return nil
			})
		})
	}
}

func TestALongSearchIsCutToFit(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		put(t, w.session, fmt.Sprintf("%02d.txt", i), strings.Repeat(strings.Repeat("\x01", 290)+"x\n", 100))
	}
	tool := Search(w.open(t))
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		got, class := call(ctx, run, tool, object{"pattern": "x", "limit": 5000, "context": 1000})
		var out searchResult
		if err := json.Unmarshal([]byte(got), &out); err != nil || class != "" {
			t.Fatal(err, class)
		}
		if len(got) > 1<<20 || len(got) < 1<<19 || !out.Truncated {
			t.Errorf("%d bytes, %d matches, truncated %v", len(got), out.Matches, out.Truncated)
		}
		return nil
	})
}

func TestWhatIsListedOfAHugeDirectoryIsSearched(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		put(t, dir, fmt.Sprintf("%d.txt", i), "x\n")
	}
	ws, err := workspace.Open(workspace.Config{
		Roots:  []workspace.Root{{Name: workspace.SessionFolder, Dir: dir, Access: workspace.ReadOnly}},
		Limits: workspace.Limits{Entries: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	out, err := search(t.Context(), view{ws, variables{}}, nil, searchRequest{Pattern: "x"})
	if err != nil || out.Matches != 3 || !out.Truncated || out.Note == "" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestASearchEndsWithItsCall(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ws, err := w.open(t)(session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := search(ctx, view{ws, variables{}}, nil, searchRequest{Pattern: "x"}); err != context.Canceled {
		t.Error(err)
	}
}

// That the test ends within its time is what it shows.
func TestAnExpressionTakesLinearTime(t *testing.T) {
	w := newWorld(t)
	put(t, w.session, "a.txt", strings.Repeat("a", 1<<18))
	tool := Search(w.open(t))
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		if got, _ := call(ctx, run, tool, object{"pattern": "(a+)+$x", "path": "a.txt"}); !strings.HasPrefix(got, `{"success":true,"matches":0`) {
			t.Error(got)
		}
		return nil
	})
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob string
		fits []string
		not  []string
	}{
		{"*.go", []string{"a.go", "x/y/a.go"}, []string{"a.goo", "go"}},
		{"", []string{"a", "b/c"}, nil},
		{"./docs/*.md", []string{"docs/a.md"}, []string{"docs/x/a.md", "a.md"}},
		{"**/*.md", []string{"a.md", "x/a.md", "x/y/a.md"}, []string{"a.txt"}},
		{"src/**", []string{"src/a", "src/b/c"}, []string{"a/src/b"}},
		{"a?[0-9].txt", []string{"ab1.txt"}, []string{"a1.txt", "abc.txt"}},
		{"[!a]*", []string{"b"}, []string{"a"}},
		{"{a,b*}.{md,txt}", []string{"a.md", "bcd.txt"}, []string{"c.md", "a,b.md"}},
		{"a+(b).go", []string{"a+(b).go"}, []string{"aab.go"}},
	} {
		g, err := newGlob(c.glob)
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		for _, name := range c.fits {
			if !g.fits(name) {
				t.Errorf("%s does not fit %s", name, c.glob)
			}
		}
		for _, name := range c.not {
			if g.fits(name) {
				t.Errorf("%s fits %s", name, c.glob)
			}
		}
	}
	for _, bad := range []string{"{a", "[a", "[z-a]"} {
		if _, err := newGlob(bad); err == nil {
			t.Errorf("%s is taken for a glob", bad)
		}
	}
}

func FuzzGlobsAreGlobsOrRefused(f *testing.F) {
	f.Add("**/{a,b}*[!c]?.go", "x/a.go")
	f.Add("[]]\\", "]")
	f.Fuzz(func(t *testing.T, text, name string) {
		if g, err := newGlob(text); err == nil {
			g.fits(name)
		}
	})
}
