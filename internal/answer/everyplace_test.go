package answer_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
)

// Whatever character of an answer is lost, added or out of place: where it is read all the
// same, no number, no name and nothing of its shape is another one. Nobody can tell what is
// lost within a text.
func TestDamageAtEveryPlaceChangesNoNumber(t *testing.T) {
	const good = `{"id":"A-17","title":"Say \"hi\", he said: go","price":120.5,"count":12,"paid":true,"tags":["a","b, c"],"lines":[{"name":"x","n":10},{"name":"y: z","n":25,"note":"n, o"}]}`
	check := schemaOf(t, `{"type": "object", "required": ["id", "title", "price", "count", "paid", "tags", "lines"], "properties": {
		"id": {"type": "string"}, "title": {"type": "string"}, "price": {"type": "number"}, "count": {"type": "integer"}, "paid": {"type": "boolean"},
		"tags": {"type": "array", "items": {"type": "string"}}, "lines": {"type": "array", "items": {"type": "object", "required": ["name", "n"], "additionalProperties": false,
			"properties": {"name": {"type": "string"}, "n": {"type": "integer"}, "note": {"type": "string"}}}}}}`)
	var want any
	if err := json.Unmarshal([]byte(good), &want); err != nil {
		t.Fatal(err)
	}
	read := 0
	try := func(damaged string) {
		value, err := answer.Read(damaged, check)
		if err != nil || value.How == answer.Whole {
			return // it is refused, or sound JSON that says something else
		}
		read++
		var got any
		if err := json.Unmarshal(value.JSON, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(withoutTexts(got), withoutTexts(want)) {
			t.Errorf("%s was read of %s", value.JSON, damaged)
		}
	}
	for i := range len(good) - 1 {
		for _, added := range []string{`"`, "}", "]", ",", ":", "{", "\n"} {
			try(good[:i] + added + good[i:])
		}
		try(good[:i] + good[i+1:])
		try(good[:i] + good[min(i+2, len(good)):])
		try(good[:i] + good[i+1:i+2] + good[i:i+1] + good[i+2:])
	}
	if read < 50 {
		t.Errorf("only %d are read", read)
	}
}

// withoutTexts returns a value with nothing left of its texts.
func withoutTexts(value any) any {
	switch v := value.(type) {
	case string:
		return "text"
	case []any:
		for i := range v {
			v[i] = withoutTexts(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withoutTexts(v[name])
		}
	}
	return value
}
