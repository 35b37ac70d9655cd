package edit

import (
	"strings"
	"testing"
)

const (
	tabbed = "package stats\n\nfunc Mid(s []int) int {\n\tn := len(s)\n\tif n == 0 {\n\t\treturn 0\n\t}\n\treturn s[n/2]\n}\n"
	twice  = "a := 1\nfoo()\nb := 2\nfoo()\n"
)

// editCases is the table of edits: what a file holds, what is asked for, what comes of
// it. An empty want with a complaint means that nothing may change.
var editCases = []struct {
	name, text string
	edits      []Edit
	want       string
	note       string // part of a note
	complaint  string // part of a misfit
}{
	{"unique", "a\nb\nc\n", []Edit{{Search: "b", Replace: "B"}}, "a\nB\nc\n", "", ""},
	{"unique line with its end", "a\nb\nc\n", []Edit{{Search: "b\n", Replace: "B\n"}}, "a\nB\nc\n", "", ""},
	{"several lines", tabbed, []Edit{{Search: "\tif n == 0 {\n\t\treturn 0\n\t}\n", Replace: ""}}, strings.Replace(tabbed, "\tif n == 0 {\n\t\treturn 0\n\t}\n", "", 1), "", ""},
	{"at the beginning", "a\nb\n", []Edit{{Search: "a\n", Replace: ""}}, "b\n", "", ""},
	{"at the end", "a\nb\n", []Edit{{Search: "b\n", Replace: ""}}, "a\n", "", ""},
	{"the whole text", "a\n", []Edit{{Search: "a\n", Replace: "z\n"}}, "z\n", "", ""},
	{"within a line", "x = foo(1, 2)\n", []Edit{{Search: "1, 2", Replace: "1, 2, 3"}}, "x = foo(1, 2, 3)\n", "", ""},
	{"grows", "a\n", []Edit{{Search: "a", Replace: "a\nb\nc"}}, "a\nb\nc\n", "", ""},
	{"two edits", "a\nb\nc\n", []Edit{{Search: "a", Replace: "A"}, {Search: "c", Replace: "C"}}, "A\nb\nC\n", "", ""},
	{"two edits in the other order", "a\nb\nc\n", []Edit{{Search: "c", Replace: "C"}, {Search: "a", Replace: "A"}}, "A\nb\nC\n", "", ""},
	{"two edits side by side", "ab\n", []Edit{{Search: "a", Replace: "A"}, {Search: "b", Replace: "B"}}, "AB\n", "", ""},
	{"one edit makes what another looks for", "a\nb\n", []Edit{{Search: "a", Replace: "b"}, {Search: "b", Replace: "c"}}, "b\nc\n", "", ""},
	{"twice", twice, []Edit{{Search: "foo()", Replace: "bar()"}}, "", "", "occurs 2 times (lines 2, 4)"},
	{"twice names the remedy", twice, []Edit{{Search: "foo()", Replace: "bar()"}}, "", "", `"count": 2`},
	{"twice, count 2", twice, []Edit{{Search: "foo()", Replace: "bar()", Count: 2}}, "a := 1\nbar()\nb := 2\nbar()\n", "", ""},
	{"twice, count 3", twice, []Edit{{Search: "foo()", Replace: "bar()", Count: 3}}, "", "", "You said 3"},
	{"once, count 2", "a\n", []Edit{{Search: "a", Replace: "b", Count: 2}}, "", "", "occurs 1 time"},
	{"twice, all", twice, []Edit{{Search: "foo()", Replace: "bar()", All: true}}, "a := 1\nbar()\nb := 2\nbar()\n", "", ""},
	{"once, all", "a\n", []Edit{{Search: "a", Replace: "b", All: true}}, "b\n", "", ""},
	{"none, all", "a\n", []Edit{{Search: "zzz", Replace: "b", All: true}}, "", "", "no such text"},
	{"made unique by a line around it", twice, []Edit{{Search: "b := 2\nfoo()", Replace: "b := 2\nbar()"}}, "a := 1\nfoo()\nb := 2\nbar()\n", "", ""},
	{"occurrences that overlap are counted once", "aaa\n", []Edit{{Search: "aa", Replace: "b"}}, "ba\n", "", ""},
	{"overlap", "abc\n", []Edit{{Search: "ab", Replace: "x"}, {Search: "bc", Replace: "y"}}, "", "", "overlaps with edit 1"},
	{"the same edit twice", "a\nb\n", []Edit{{Search: "a", Replace: "x"}, {Search: "a", Replace: "x"}}, "", "", "overlaps"},
	{"one within the other", "abc\n", []Edit{{Search: "abc", Replace: "x"}, {Search: "b", Replace: "y"}}, "", "", "overlaps"},
	{"one of two does not fit", "a\nb\n", []Edit{{Search: "a", Replace: "A"}, {Search: "q", Replace: "Q"}}, "", "", "no such text"},
	{"identical", "a\nb\n", []Edit{{Search: "a", Replace: "a"}}, "a\nb\n", "skipped", ""},
	{"identical and not there", "a\n", []Edit{{Search: "q", Replace: "q"}}, "a\n", "skipped", ""},
	{"identical beside a real one", "a\nb\n", []Edit{{Search: "a", Replace: "a"}, {Search: "b", Replace: "c"}}, "a\nc\n", "skipped", ""},
	{"empty search in an empty file", "", []Edit{{Search: "", Replace: "a\n"}}, "a\n", "", ""},
	{"empty search in a file", "a\n", []Edit{{Search: "", Replace: "b\n"}}, "", "", "the search text is empty"},
	{"search in an empty file", "", []Edit{{Search: "a", Replace: "b"}}, "", "", "the file is empty"},
	{"two empty searches", "", []Edit{{Search: "", Replace: "a"}, {Search: "", Replace: "b"}}, "", "", "overlaps"},
	{"line ends: file CRLF, search LF", "a\r\nb\r\nc\r\n", []Edit{{Search: "a\nb\n", Replace: "x\ny\n"}}, "x\r\ny\r\nc\r\n", "line ends", ""},
	{"line ends: file CRLF, one line", "a\r\nb\r\n", []Edit{{Search: "b", Replace: "b\nc"}}, "a\r\nb\r\nc\r\n", "", ""},
	{"line ends: both CRLF", "a\r\nb\r\n", []Edit{{Search: "a\r\nb", Replace: "x\r\ny"}}, "x\r\ny\r\n", "", ""},
	{"line ends: file LF, search CRLF", "a\nb\nc\n", []Edit{{Search: "a\r\nb\r\n", Replace: "x\ny\n"}}, "x\ny\nc\n", "line ends", ""},
	{"line ends: mixed are left", "a\r\nb\nc\n", []Edit{{Search: "b\n", Replace: "x\ny\n"}}, "a\r\nx\ny\nc\n", "", ""},
	{"line ends: old Mac", "a\rb\rc", []Edit{{Search: "b", Replace: "x"}}, "a\rx\rc", "", ""},
	{"white space at the end in the file", "a  \nb\t\nc\n", []Edit{{Search: "a\nb\n", Replace: "x\n"}}, "x\nc\n", "ends of lines", ""},
	{"white space at the end in the search", "a\nb\nc\n", []Edit{{Search: "a  \nb", Replace: "x"}}, "x\nc\n", "ends of lines", ""},
	{"white space at the end of a search is the end of a line", "foobar\nfoo\n", []Edit{{Search: "foo  ", Replace: "x"}}, "foobar\nx\n", "ends of lines", ""},
	{"white space alone is no loose match", "a\n\nb\n", []Edit{{Search: " \n \n", Replace: "x"}}, "", "", "no such text"},
	{"blank line with white space", "a\n\t\nb\n", []Edit{{Search: "a\n\nb", Replace: "x"}}, "x\n", "ends of lines", ""},
	{"loose, twice", "a \nb\na \nb\n", []Edit{{Search: "a\nb\n", Replace: "x\n"}}, "", "", "occurs 2 times"},
	{"exact goes before loose", "a \nb\na\nb\n", []Edit{{Search: "a\nb\n", Replace: "x\n"}}, "a \nb\nx\n", "", ""},
	{"byte-order mark", "\ufeffa\nb\n", []Edit{{Search: "a\n", Replace: "x\n"}}, "\ufeffx\nb\n", "", ""},
	{"byte-order mark, loose", "\ufeffa \nb\n", []Edit{{Search: "b\n", Replace: "x\n"}}, "\ufeffa \nx\n", "", ""},
	{"no final newline", "a\nb", []Edit{{Search: "b", Replace: "c"}}, "a\nc", "", ""},
	{"no final newline, search has one", "a\nb", []Edit{{Search: "a\nb\n", Replace: "x\ny\n"}}, "x\ny\n", "indentation", ""},
	{"no final newline before", "a", []Edit{{Search: "a", Replace: "a\n"}}, "a\n", "", ""},
	{"tabs in the file, four spaces in the search", tabbed, []Edit{{Search: "    if n == 0 {\n        return 0\n    }\n", Replace: "    if n < 1 {\n        return -1\n    }\n"}}, strings.Replace(tabbed, "\tif n == 0 {\n\t\treturn 0\n\t}\n", "\tif n < 1 {\n\t\treturn -1\n\t}\n", 1), "the file uses tabs", ""},
	{"tabs in the file, two spaces in the search", tabbed, []Edit{{Search: "  if n == 0 {\n    return 0\n  }\n", Replace: "  if n < 1 {\n    return -1\n  }\n"}}, strings.Replace(tabbed, "\tif n == 0 {\n\t\treturn 0\n\t}\n", "\tif n < 1 {\n\t\treturn -1\n\t}\n", 1), "the file uses tabs", ""},
	{"spaces in the file, tabs in the search", "if x:\n    a()\n    b()\n", []Edit{{Search: "\ta()\n\tb()\n", Replace: "\tc()\n"}}, "if x:\n    c()\n", "the file uses spaces", ""},
	{"shifted to the right", "class A:\n    def f(self):\n        return 1\n", []Edit{{Search: "def f(self):\n    return 1\n", Replace: "def f(self):\n    return 2\n"}}, "class A:\n    def f(self):\n        return 2\n", "ignoring indentation", ""},
	{"shifted to the left", "def f():\n    return 1\n", []Edit{{Search: "    def f():\n        return 1\n", Replace: "    def f():\n        return 2\n"}}, "def f():\n    return 2\n", "ignoring indentation", ""},
	{"shifted by a different amount per line", "def f():\n    a\n      b\n", []Edit{{Search: "def f():\n  a\n  b\n", Replace: "x\n"}}, "", "", "no such text"},
	{"shifted, twice", "  a()\n  b()\n    a()\n    b()\n", []Edit{{Search: "\ta()\n\tb()\n", Replace: "\tc()\n"}}, "", "", "occurs 2 times"},
	{"shifted, within a line is no line", "  foo(bar)\n", []Edit{{Search: "\tfoo(", Replace: "\tx("}}, "", "", "no such text"},
	{"shifted, no newline at the end of the search", "  a()\n  b()\n", []Edit{{Search: "a()\nb()", Replace: "c()"}}, "  c()\n", "ignoring indentation", ""},
	{"shifted, replacement cannot be shifted", "def f():\n    return 1\n", []Edit{{Search: "    def f():\n        return 1\n", Replace: "x\n"}}, "", "", "no such text"},
	{"shifted with a blank line", "\ta()\n\n\tb()\n", []Edit{{Search: "a()\n\nb()\n", Replace: "c()\n\nd()\n"}}, "\tc()\n\n\td()\n", "ignoring indentation", ""},
	{"nearest: one line differs", tabbed, []Edit{{Search: "\tn := len(s)\n\tif n < 0 {\n\t\treturn 0\n", Replace: "x"}}, "", "", "one line differs"},
	{"nearest: shows the real line", tabbed, []Edit{{Search: "\tn := len(s)\n\tif n < 0 {\n\t\treturn 0\n", Replace: "x"}}, "", "", "     5\t\tif n == 0 {          <- you wrote: if n < 0 {"},
	{"nearest: by words", tabbed, []Edit{{Search: "func Mid(s []float64) float64 {", Replace: "x"}}, "", "", "     3\tfunc Mid(s []int) int {"},
	{"nearest: nothing like it", "a\nb\n", []Edit{{Search: "entirely different", Replace: "x"}}, "", "", "nothing like it in 2 lines"},
	{"nearest: the indentation", "if a:\n  b()\n    c()\n", []Edit{{Search: "b()\nc()\n", Replace: "x"}}, "", "", "the indentation differs"},
	{"similar is not the same", "return a+b\n", []Edit{{Search: "return a + b", Replace: "return b"}}, "", "", "no such text"},
	{"case matters", "Foo\n", []Edit{{Search: "foo", Replace: "bar"}}, "", "", "no such text"},
	{"unicode", "größe := 1 // naïve\n", []Edit{{Search: "größe", Replace: "länge"}}, "länge := 1 // naïve\n", "", ""},
	{"unicode: another form is another text", "gr\u00f6\u00dfe\n", []Edit{{Search: "gro\u0308\u00dfe", Replace: "x"}}, "", "", "no such text"},
	{"emoji", "say(\"👩‍🚀\")\n", []Edit{{Search: "👩‍🚀", Replace: "🎭"}}, "say(\"🎭\")\n", "", ""},
	{"quotes that only look alike", "say(\"hi\")\n", []Edit{{Search: "say(“hi”)", Replace: "x"}}, "", "", "no such text"},
	{"a dollar is a dollar", "a\n", []Edit{{Search: "a", Replace: "$1 \\1 ${0}"}}, "$1 \\1 ${0}\n", "", ""},
	{"a pattern is no pattern", "a.c\nabc\n", []Edit{{Search: "a.c", Replace: "x"}}, "x\nabc\n", "", ""},
	{"escapes are not read", "a\\nb\n", []Edit{{Search: "a\\nb", Replace: "x"}}, "x\n", "", ""},
	{"NUL", "a\x00b\n", []Edit{{Search: "\x00", Replace: "-"}}, "a-b\n", "", ""},
	{"not UTF-8 outside stays", "\xff\xfea\n", []Edit{{Search: "a", Replace: "b"}}, "\xff\xfeb\n", "", ""},
	{"line numbers are not part of the text", "a\nb\n", []Edit{{Search: "2\tb", Replace: "x"}}, "", "", "no such text"},
	{"a search longer than the file", "a\n", []Edit{{Search: "a\nb\nc\nd\n", Replace: "x"}}, "", "", "no such text"},
	{"a mebibyte", strings.Repeat("0123456789abcde\n", 1<<16) + "the one\n", []Edit{{Search: "the one", Replace: "it"}}, strings.Repeat("0123456789abcde\n", 1<<16) + "it\n", "", ""},
	{"a mebibyte without it", strings.Repeat("0123456789abcde\n", 1<<16), []Edit{{Search: "the one\nand another\n", Replace: "it"}}, "", "", "no such text"},
	{"a mebibyte full of it", strings.Repeat("0123456789abcde\n", 1<<16), []Edit{{Search: "0123456789abcde\n", Replace: "it"}}, "", "", "occurs 65536 times"},
}

