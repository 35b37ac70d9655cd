package terminal

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
)

func TestCleanDropsWhatTerminalsObey(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ünïcode, 日本 👩‍👩‍👧": "plain text, ünïcode, 日本 👩‍👩‍👧",
		"a\nb\tc\r\n":                "a\nb    c\n",
		"\x1b[31mred\x1b[0m":         "[31mred[0m",
		"\x1b]0;title\a\u009b2J\x7f": "]0;title2J",
		"file\u202egnp.exe\u2066":    "filegnp.exe",
		"bad \xff bytes":             "bad \ufffd bytes",
		"\u2028line":                 "line",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\x9b\u202e\xff\t\n")
	f.Fuzz(func(t *testing.T, in string) {
		got := Clean(in)
		if !utf8.ValidString(got) || Clean(got) != got {
			t.Fatalf("Clean(%q) = %q is not clean", in, got)
		}
		if at := len(in) / 2; utf8.RuneStart((in + "x")[at]) && utf8.ValidString(in) && Clean(in[:at])+Clean(in[at:]) != got {
			t.Fatalf("Clean(%q) depends on where it is cut", in)
		}
	})
}

func FuzzRender(f *testing.F) {
	f.Add("# A\n\n* b\n1. c\n\n| a | b |\n|---|---|\n| 1 | 2 |\n```\ncode\n```\n> q [l](http://x) ![i](y)", 20)
	f.Add(strings.Repeat("wide ", 50), 7)
	m := markdown{style: plain().markdown}
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + (width&0x7fffffff)%120
		for line := range strings.SplitSeq(m.render(text, width), "\n") {
			if w := ansi.StringWidth(line); w > max(width, 2) {
				t.Fatalf("a line of %d cells at width %d: %q", w, width, line)
			}
		}
	})
}

func TestMarkdownIsLaidOut(t *testing.T) {
	m := markdown{style: plain().markdown}
	got := m.render("# Title\n\nSome **bold** `code`.\n\n- one\n- two\n\n```\nx := 1\n```\n", 40)
	want := "# Title\n\nSome **bold** `code`.\n\n• one\n• two\n\n  x := 1"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestALineSaysWhatACallIsAbout(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"file_path":"a.md","offset":3}`:       "a.md",
		`{"agent_id":"bruno","message":"long"}`: "bruno",
		`{"a":1,"b":"two\nlines"}`:              "a=1 b=two lines",
		`{}`:                                    "",
		`not JSON`:                              "not JSON",
		`{"path":"` + strings.Repeat("x", 90) + `"}`: strings.Repeat("x", 69) + "…",
	} {
		if got := subjectOf(arguments); got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

func TestAnOutcomeWithoutItsCallIsNotShown(t *testing.T) {
	var c Calls
	if line, ended := c.Note(&troupe.Event{Body: &troupe.ToolReturned{CallID: "1"}}); ended {
		t.Errorf("shown as %q", line)
	}
}

func TestNumbersAreShownAsPeopleReadThem(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s", n, got)
		}
	}
	for d, want := range map[time.Duration]string{
		150 * time.Microsecond: "150 µs", 20 * time.Millisecond: "20 ms", 1234 * time.Millisecond: "1.2 s", 90 * time.Second: "1m30s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s", d, got)
		}
	}
}

func TestAMeterSaysWhatIsNotKnown(t *testing.T) {
	for want, replies := range map[string][]*troupe.ModelReplied{
		"15 tokens":                   {{Usage: troupe.Usage{Input: 10, Output: 5}}},
		"15 tokens · price not known": {{Usage: troupe.Usage{Input: 10, Output: 5}, Unpriced: true}},
		"15 tokens · $0.5000":         {{Usage: troupe.Usage{Input: 10, Output: 5}, Cost: 0.5}},
		"30 tokens · $0.5000 and more (a price is not known)": {{Usage: troupe.Usage{Input: 10, Output: 5}, Cost: 0.5}, {Usage: troupe.Usage{Input: 10, Output: 5}, Unpriced: true}},
	} {
		var m Meter
		for _, replied := range replies {
			m.Note(&troupe.Event{Body: replied})
		}
		if got := m.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a fork begins with was paid in another session; the agent has it before its eyes all the same.
func TestAMeterCountsWhatAForkItselfUses(t *testing.T) {
	var m Meter
	used := &troupe.ModelReplied{Usage: troupe.Usage{Input: 10, Output: 5}, Cost: 0.5, Context: troupe.ContextUse{History: 10, Window: 100}}
	m.Note(&troupe.Event{Body: used})
	m.Note(&troupe.Event{Body: &troupe.ModelReplied{Unpriced: true}})
	m.Note(&troupe.Event{Body: used})
	m.Note(&troupe.Event{Body: &troupe.SessionForked{From: "another"}})
	if got := m.String(); got != "0 tokens · window 10 % full" {
		t.Error(got)
	}
	if m.Note(&troupe.Event{Body: used}); m.Usage.Total() != 15 || m.Cost != 0.5 || m.Unpriced {
		t.Errorf("%+v", m)
	}
}

func TestAMeterSaysHowFullTheWindowIs(t *testing.T) {
	var m Meter
	note := func(parent, purpose string, history int) {
		m.Note(&troupe.Event{Parent: parent, Body: &troupe.ModelReplied{
			Usage: troupe.Usage{Input: 5000}, Purpose: purpose, Context: troupe.ContextUse{System: 1000, Tools: 500, History: history, Window: 10_000},
		}})
	}
	note("", "", 500)
	note("run", "", 9000)                                             // another agent's window
	note("", "summary", 9000)                                         // what was summed up is gone
	if got := m.String(); got != "15,000 tokens · window 50 % full" { // as its provider counts
		t.Error(got)
	}
	m.Note(&troupe.Event{Body: &troupe.ModelReplied{Context: troupe.ContextUse{History: 2000, Window: 10_000}}}) // which does not say
	if got := newModel(t.Context(), Config{Agent: "Mira", Model: "test/m", Used: m}, nil).status(); got != "Mira · test/m · 15,000 tokens · window 20 % full" {
		t.Errorf("a chat begins with %q", got)
	}
}

func TestLinesAreFoldedBetweenWords(t *testing.T) {
	for _, c := range []struct {
		text, indent, want string
		width              int
	}{
		{"short", "  ", "short", 20},
		{"one two three four", "  ", "one two\n  three\n  four", 9},
		{"one  two\nthree", "", "one  two\nthree", 8},
		{"averylongwordindeed", "", "averylongw\nordindeed", 10},
		{"ok       data: it can be written to", "         ", "ok       data: it can\n         be written to", 22},
		{"one two three", "          ", "one two\nthree", 8},
	} {
		if got := Fold(c.text, c.width, c.indent); got != c.want {
			t.Errorf("%q in %d:\n%s\nnot\n%s", c.text, c.width, got, c.want)
		}
	}
}
