package typeschema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The type is put together here because go vet finds such mistakes in source.
func TestFieldsOfOneName(t *testing.T) {
	text := reflect.TypeFor[string]()
	double := reflect.StructOf([]reflect.StructField{{Name: "A", Type: text, Tag: `json:"x"`}, {Name: "B", Type: text, Tag: `json:"x,omitempty"`}})
	outer := reflect.StructOf([]reflect.StructField{{Name: "In", Type: double}})
	if _, err := Of(outer, Read); err == nil || !strings.HasPrefix(err.Error(), `fields In.A and In.B are both "x" in JSON, which leaves out both`) {
		t.Errorf("got %v", err)
	}
	tagged := reflect.StructOf([]reflect.StructField{{Name: "X", Type: text}, {Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"X"`}})
	if got, err := Of(tagged, Read); err != nil || !strings.Contains(string(got), `"properties":{"X":{"type":"integer"}}`) {
		t.Errorf("got %s, %v", got, err)
	}
}

type writes int

func (writes) MarshalText() ([]byte, error) { return []byte("w"), nil }

type reads int

func (*reads) UnmarshalText([]byte) error { return nil }

// A type that encodes itself in one direction only has a schema for each.
func TestReadAndWrittenMayDiffer(t *testing.T) {
	for _, c := range []struct {
		t             reflect.Type
		read, written string
	}{
		{reflect.TypeFor[writes](), `{"type":"integer"}`, `{"type":"string"}`},
		{reflect.TypeFor[reads](), `{"type":"string"}`, `{"type":"integer"}`},
		{reflect.TypeFor[any](), `{}`, `{}`},
		{reflect.TypeFor[json.RawMessage](), `{}`, `{}`},
	} {
		read, err := Of(c.t, Read)
		written, errWritten := Of(c.t, Written)
		if err != nil || errWritten != nil || string(read) != c.read || string(written) != c.written {
			t.Errorf("%s: %s, %s, %v, %v", c.t, read, written, err, errWritten)
		}
	}
}