func TestEdits(t *testing.T) {
	for _, c := range editCases {
		t.Run(c.name, func(t *testing.T) {
			got, notes, misfits := Apply(c.text, c.edits)
			if c.complaint != "" {
				if len(misfits) == 0 {
					t.Fatalf("made: %.200q", got)
				}
				if got != c.text {
					t.Fatalf("it does not fit, and the text has changed: %.200q", got)
				}
				all := ""
				for _, m := range misfits {
					all += m.Message + "\n"
					if m.Plain == "" || forAgents.MatchString(m.Plain) {
						t.Errorf("a person is told %q", m.Plain)
					}
				}
				if !strings.Contains(all, c.complaint) {
					t.Fatalf("the complaint is %s", all)
				}
				return
			}
			if misfits != nil {
				t.Fatalf("it does not fit: %v", misfits)
			}
			if got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			if joined := strings.Join(notes, "\n"); !strings.Contains(joined, c.note) || c.note == "" && joined != "" {
				t.Fatalf("notes: %q", joined)
			}
		})
	}
	t.Logf("%d cases", len(editCases))
}

// Edits are applied or nothing is, and bytes outside the place that is meant stay.
func FuzzApply(f *testing.F) {
	for _, c := range editCases {
		if len(c.text) < 1000 && len(c.edits) > 0 {
			f.Add(c.text, c.edits[0].Search, c.edits[0].Replace)
		}
	}
	f.Fuzz(func(t *testing.T, text, search, replace string) {
		got, _, misfits := Apply(text, []Edit{{Search: search, Replace: replace}, {Search: "never there \x01", Replace: "x"}})
		if len(misfits) == 0 || got != text {
			t.Fatalf("half done: %q of %q", got, text)
		}
		got, notes, misfits := Apply(text, []Edit{{Search: search, Replace: replace}})
		if misfits != nil {
			if got != text {
				t.Fatal("it does not fit, and the text has changed")
			}
			return
		}
		if got == text || len(notes) > 0 {
			return
		}
		at := strings.Index(text, search)
		if at < 0 || !strings.HasPrefix(got, text[:at]) || !strings.HasSuffix(got, text[at+len(search):]) {
			t.Fatalf("bytes outside the match have changed: %q became %q", text, got)
		}
	})
}

func BenchmarkApplyInAMebibyte(b *testing.B) {
	text := strings.Repeat("0123456789abcde\n", 1<<16) + "the one\n"
	for b.Loop() {
		Apply(text, []Edit{{Search: "the one", Replace: "it"}})
	}
}
