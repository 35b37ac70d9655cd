package laxyaml

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestUnquotedScalarsAreReadAsTheAuthorMeant(t *testing.T) {
	for src, want := range map[string]string{
		"v: {project-root}/docs":                "{project-root}/docs",
		"v: {project-root}":                     "{project-root}",
		"v: {{date}}":                           "{{date}}",
		"v: *help":                              "*help",
		"v: Story: one":                         "Story: one",
		"v: [DS] Dev Story: write":              "[DS] Dev Story: write",
		"v: @mention":                           "@mention",
		"v: `code` first":                       "`code` first",
		"v: %x":                                 "%x",
		"v: {a}/it's: here # comment":           "{a}/it's: here",
		"v: - dash":                             "- dash",
		"v: > not a block: really":              "> not a block: really",
		"x: |\n  a: b: c\n  {d}/e\nv: {a}/b":    "{a}/b",
		"x: 'two\n  lines: of: text'\nv: {a}/b": "{a}/b",
		"x:\n  - one: *two\n    three: {a}/b\nv: {a}/b": "{a}/b",
		"'v': {a}/b": "{a}/b",
	} {
		root, notes, err := Parse(1, []byte(src))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := Scalar(Field(root, "v")); got != want {
			t.Errorf("%s\nis read as %q; want %q", src, got, want)
		}
		if last := 1 + strings.Count(src, "\n"); len(notes) == 0 || notes[len(notes)-1].Line != last {
			t.Errorf("%s\nis noted as %v; want line %d", src, notes, last)
		}
	}
}

func TestWhatIsYAMLIsLeftAlone(t *testing.T) {
	src := "a: {x: 1, y: [2]}\nb: [1,\n  {z: 3}]\nc: \"{q}: *r\"\nd: |\n  {a}/b: *c\ne: 0777\nf: no\ng: 1e3\nh: ~\ni: 2026-01-01\n"
	root, notes, err := Parse(1, []byte(src))
	if err != nil || notes != nil {
		t.Fatalf("%v %v", notes, err)
	}
	for key, want := range map[string]string{"c": "{q}: *r", "d": "{a}/b: *c", "e": "0777", "f": "no", "g": "1e3", "h": "", "i": "2026-01-01"} {
		if got := Scalar(Field(root, key)); got != want {
			t.Errorf("%s is %q; want %q", key, got, want)
		}
	}
}

