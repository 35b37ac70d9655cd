package markup

import (
	"bytes"
	"strings"
	"testing"
)

func TestFencesAreFoundWithTheirLines(t *testing.T) {
	src := "# T\n\n```yaml title\na: 1\n```\n````md\n```go\nx\n```\n````\n  ~~~\n\n  ~~~\n``` inline ``` \n```\nrest"
	want := []Fence{
		{"yaml", []byte("a: 1\n"), 3, true},
		{"md", []byte("```go\nx\n```\n"), 6, true},
		{"", []byte("\n"), 11, true},
		{"", []byte("rest"), 15, false},
	}
	got := Fences([]byte(src))
	if len(got) != len(want) {
		t.Fatalf("%d fences, want %d: %v", len(got), len(want), got)
	}
	for i, f := range got {
		if w := want[i]; f.Language != w.Language || !bytes.Equal(f.Content, w.Content) || f.Line != w.Line || f.Closed != w.Closed {
			t.Errorf("fence %d: got %v, want %v", i, f, w)
		}
	}
}

func TestAFenceIsClosedByTheNearestLineThatCan(t *testing.T) {
	for src, want := range map[string]string{
		"```\na\n``\nb\n```":             "a\n``\nb\n",
		"```\na\n~~~\nb\n```":            "a\n~~~\nb\n",
		"````\na\n```\nb\n`````\n````\n": "a\n```\nb\n",
		"````\na\n`````\n```\n```\n":     "a\n",
		"```\n```":                       "",
		"```\r\na\r\n```\r\n":            "a\r\n",
	} {
		if got := Fences([]byte(src)); string(got[0].Content) != want || !got[0].Closed {
			t.Errorf("%q: content %q, want %q", src, got[0].Content, want)
		}
	}
}

func TestFrontMatterIsSplitOff(t *testing.T) {
	for _, c := range []struct {
		src, yaml, body string
		line            int
	}{
		{"---\na: 1\nb: 2\n---\nbody\n", "a: 1\nb: 2\n", "body\n", 5},
		{"\uFEFF---\r\na: 1\r\n--- \r\nbody", "a: 1\r\n", "body", 4},
		{"---\n---\n", "", "", 3},
		{"---\na: 1\n---", "a: 1\n", "", 4},
		{"---\na: 1\n", "", "---\na: 1\n", 1},
		{"---", "", "---", 1},
		{"# T\n---\na\n---\n", "", "# T\n---\na\n---\n", 1},
		{"----\na\n---\n", "", "----\na\n---\n", 1},
		{"", "", "", 1},
	} {
		yaml, body, line := FrontMatter([]byte(c.src))
		if string(yaml) != c.yaml || string(body) != c.body || line != c.line {
			t.Errorf("%q: got %q, %q, %d", c.src, yaml, body, line)
		}
	}
}

func FuzzFences(f *testing.F) {
	for _, src := range []string{
		"", "```", "```a\nb\n```\n", "~~~~\n~~~\n~~~~~", "---\na\n---\nb", "  ```x y\n```", "````\n```\n`````\n```",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > MaxBytes {
			return
		}
		line := 0
		for _, fence := range Fences(src) {
			if fence.Line <= line || fence.Line > 1+bytes.Count(src, []byte{'\n'}) {
				t.Fatalf("fence on line %d after line %d of %q", fence.Line, line, src)
			}
			line = fence.Line + bytes.Count(fence.Content, []byte{'\n'})
			if !bytes.Contains(src, fence.Content) || strings.ContainsAny(fence.Language, " \t\n") {
				t.Fatalf("fence %v is not of %q", fence, src)
			}
		}
		yaml, body, at := FrontMatter(src)
		if !bytes.HasSuffix(src, body) || !bytes.Contains(src, yaml) {
			t.Fatalf("front matter %q and body %q are not of %q", yaml, body, src)
		}
		head := src[:len(src)-len(body)]
		lines := 1 + bytes.Count(head, []byte{'\n'})
		if len(head) > 0 && head[len(head)-1] != '\n' {
			lines++
		}
		if at != lines {
			t.Fatalf("body of %q on line %d, want %d", src, at, lines)
		}
	})
}
