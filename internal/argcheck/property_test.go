package argcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	sampleNames   = []string{"a", "b", "é", `q"`, "~/", "long name"}
	sampleStrings = []string{`""`, `"a"`, `"b"`, `"\u0061"`, `"é"`, `"\u00e9\ud83d\ude00"`, `"\ud800"`, `"a\nb"`, `"aaaa"`, `"\/\\\""`}
	sampleNumbers = []string{"0", "-0.0", "1", "1.0", "10e-1", "2", "-3", "-20", "-0.5", "2.5", "0.25e1", "1e3", "1000", "12345678901234567890", "12345678901234567891", "1e-3"}
	samplePattern = []string{"^a", "^$", "b$", `^\p{L}+$`, "."}
)

// drawSchema draws a schema of the keywords that nodes express.
func drawSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "boolean schema") == 0 {
		return rapid.Bool().Draw(t, "schema")
	}
	schema := map[string]any{"description": "a note"}
	maybe := func(keyword string, value func() any) {
		if rapid.IntRange(0, 3).Draw(t, keyword) == 0 {
			schema[keyword] = value()
		}
	}
	count := func() any { return rapid.IntRange(0, 3).Draw(t, "count") }
	number := func() any { return json.Number(rapid.SampledFrom(sampleNumbers).Draw(t, "number")) }
	kind := rapid.SampledFrom(kindNames[:])
	maybe("type", func() any {
		if rapid.Bool().Draw(t, "one type") {
			return kind.Draw(t, "type")
		}
		return rapid.SliceOfNDistinct(kind, 1, 3, rapid.ID).Draw(t, "types")
	})
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		maybe(keyword, number)
	}
	for _, keyword := range []string{"minLength", "maxLength", "minItems", "maxItems"} {
		maybe(keyword, count)
	}
	maybe("pattern", func() any { return rapid.SampledFrom(samplePattern).Draw(t, "pattern") })
	maybe("required", func() any {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(sampleNames), 0, 2, rapid.ID).Draw(t, "required")
	})
	scalar := func() any { return json.RawMessage(drawScalar(t)) }
	if rapid.IntRange(0, 5).Draw(t, "options") == 0 {
		if rapid.Bool().Draw(t, "const") {
			schema["const"] = scalar()
		} else {
			schema["enum"] = []any{scalar(), scalar(), scalar()}
		}
	}
	if depth > 0 {
		child := func() any { return drawSchema(t, depth-1) }
		maybe("items", child)
		maybe("additionalProperties", child)
		maybe("properties", func() any {
			properties := map[string]any{}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom(sampleNames), 1, 3).Draw(t, "names") {
				properties[name] = child()
			}
			return properties
		})
	}
	return schema
}

func drawScalar(t *rapid.T) string {
	samples := slices.Concat(sampleStrings, sampleNumbers, []string{"true", "false", "null"})
	return rapid.SampledFrom(samples).Draw(t, "scalar")
}

// drawText draws a JSON text, which may give a field twice.
func drawText(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")
	form := rapid.IntRange(0, 2).Draw(t, "form")
	if depth == 0 || form == 0 {
		return space + drawScalar(t) + space
	}
	var parts []string
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		part := drawText(t, depth-1)
		if form == 1 {
			name, err := json.Marshal(rapid.SampledFrom(sampleNames).Draw(t, "name"))
			if err != nil {
				t.Fatal(err)
			}
			part = string(name) + space + ":" + part
		}
		parts = append(parts, part)
	}
	if form == 1 {
		return "{" + space + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + space + "]"
}

func TestNodesAndTheFullPathFindTheSameProblems(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text, err := json.Marshal(drawSchema(rt, 2))
		if err != nil {
			rt.Fatal(err)
		}
		schema, err := Compile(text)
		if err != nil || schema.rest != nil {
			rt.Fatalf("%s: not compiled to nodes: %v", text, err)
		}
		full := fullOf(t, text)
		for range 10 {
			doc := drawText(rt, 3)
			got, want := placesOf(rt, schema.Check([]byte(doc))), placesOf(rt, full.Check([]byte(doc)))
			if !slices.Equal(got, want) {
				rt.Fatalf("schema %s\ntext %s\nnodes %s\nfull  %s", text, doc, got, want)
			}
		}
	})
}

// placesOf returns the paths of the problems, each once, or their number where not
// all are listed. Of a text that gives a field twice only that is told.
func placesOf(t *rapid.T, err error) (places []string) {
	if err == nil {
		return nil
	}
	mismatch, ok := errors.AsType[*Mismatch](err)
	if !ok {
		t.Fatalf("a sound text was not read: %v", err)
	}
	for _, problem := range mismatch.Problems {
		if problem.Expected == "given twice" {
			return []string{"twice"}
		}
		places = append(places, problem.Path)
	}
	if mismatch.More > 0 {
		return []string{fmt.Sprint(len(places) + mismatch.More)}
	}
	slices.Sort(places)
	return slices.Compact(places)
}
