package terminal

import (
	"os"
	"path/filepath"
	"testing"
)

func TestATerminalGetsTextAndColoursAlone(t *testing.T) {
	for _, c := range []struct {
		json bool
		in   []string
		want string
	}{
		{false, []string{"plain é 日本 🦦\n"}, "plain é 日本 🦦\n"},
		{false, []string{"\x1b[2mfaint\x1b[0m\r\x1b[K\x1b[1;31mred\x1b[m"}, "\x1b[2mfaint\x1b[0m\r\x1b[K\x1b[1;31mred\x1b[m"},
		{false, []string{"a\u009b31mb\u009d0;title\u009cc\u0085d"}, "a31mb0;titlecd"},
		{false, []string{"\x9b31m \xff"}, "\uFFFD31m \uFFFD"},
		{false, []string{"\x1b]0;title\x07\x1b[2J\x1b[10;10H\x1bc\x08\x7f"}, "]0;title[2J[10;10Hc"},
		{false, []string{"a\u202eb\u2066c\u2069d\u200fe\u061cf\ufeff"}, "abcdef"},
		{false, []string{"caf\xc3", "\xa9 \xe2\x80", "\xaex"}, "café x"},
		{true, []string{"{\"a\":\"x\u009b31m\u202ey\"}\n"}, "{\"a\":\"x\\u009b31m\\u202ey\"}\n"},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		s := &Safe{File: f, IsJSON: func() bool { return c.json }}
		for _, text := range c.in {
			if n, err := s.Write([]byte(text)); err != nil || n != len(text) {
				t.Errorf("%d of %d, %v", n, len(text), err)
			}
		}
		f.Close()
		if got, _ := os.ReadFile(f.Name()); string(got) != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}
