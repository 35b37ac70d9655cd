package wire

import (
	"encoding/json"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestBodyReadsAllPieces(t *testing.T) {
	parts := [][]byte{[]byte("ab"), nil, []byte("cde"), []byte("f"), {}}
	if err := iotest.TestReader(&body{parts: parts}, []byte("abcdef")); err != nil {
		t.Error(err)
	}
	if got := size(parts); got != 6 {
		t.Errorf("size %d", got)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\\n\t\r\x00\x7f", "h\u00e9llo \u2028 \U0001f600", "\xff\xfe\xc3", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded := AppendString(nil, text)
		var back, expected string
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatalf("%q: %v", encoded, err)
		}
		theirs, _ := json.Marshal(text)
		json.Unmarshal(theirs, &expected)
		if back != expected || !utf8.Valid(encoded) {
			t.Fatalf("%q became %q, by encoding/json %q", text, back, expected)
		}
	})
}
