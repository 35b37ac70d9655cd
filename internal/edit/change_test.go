package edit

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// files is a tree in memory. What ends in .ignored is ignored.
type files map[string]File

func (f files) File(path string) (File, bool, error) { file, ok := f[path]; return file, ok, nil }
func (f files) Ignored(path string) (bool, error)    { return strings.HasSuffix(path, ".ignored"), nil }
func (f files) Paths() (list []string) {
	for p := range f {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

func repository() files {
	return files{
		"a.go": {"package a\n", "100644"}, "run.sh": {"#!/bin/sh\necho\n", "100755"}, "a_test.go": {"package a\n\nfunc TestA() {}\n", "100644"},
		"long.txt": {strings.Repeat("line\n", 40), "100644"}, "dos.txt": {"\ufeffa\r\nb\r\n", "100644"}, "no-end.txt": {"a\nb", "100644"},
		"link": {"a.go", "120000"}, "sub": {"", "160000"}, "bin.dat": {"\x00\x01", "100644"}, "Makefile": {"test:\n", "100644"}, "package.json": {"{\"scripts\":{\"test\":\"x\"},\"dependencies\":{}}\n", "100644"}, ".env": {"A=1\n", "100644"},
	}
}

func TestChanges(t *testing.T) {
	all := func(string, string) bool { return true }
	none := func(string, string) bool { return false }
	for _, c := range []struct {
		name, change string
		shown        func(string, string) bool
		want         string // path=content of the writes
		problem      string
	}{
		{"edit", `{"path":"a.go","type":"edit","edits":[{"search":"package a","replace":"package b"}]}`, all, "a.go=package b\n", ""},
		{"edit in other words", `{"path":"a.go","type":"edit","edits":[{"old_string":"package a","new_string":"package b"}]}`, all, "a.go=package b\n", ""},
		{"edit in yet other words", `{"path":"a.go","edits":[{"find":"package a","replace":"package b"}]}`, all, "a.go=package b\n", ""},
		{"edit keeps the mode", `{"path":"run.sh","type":"edit","edits":[{"search":"echo","replace":"ls"}]}`, all, "run.sh[100755]=#!/bin/sh\nls\n", ""},
		{"edit without search", `{"path":"a.go","type":"edit","edits":[{"replace":"x"}]}`, all, "", "search is missing"},
		{"edit without edits", `{"path":"a.go","type":"edit"}`, all, "", "needs edits"},
		{"edit of nothing", `{"path":"b.go","type":"edit","edits":[{"search":"a","replace":"b"}]}`, all, "", "there is no such file"},
		{"edit of nothing names the nearest", `{"path":"src/a.go","type":"edit","edits":[{"search":"a","replace":"b"}]}`, all, "", "Nearest: a.go"},
		{"edit of a link", `{"path":"link","type":"edit","edits":[{"search":"a","replace":"b"}]}`, all, "", "symbolic link"},
		{"edit of a submodule", `{"path":"sub","type":"edit","edits":[{"search":"a","replace":"b"}]}`, all, "", "submodule"},
		{"edit below a link", `{"path":"link/x.go","type":"file","content":"x"}`, all, "", "symbolic link"},
		{"file below a submodule", `{"path":"sub/x.go","type":"file","content":"x"}`, all, "", "sub is a submodule"},
		{"file below a file", `{"path":"a.go/x.go","type":"file","content":"x"}`, all, "", "a.go is a file"},
		{"edit of binary", `{"path":"bin.dat","type":"edit","edits":[{"search":"a","replace":"b"}]}`, all, "", "binary"},
		{"new file", `{"path":"x/y.go","type":"file","content":"package y\n"}`, none, "x/y.go=package y\n", ""},
		{"new dot-file", `{"path":".statsrc","type":"file","content":"a\n"}`, none, ".statsrc=a\n", ""},
		{"new file in a dot-directory", `{"path":".config/x.yml","type":"file","content":"a\n"}`, none, ".config/x.yml=a\n", ""},
		{"new executable", `{"path":"x.sh","type":"file","content":"a\n","mode":"0755"}`, none, "x.sh[100755]=a\n", ""},
		{"file that was seen", `{"path":"a.go","type":"file","content":"package b\n"}`, all, "a.go=package b\n", ""},
		{"file that was not seen", `{"path":"a.go","type":"file","content":"package b\n"}`, none, "", "you have not seen all of it"},
		{"file that loses half", `{"path":"long.txt","type":"file","content":"line\n"}`, all, "", "more than half"},
		{"file that loses half for a reason", `{"path":"long.txt","type":"file","content":"line\n","metadata":{"reason":"generated"}}`, all, "long.txt=line\n", ""},
		{"file with a placeholder", `{"path":"n.go","type":"file","content":"package n\n// ... rest of the code\n"}`, all, "", "leaves something out"},
		{"file with another placeholder", `{"path":"n.js","type":"file","content":"f()\n// existing code here\n"}`, all, "", "leaves something out"},
		{"file that speaks of the rest", `{"path":"n.go","type":"file","content":"package n\n\n// Rest returns the rest of the list.\nfunc Rest() {}\n"}`, all, "n.go=package n\n\n// Rest returns the rest of the list.\nfunc Rest() {}\n", ""},
		{"file keeps line ends and mark", `{"path":"dos.txt","type":"file","content":"x\ny\n"}`, all, "dos.txt=\ufeffx\r\ny\r\n", ""},
		{"file keeps having no end", `{"path":"no-end.txt","type":"file","content":"a\nc\n"}`, all, "no-end.txt=a\nc", ""},
		{"file too large", `{"path":"big","type":"file","content":"` + strings.Repeat("x", MaxFile+1) + `"}`, all, "", "are allowed"},
		{"file with NUL", `{"path":"n","type":"file","content":"a\u0000b"}`, all, "", "binary"},
		{"delete", `{"path":"a.go","type":"delete"}`, all, "a.go deleted", ""},
		{"delete nothing", `{"path":"q.go","type":"delete"}`, all, "", "no such file"},
		{"delete a test", `{"path":"a_test.go","type":"delete"}`, all, "", "a test that was there"},
		{"delete a test for a reason", `{"path":"a_test.go","type":"delete","metadata":{"reason":"moved"}}`, all, "a_test.go deleted", ""},
		{"edit a test", `{"path":"a_test.go","type":"edit","edits":[{"search":"TestA","replace":"testA"}]}`, all, "", "metadata.reason"},
		{"add to a test", `{"path":"a_test.go","type":"edit","edits":[{"search":"func TestA() {}\n","replace":"func TestA() {}\n\nfunc TestB() {}\n"}]}`, all, "a_test.go=package a\n\nfunc TestA() {}\n\nfunc TestB() {}\n", ""},
		{"change the scripts", `{"path":"package.json","type":"edit","edits":[{"search":"\"x\"","replace":"\"true\""}]}`, all, "", "what defines the checks"},
		{"add a dependency", `{"path":"package.json","type":"edit","edits":[{"search":"\"dependencies\":{}","replace":"\"dependencies\":{\"a\":\"1\"}"}]}`, all, "package.json={\"scripts\":{\"test\":\"x\"},\"dependencies\":{\"a\":\"1\"}}\n", ""},
		{"change the checks", `{"path":"Makefile","type":"edit","edits":[{"search":"test:","replace":"test: x"}]}`, all, "", "what defines the checks"},
		{"rename", `{"path":"a.go","to":"b.go","type":"rename"}`, all, "a.go deleted b.go=package a\n", ""},
		{"rename to what is there", `{"path":"a.go","to":"run.sh","type":"rename"}`, all, "", "exists already"},
		{"rename to what defines the checks", `{"path":"a.go","to":"Makefile.new","type":"rename"}`, all, "a.go deleted Makefile.new=package a\n", ""},
		{"rename to a check", `{"path":"a.go","to":"GNUmakefile","type":"rename"}`, all, "", "what defines the checks"},
		{"rename out", `{"path":"a.go","to":"../b.go","type":"rename"}`, all, "", "leads upwards"},
		{"absolute", `{"path":"/etc/passwd","type":"file","content":"x"}`, all, "", "absolute"},
		{"upwards", `{"path":"x/../../y","type":"file","content":"x"}`, all, "", "leads upwards"},
		{"the repository's folder", `{"path":".git/hooks/pre-commit","type":"file","content":"x"}`, all, "", "own folder"},
		{"the repository's folder in other case", `{"path":"x/.GIT/config","type":"file","content":"x"}`, all, "", "own folder"},
		{"a backslash", `{"path":"x\\y","type":"file","content":"x"}`, all, "", "backslash"},
		{"a newline", `{"path":"x\ny","type":"file","content":"x"}`, all, "", "control character"},
		{"ignored", `{"path":"x.ignored","type":"file","content":"x"}`, all, "", "ignores it"},
		{"a key", `{"path":"deploy.pem","type":"file","content":"x"}`, all, "", "name of a secret"},
		{"an environment", `{"path":"web/.env","type":"file","content":"x"}`, all, "", "name of a secret"},
		{"an environment that is tracked", `{"path":".env","type":"file","content":"A=2\n"}`, all, ".env=A=2\n", ""},
		{"an example of an environment", `{"path":".env.example","type":"file","content":"A=\n"}`, all, ".env.example=A=\n", ""},
		{"protected", `{"path":"vendor/x/y.go","type":"file","content":"x"}`, all, "", "protected"},
		{"twin", `{"path":"A.go","type":"file","content":"x\n"}`, all, "", "case alone"},
		{"no type we know", `{"path":"a.go","type":"patch"}`, all, "", "none of edit, file"},
		{"no path", `{"type":"file","content":"x"}`, all, "", "no path"},
		{"content that is no text", `{"path":"n.json","type":"file","content":{"a":1}}`, all, "", "content is not a text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var change Change
			if err := json.Unmarshal([]byte(c.change), &change); err != nil {
				t.Fatal(err)
			}
			plan, err := Make(repository(), []Change{change}, Rules{Protected: []string{"vendor"}, Shown: c.shown})
			if err != nil {
				t.Fatal(err)
			}
			if c.problem != "" {
				if len(plan.Problems) == 0 || !strings.Contains(plan.Problems[0].String(), c.problem) {
					t.Fatalf("problems: %v, writes: %v", plan.Problems, plan.Writes)
				}
				for _, p := range plan.Problems {
					if p.Plain == "" || forAgents.MatchString(p.ForPeople()) {
						t.Errorf("a person is told %q", p.ForPeople())
					}
				}
				return
			}
			if len(plan.Problems) > 0 {
				t.Fatalf("problems: %v", plan.Problems)
			}
			var got []string
			for _, w := range plan.Writes {
				switch {
				case w.Delete:
					got = append(got, w.Path+" deleted")
				case w.Mode == "100755":
					got = append(got, w.Path+"[100755]="+w.Content)
				default:
					got = append(got, w.Path+"="+w.Content)
				}
			}
			if joined := strings.Join(got, " "); joined != c.want {
				t.Fatalf("got %q, want %q", joined, c.want)
			}
		})
	}
}

// An answer may rename a file and change it, by its old name or by its new one; what it would write
// twice is refused, for nobody knows which of the two is meant.
func TestARenamedFileIsChangedInTheSameAnswer(t *testing.T) {
	const rename, edits = `{"path":"a.go","to":"b.go","type":"rename"}`, `"type":"edit","edits":[{"search":"package a","replace":"package b"}]}`
	for answer, want := range map[string]string{
		`[` + rename + `, {"path":"b.go",` + edits + `]`:                                               "a.go deleted, b.go=package b\n; fits: a.go b.go",
		`[{"path":"a.go",` + edits + `, ` + rename + `]`:                                               "a.go deleted, b.go=package b\n; fits: a.go",
		`[{"path":"a.go","to":"b.go",` + strings.Replace(edits, "edit\"", "rename\"", 1) + `]`:         "a.go deleted, b.go=package b\n; fits: a.go",
		`[` + rename + `, {"path":"b.go",` + strings.Replace(edits, "package a", "package q", 1) + `]`: "; b.go: the text that was to be replaced is not in it",
		`[` + rename + `, {"path":"b.go","type":"file","content":"package b\n"}]`:                      "; b.go: it was written twice at once",
		`[` + rename + `, {"path":"run.sh","to":"b.go","type":"rename"}]`:                              "; b.go: it was written twice at once",
		`[{"path":"a_test.go","to":"b_test.go","type":"rename","metadata":{"reason":"moved"}}, {"path":"b_test.go","type":"edit","edits":[{"search":"TestA","replace":"TestB"}]}]`: "a_test.go deleted, b_test.go=package a\n\nfunc TestB() {}\n; fits: a_test.go b_test.go",
	} {
		var changes []Change
		if err := json.Unmarshal([]byte(answer), &changes); err != nil {
			t.Fatal(err)
		}
		plan, err := Make(repository(), changes, Rules{Shown: func(string, string) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		var writes, problems []string
		for _, w := range plan.Writes {
			writes = append(writes, w.Path+map[bool]string{true: " deleted", false: "=" + w.Content}[w.Delete])
		}
		for _, p := range plan.Problems {
			problems = append(problems, "; "+p.ForPeople())
		}
		got := strings.Join(writes, ", ") + "; fits: " + strings.Join(plan.Fits, " ") + strings.Join(problems, "")
		if got != want && (len(problems) == 0 || !strings.HasSuffix(got, want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", answer, got, want)
		}
	}
}

// What fits is held by its path. Where the edit of a renamed file does not fit and has its old name, the
// rename cannot be held without it, and the agent is told to send both; where it has the new name, it can.
func TestARenameWhoseEditsDoNotFitIsSentAgainWithThem(t *testing.T) {
	rename := Change{Path: "a.go", Type: TypeRename, To: "b.go"}
	edits := func(path string, edits ...Edit) Change { return Change{Path: path, Type: TypeEdit, Edits: edits} }
	good, bad := Edit{Search: "package a", Replace: "package b"}, Edit{Search: "package q", Replace: "package b"}
	const again = "Send the rename to b.go again with its edits."
	for name, c := range map[string]struct {
		changes []Change
		fits    string
		isSent  bool
	}{
		"by the old name":          {[]Change{rename, edits("a.go", bad), edits("run.sh", Edit{Search: "echo", Replace: "ls"})}, "run.sh", true},
		"by the old name, first":   {[]Change{edits("a.go", bad), rename}, "", true},
		"without edits":            {[]Change{rename, edits("a.go")}, "", true},
		"by the new name":          {[]Change{rename, edits("b.go", bad)}, "a.go", false},
		"by both, the old one bad": {[]Change{rename, edits("a.go", bad), edits("b.go", good)}, "b.go", true},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Make(repository(), c.changes, Rules{Shown: func(string, string) bool { return true }})
			if err != nil || len(plan.Problems) != 1 {
				t.Fatal(plan, err)
			}
			if got := strings.Join(plan.Fits, " "); got != c.fits {
				t.Errorf("fits: %q, want %q", got, c.fits)
			}
			if problem := plan.Problems[0]; strings.Contains(problem.Message, again) != c.isSent || forAgents.MatchString(problem.ForPeople()) {
				t.Errorf("%s\n%s", problem, problem.ForPeople())
			}
		})
	}
}

// What holds for every file holds for the edits of a renamed one.
func TestARenamedFileIsHeldToTheLimits(t *testing.T) {
	change := func(path, kind, mode, replace string) Change {
		return Change{Path: path, To: "b.go", Type: kind, Mode: mode, Edits: []Edit{{Search: "package a", Replace: replace}}}
	}
	rename := Change{Path: "a.go", Type: TypeRename, To: "b.go"}
	for name, c := range map[string]struct {
		changes       []Change
		problem, fits string
	}{
		"too large":              {[]Change{rename, change("b.go", TypeEdit, "", strings.Repeat("x", MaxFile))}, "are allowed", "a.go"},
		"too large, by old name": {[]Change{rename, change("a.go", TypeEdit, "", strings.Repeat("x", MaxFile))}, "are allowed", ""},
		"no text":                {[]Change{rename, change("b.go", TypeEdit, "", "a\x00b")}, "binary", "a.go"},
		"made executable":        {[]Change{rename, change("b.go", TypeEdit, "755", "b")}, "", "a.go b.go"},
		"executable with it":     {[]Change{change("a.go", TypeRename, "755", "b")}, "", "a.go"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Make(repository(), c.changes, Rules{Shown: func(string, string) bool { return true }})
			if err != nil || strings.Join(plan.Fits, " ") != c.fits {
				t.Fatalf("%v, fits: %q, want %q", err, plan.Fits, c.fits)
			}
			if c.problem != "" {
				if len(plan.Problems) != 1 || !strings.Contains(plan.Problems[0].Message, c.problem) {
					t.Fatalf("problems: %v", plan.Problems)
				}
				return
			}
			if last := plan.Writes[len(plan.Writes)-1]; len(plan.Problems) > 0 || last != (Write{Path: "b.go", Content: "b\n", Mode: "100755"}) {
				t.Fatalf("%v, %v", plan.Problems, plan.Writes)
			}
		})
	}
}

// forAgents is what only an agent can make sense of: orders, and how changes are written.
var forAgents = regexp.MustCompile(`(?i)\b(you|your|artifact|metadata|outputs?|search text|edit \d|type "|send|read it|say why|use the|put all)\b|type "`)

func TestBlocksStandBesideTheJSON(t *testing.T) {
	got, err := Blocks("{\"content\": {\"block\":\"b1\"}, \"x\": { \"block\" : \"b2\" }}\n<<<b1\npackage a\n\n\"quoted\" \\n\n>>>b1\n<<<b2\nb\n>>>b2\n")
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]string
	if err := json.Unmarshal([]byte(got), &read); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if read["content"] != "package a\n\n\"quoted\" \\n\n" || read["x"] != "b\n" {
		t.Fatalf("%q", read)
	}
	for text, complaint := range map[string]string{
		"{\"content\": {\"block\":\"b1\"}}\n":                  "not there",
		"{\"content\": {\"block\":\"b1\"}}\n<<<b1\nx\n":        "not closed",
		"{\"content\": 1}\n<<<b1\nx\n>>>b1\n<<<b1\nx\n>>>b1\n": "twice",
		"{\"content\": {\"block\":\"b1\"}}\n<<<b2\nx\n>>>b2\n": "not there",
	} {
		if _, err := Blocks(text); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got, err := Blocks("a <<<< b"); err != nil || got != "a <<<< b" {
		t.Errorf("%q %v", got, err)
	}
}
