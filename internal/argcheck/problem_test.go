package argcheck

import (
	"errors"
	"testing"
)

// What nodes check and what is left to jsonschema tells the same of a problem.
func TestProblemsSayWhatIsMissingAndAllowed(t *testing.T) {
	for _, more := range []string{"", `, "not": {"required": ["never"]}`} {
		schema, err := Compile([]byte(`{"required": ["x"], "properties": {"a": {"enum": ["One", "Two", 3]}, "b": {"const": "Only"}}` + more + `}`))
		if err != nil {
			t.Fatal(err)
		}
		mismatch, ok := errors.AsType[*Mismatch](schema.Check([]byte(`{"a": "one", "b": "only"}`)))
		if !ok || len(mismatch.Problems) != 3 {
			t.Fatalf("got %v", mismatch)
		}
		for _, p := range mismatch.Problems {
			want := map[string]string{"/a": `["One","Two"]`, "/b": `["Only"]`}[p.Path]
			if p.Options != want || p.IsMissing != (p.Path == "/x") {
				t.Errorf("%s: options %s, missing %v", p.Path, p.Options, p.IsMissing)
			}
		}
	}
}
