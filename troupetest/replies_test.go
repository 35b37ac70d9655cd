package troupetest

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

func TestRepliesAreReadAsTheyAreWritten(t *testing.T) {
	text := "\n\nthink hm\ncall f {\"a\": 1}\ncall g\nusage 3 4\n\n\nsay one\n| two\n|\n|  three\nsay \" \\\"x\\\" \"\nwait 1m\n" +
		"\nrefuse no\nfinish content_filter\n\nfail 429 slow down\n\nfail 400 bad\n\nsay par\nfail gone\n\nsay par\ncut\n"
	turns, err := parseReplies(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`think "hm"; call f {"a": 1}; call g `, `say "one\ntwo\n\n three"; say " \"x\" "; wait 1m0s`, `refuse "no"; finish content_filter`,
		"fail model: 429: slow down", "fail model: 400: bad", `say "par"; fail gone`, `say "par"; cut`,
	}
	for i, turn := range turns {
		if i >= len(want) || turn.String() != want[i] {
			t.Errorf("turn %d is %v", i, turn)
		}
	}
	if len(turns) != len(want) {
		t.Fatalf("there are %d turns, want %d", len(turns), len(want))
	}
	if turns[0].usage != (troupe.Usage{Input: 3, Output: 4}) || turns[1].pieces[2].wait != time.Minute {
		t.Errorf("usage %v, wait %v", turns[0].usage, turns[1].pieces[2].wait)
	}
	for i, temporary := range map[int]bool{3: true, 4: false} {
		if failure, ok := turns[i].failure.(*troupe.ModelError); !ok || failure.Temporary != temporary {
			t.Errorf("turn %d fails with %#v", i, turns[i].failure)
		}
	}
}

func FuzzReplies(f *testing.F) {
	f.Add("say \"a\"\n| b\n\ncall f {}\nusage 1 2\nwait 1s\nfinish length\ncut\nfail 500 x\nrefuse no\nthink")
	f.Add("|\n\n| x")
	f.Fuzz(func(t *testing.T, text string) {
		turns, err := parseReplies(text)
		if err != nil {
			return
		}
		if lines := strings.Count(text, "\n") + 1; len(turns) > lines {
			t.Errorf("%d turns were read from %d lines", len(turns), lines)
		}
		for _, turn := range turns {
			if turn.end() == nil {
				t.Errorf("%v has no end", turn)
			}
		}
	})
}

func TestDifferenceShowsWhatDiffers(t *testing.T) {
	for _, test := range []struct{ want, got, diff string }{
		{"a\nb\nc\n", "a\nx\nc\n", "@@ line 2 @@\n-b\n+x\n"},
		{"", "a\n", "@@ line 1 @@\n+a\n"},
		{"a\na\n", "a\n", "@@ line 2 @@\n-a\n"},
		{"a\nb", "a\nb\n", "@@ line 2 @@\n-b\n+b\n+\n"},
	} {
		if diff := difference(test.want, test.got); diff != test.diff {
			t.Errorf("%q and %q: %q, want %q", test.want, test.got, diff, test.diff)
		}
	}
}