func TestDangerousYAMLIsRefusedWithItsLine(t *testing.T) {
	many := strings.Builder{}
	for i := range maxKeys + 1 {
		fmt.Fprintf(&many, "k%d: v\n", i)
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	for name, c := range map[string]struct {
		src  string
		line int
		code string
	}{
		"bomb":      {bomb.String(), 11, CodeRefused},
		"itself":    {"a: 1\nb: &x [*x]", 12, CodeRefused},
		"depth":     {strings.Repeat("[", 70) + strings.Repeat("]", 70), 11, CodeRefused},
		"keys":      {many.String(), 11, CodeRefused},
		"size":      {strings.Repeat("# x\n", MaxBytes/4+1), 11, CodeRefused},
		"documents": {"- a\n---\nb: 2", 11, CodeInvalid},
		"no YAML":   {"a: 1\nb: [", 12, CodeInvalid},
	} {
		_, _, err := Parse(11, []byte(c.src))
		found, ok := err.(*Problem)
		if !ok || found.Code != c.code || found.Line != c.line {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What an author wrote once and used twice is written out.
func TestAliasesAndMergeKeysAreWrittenOut(t *testing.T) {
	src := "base: &base {role: r, style: &s dry}\npersona:\n  <<: *base\n  role: own\nother: *s\nlist: [*s, *base]\nkind: !agent x\nname: Ada\n---\nname: Eve\n"
	root, notes, err := Parse(11, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	persona := Field(root, "persona")
	got := []string{Scalar(Field(persona, "role")), Scalar(Field(persona, "style")), Scalar(Field(root, "other")),
		Scalar(Field(Field(root, "list").Content[1], "style")), Scalar(Field(root, "kind")), Scalar(Field(root, "name"))}
	if want := []string{"own", "dry", "dry", "dry", "x", "Ada"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	var lines []int
	for _, n := range notes {
		lines = append(lines, n.Line)
	}
	if !slices.Equal(lines, []int{11, 17}) {
		t.Errorf("notes: %v", notes)
	}
}

func TestADuplicateKeyIsNotedAndTheLastCounts(t *testing.T) {
	root, notes, err := Parse(1, []byte("template: a\nx: 1\ntemplate: b\n"))
	if err != nil || Scalar(Field(root, "template")) != "b" || len(notes) != 1 || notes[0].Line != 3 || notes[0].Code != CodeDuplicateKey {
		t.Errorf("%v %v", notes, err)
	}
}

func TestProseIsWhatTheAuthorWrote(t *testing.T) {
	for src, want := range map[string]string{
		"CRITICAL: do this": "CRITICAL: do this",
		"plain":             "plain",
		"a: 1\nb: 2":        "a: 1\nb: 2",
		"- x\n- y":          "- x\n- y",
		"k:":                "k:",
	} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(src), &n); err != nil {
			t.Fatal(err)
		}
		if got := Prose(n.Content[0]); got != want {
			t.Errorf("Prose(%q) = %q", src, got)
		}
	}
}

// Whatever comes in, what is read leniently keeps its lines, and what was YAML is
// not changed.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: {b}/c", "- x: *y\n  z: [a] b: c", "k: |\n  t: u: v\nl: 'm\n n'", "a: &b c\nd: *b", "\ufeffa: b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		quoted, changed := quoteScalars([]byte(src))
		if strings.Count(string(quoted), "\n") != strings.Count(src, "\n") {
			t.Errorf("lines were added or lost in %q", src)
		}
		for _, line := range changed {
			if line < 1 || line > 1+strings.Count(src, "\n") {
				t.Errorf("line %d of %q", line, src)
			}
		}
		_, _, err := Parse(1, []byte(src))
		if _, ok := err.(*Problem); err != nil && !ok {
			t.Errorf("%q: %v", src, err)
		}
	})
}

func TestTabsAndBadQuotesAreReadAsTheAuthorMeant(t *testing.T) {
	for src, want := range map[string]string{
		"a:\n\tb: one": "one", "a:\n  b: \"C:\\Users\\ada\"": `C:\Users\ada`, "a:\n  b: \"One\" of many": `"One" of many`,
		"a:\n  b: \"\\d+ of \\w\"":        `\d+ of \w`,
		"a:\n  b: 'they don\\'t say how'": "they don't say how", "a:\n  b: 'Rédige l'architecture'": "Rédige l'architecture", "a:\n  b: 'l'été'": "l'été",
		"a:\n  b: 'it''s Ada's'": "it's Ada's", `a:
  b: "say "hello" now"`: `say "hello" now`, `a:
  b: "One" and "two"`: `"One" and "two"`, "a:\n  b: 'l'un' # comment\n  c: 'x'": "l'un",
	} {
		root, notes, err := Parse(1, []byte(src))
		if got := Scalar(Field(Field(root, "a"), "b")); err != nil || got != want || len(notes) != 1 || notes[0].Line != 2 {
			t.Errorf("%q: %q, %v, %v", src, got, notes, err)
		}
	}
	if _, _, err := Parse(1, []byte("a:\n  b: \"\\n fine\"\n")); err != nil {
		t.Error(err)
	}
}

// A text that goes on below its item is one text, and a closing line of dashes no document.
func TestProseBelowAnItemIsReadAsTheAuthorMeant(t *testing.T) {
	src := "steps:\n  - STEP 3: Read these files IN ORDER (all of them):\n    1. Read `a.md` (first: yes)\n    2. Read `b.md`\n  - STEP 4: Greet\nagent:\n  name: Quinn\n---\n"
	root, notes, err := Parse(1, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	steps := Items(Field(root, "steps"))
	if len(steps) != 2 || !strings.Contains(Prose(steps[0]), "2. Read `b.md`") || Scalar(Field(Field(root, "agent"), "name")) != "Quinn" {
		t.Errorf("%q", Prose(steps[0]))
	}
	if len(notes) == 0 || notes[0].Line != 2 || Field(root, "agent").Line != 7 {
		t.Errorf("%+v, agent on line %d", notes, Field(root, "agent").Line)
	}
}
