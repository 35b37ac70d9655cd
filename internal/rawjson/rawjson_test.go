package rawjson

import (
	"testing"
)

func TestWalkingOverJSON(t *testing.T) {
	text := []byte(` {"a": [1, {"b": "\u00e9\n\""}], "c": {}, "d": "\ud83c\udf89"} rest`)
	end, ok := End(text, 1)
	if !ok || string(text[end:]) != " rest" {
		t.Fatalf("it ends at %d, %v", end, ok)
	}
	fields := Fields(text[:end])
	if len(fields) != 3 || fields[0].Name != "a" || string(fields[1].Value) != "{}" || Unquote(fields[2].Value) != "🎉" {
		t.Errorf("got %q", fields)
	}
	elements := Elements(fields.At("/a"))
	if len(elements) != 2 || string(elements[0]) != "1" || Unquote(Fields(elements[1]).At("/b")) != "é\n\"" {
		t.Errorf("got %q", elements)
	}
	if fields.At("/c/x") != nil || Fields([]byte("[1]")) != nil || Elements([]byte("{}")) != nil {
		t.Error("what is not there was found")
	}
}

// Where a value breaks is where its first part begins that does not make sense.
func TestWhereAValueBreaks(t *testing.T) {
	for text, want := range map[string]int{`{"a": "b`: 6, `{"a": "b" "c"}`: 6, `{"a": 1 2}`: 8, `[1, tru]`: 4, `{"a" 1}`: 1, "[\"a\nb\"]": 1} {
		if end, ok := End([]byte(text), 0); ok || end != want {
			t.Errorf("%s: %d, %v", text, end, ok)
		}
	}
}
