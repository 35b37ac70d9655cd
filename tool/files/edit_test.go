package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

const program = `package main

import "fmt"

func main() {
	fmt.Println("one")
	fmt.Println("two")
}
`

func TestEditsReplaceWhatIsThereOnce(t *testing.T) {
	cases := []struct {
		name, before string
		edits        []replacement
		after        string
		want         string // the result, or its beginning where it ends with ...
	}{
		{"one edit", program, []replacement{{`"one"`, `"three"`}}, strings.Replace(program, "one", "three", 1),
			`{"success":true,"path":"main.go","size":86,"lines":[6]}`},
		{"several, each seeing those before it", "a\nb\n", []replacement{{"a", "c\nd"}, {"d\nb", "e"}}, "c\ne\n",
			`{"success":true,"path":"main.go","size":4,"lines":[1,2]}`},
		{"delete", "a\nb\nc\n", []replacement{{"b\n", ""}}, "a\nc\n", `{"success":true,"path":"main.go","size":4,"lines":[2]}`},
		{"line ends of Windows", "a\r\nb\r\nc\r\n", []replacement{{"a\nb", "a\nx\nb"}}, "a\r\nx\r\nb\r\nc\r\n",
			`{"success":true,"path":"main.go","size":12,"lines":[1]}`},
		{"line ends that are mixed stay as they are", "a\r\nb\nc\n", []replacement{{"b\nc", "b\nx"}}, "a\r\nb\nx\n",
			`{"success":true,"path":"main.go","size":7,"lines":[2]}`},
		{"bytes that are not UTF-8 stay", "caf\xe9 one\n", []replacement{{"one", "two"}}, "caf\xe9 two\n",
			`{"success":true,"path":"main.go","size":9,"lines":[1]}`},

		{"not there", program, []replacement{{`fmt.Printn("one")`, "x"}}, program,
			`{"success":false,"error":"the search text is not in the file; nearest_lines shows what looks most like it; nothing was changed","path":"main.go","nearest_lines":["6:\tfmt.Println(\"one\")"]}`},
		{"other spaces", program, []replacement{{"func main() {\n  fmt.Println(\"one\")\n", "x"}}, program,
			`{"success":false,"error":"the search text is in the file only with other spaces, tabs or line breaks; nearest_lines shows them; nothing was changed","path":"main.go","nearest_lines":["5:func main() {","6:\tfmt.Println(\"one\")"]}`},
		{"a line that is missing", program, []replacement{{"\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"two\")\n", "x"}}, program,
			`{"success":false,"error":"the search text is not in the file; nearest_lines shows what looks most like it; nothing was changed","path":"main.go","nearest_lines":["3:import \"fmt\"","4:","5:func main() {","6:\tfmt.Println(\"one\")"]}`},
		{"nothing like it", program, []replacement{{"SELECT * FROM users", "x"}}, program,
			`{"success":false,"error":"the search text is not in the file, nor anything like it; nothing was changed","path":"main.go"}`},
		{"twice", program, []replacement{{"\tfmt.Println(", "x"}}, program,
			`{"success":false,"error":"the search text occurs 2 times; add lines around it until it can mean only one place; nothing was changed","path":"main.go","found_at_lines":[6,7]}`},
		{"overlapping", "aaa\n", []replacement{{"aa", "b"}}, "aaa\n",
			`{"success":false,"error":"the search text occurs 2 times; ...`},
		{"often", strings.Repeat("a\n", 1000), []replacement{{"a", "b"}}, strings.Repeat("a\n", 1000),
			`{"success":false,"error":"the search text occurs 20 times or more; ...`},
		{"the last of several does not fit", "a\nb\n", []replacement{{"a", "c\nd"}, {"b", "e"}, {"a", "f"}}, "a\nb\n",
			`{"success":false,"error":"edit 3 of 3: the search text is not in the file, nor anything like it; nothing was changed","path":"main.go"}`},
		{"lines of what is not written", "one line\nb\n", []replacement{{"b", "c\nanother line"}, {"nother lime", "e"}}, "one line\nb\n",
			`{"success":false,"error":"edit 2 of 2: the search text is not in the file; nearest_lines shows what looks most like it (lines as they would be after the edits before it); nothing was changed","path":"main.go","nearest_lines":["3:another line"]}`},
		{"nothing to search for", "a", []replacement{{"", "b"}}, "a",
			`{"success":false,"error":"the search text is empty; nothing was changed","path":"main.go"}`},
		{"nothing to change", "a", []replacement{{"a", "a"}}, "a",
			`{"success":false,"error":"search and replace are the same text; nothing was changed","path":"main.go"}`},
		{"no edit", "a", []replacement{}, "a", `{"success":false,"error":"there is no edit in this call","path":"main.go"}`},
		{"too many edits", "a", make([]replacement, 101), "a", `{"success":false,"error":"at most 100 edits are made in one call; nothing was changed","path":"main.go"}`},
		{"a binary file", "a\x00b", []replacement{{"a", "c"}}, "a\x00b",
			`{"success":false,"error":"this is a binary file; it cannot be edited","path":"main.go"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			put(t, w.session, "main.go", c.before)
			tool := Edit(w.open(t))
			saved := inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
				got, class := call(ctx, run, tool, object{"file_path": "main.go", "edits": c.edits})
				beginning, open := strings.CutSuffix(c.want, "...")
				want := "not_found"
				if strings.HasPrefix(c.want, `{"success":true`) {
					want = ""
				}
				if class != want || got != c.want && !(open && strings.HasPrefix(got, beginning)) {
					t.Errorf("class %q\n got %s\nwant %s", class, got, c.want)
				}
				return nil
			})
			after, err := os.ReadFile(filepath.Join(w.session, "main.go"))
			if err != nil || string(after) != c.after {
				t.Errorf("the file is %q, %v; want %q", after, err, c.after)
			}
			if changed := c.after != c.before; changed != (len(saved) == 1) {
				t.Errorf("on record are %d changes", len(saved))
			}
		})
	}
}

func TestEditsAreMadeOnlyWhereTheAgentMayWrite(t *testing.T) {
	w := newWorld(t)
	put(t, w.session, "docs/prd.md", "draft\n")
	find := w.open(t)
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		for path, want := range map[string]string{
			"{bundle-root}/config.yaml": `{"success":false,"error":"Security violation: Access denied: edit {bundle-root}/config.yaml: writing to {bundle-root} is not granted; save a changed copy instead","path":"{bundle-root}/config.yaml"}`,
			"config.yaml":               `{"success":false,"error":"Security violation: Access denied: edit {bundle-root}/config.yaml: writing to {bundle-root} is not granted; save a changed copy instead","path":"config.yaml"}`,
			"{output_folder}/prd.md":    `{"success":true,"path":"{session-folder}/docs/prd.md","size":4,"lines":[1],"note":"you may not write to the place you named; what you saved under that name earlier was changed here"}`,
			"gone.md":                   `{"success":false,"error":"read {session-folder}/gone.md: not found","path":"gone.md"}`,
			"../x.md":                   `{"success":false,"error":"Security violation: Access denied: resolve ../x.md: it leaves {session-folder}","path":"../x.md"}`,
		} {
			got, _ := call(ctx, run, Edit(find), object{"file_path": path, "edits": []replacement{{"user_name: Ada", "x"}}})
			if strings.Contains(want, "docs/prd.md") {
				got, _ = call(ctx, run, Edit(find), object{"file_path": path, "edits": []replacement{{"draft", "all"}}})
			}
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", path, got, want)
			}
		}
		return nil
	})
}

func TestEditsOfOneFileAtTheSameTimeAreAllMade(t *testing.T) {
	w := newWorld(t)
	find := w.open(t)
	const writers = 50
	var before, after strings.Builder
	for i := range writers {
		fmt.Fprintf(&before, "line <%d>\n", i)
		fmt.Fprintf(&after, "line [%d]\n", i)
	}
	put(t, w.session, "one.txt", before.String())
	var branches []func(context.Context, *troupe.Run) error
	for i := range writers {
		branches = append(branches, func(ctx context.Context, run *troupe.Run) error {
			edits := []replacement{{fmt.Sprintf("<%d>", i), fmt.Sprintf("[%d]", i)}}
			got, _ := call(ctx, run, Edit(find), object{"file_path": "one.txt", "edits": edits})
			if !strings.HasPrefix(got, `{"success":true`) {
				return errors.New(got)
			}
			return nil
		})
	}
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		return errors.Join(run.All(ctx, 0, branches...)...)
	})
	if content, err := os.ReadFile(filepath.Join(w.session, "one.txt")); err != nil || string(content) != after.String() {
		t.Errorf("changes were lost: %s %v", content, err)
	}
}

// That the test ends within its time is what it shows: a text of lines that are all
// the same is the worst case for finding what looks most like another.
func TestTheNearestLinesOfAHugeFileAreFoundInLinearTime(t *testing.T) {
	same := strings.Repeat("the same line\n", 50_000)
	wrong := notFound(same, strings.Repeat("the same line\n", 2000)+"another")
	if len(wrong.nearest) != mostNearest {
		t.Errorf("shown are %q", wrong.nearest)
	}
	if wrong = notFound(same, "the samt lines"); len(wrong.nearest) != 1 || wrong.nearest[0] != "1:the same line" {
		t.Errorf("shown are %q", wrong.nearest)
	}
}

func FuzzEditsAreExact(f *testing.F) {
	f.Add("a\nb\nc", "b", "x")
	f.Add("a\r\nb\r\n", "a\nb", "b\na")
	f.Add("\xff\x00\n\n", "\n", "")
	f.Fuzz(func(t *testing.T, text, search, replace string) {
		changed, lines, err := apply(text, []replacement{{search, replace}})
		if wrong, ok := errors.AsType[*mismatch](err); ok {
			if !json.Valid([]byte(encode(failed{Error: wrong.text, Nearest: wrong.nearest}))) || len(wrong.nearest) > mostNearest {
				t.Errorf("told %+v", wrong)
			}
			return
		}
		e := replacement{search, replace}.withLineEndsOf(text)
		if strings.Replace(text, e.Search, e.Replace, 1) != changed || len(lines) != 1 || lines[0] < 1 {
			t.Errorf("%q became %q at %v", text, changed, lines)
		}
	})
}

func TestAFileOnlyToBeReadIsNotEdited(t *testing.T) {
	w := newWorld(t)
	tools, err := Roots(workspace.Root{Name: "docs", Dir: w.bundle, Access: workspace.ReadOnly},
		workspace.Root{Name: "out", Dir: w.session, Access: workspace.ReadWrite})
	if err != nil {
		t.Fatal(err)
	}
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		got, class := call(ctx, run, named(t, tools, "edit_file"), object{"file_path": "docs/config.yaml", "edits": []replacement{{"Ada", "Bob"}}})
		want := `{"success":false,"error":"Security violation: Access denied: write docs/config.yaml: writing to docs is not granted","path":"docs/config.yaml"}`
		if got != want || class != "unauthorized" {
			t.Errorf("class %q: %s", class, got)
		}
		return nil
	})
}
