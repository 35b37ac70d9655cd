package pipeline

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/rawjson"
)

func TestItemsAreTextHoweverTheyAreWritten(t *testing.T) {
	tests := []struct {
		written string
		want    []string
	}{
		{`["a", {"id": "US-1", "title": "Log \"in\"", "none": null, "tags": ["x", "y"]}, 3, true, null, ""]`,
			[]string{"a", `id: US-1; title: Log "in"; tags: x, y`, "3", "true"}},
		{`"just one"`, []string{"just one"}},
		{` {"a": {"b": 1}} `, []string{"a: b: 1"}},
		{`null`, []string{}},
		{`[]`, []string{}},
	}
	for _, test := range tests {
		var items Items
		if err := json.Unmarshal([]byte(test.written), &items); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, items.Strings()); diff != "" {
			t.Errorf("%s: %s", test.written, diff)
		}
	}
	item := Item{`{"id": "US-1", "n": 2}`}
	if item.Field("id") != "US-1" || item.Field("n") != "2" || item.Field("x") != "" || TextItem("a\n").Field("id") != "" {
		t.Error("the fields of an item are wrong")
	}
	if data, err := json.Marshal(struct {
		A Item
		B Items
		C Item
	}{C: TextItem("<\n")}); err != nil || string(data) != `{"A":null,"B":[],"C":"\u003c\n"}` {
		t.Errorf("%s %v", data, err)
	}
}

func TestDecodingTakesWhatItCanUse(t *testing.T) {
	var output Output
	err := json.Unmarshal([]byte(`{"status": "partial", "STATUS": "success", "phase": "qa", "outputs": {"a": [1]},
		"artifacts": [{"name": "r.json", "NAME": "x", "content": {"a": 1}, "path": null, "metadata": {"k": 1}}, "loose"],
		"validation": "all good",
		"next_phase": {"ready": "true", "Ready": true, "blockers": "one"}, "errors": {"code": 3}}`), &output)
	if err != nil {
		t.Fatal(err)
	}
	want := Output{
		Status: "partial", Phase: "qa", Outputs: json.RawMessage(`{"a": [1]}`),
		Artifacts: []Artifact{{Name: "r.json", Content: `{"a": 1}`, Metadata: map[string]any{"k": 1.0}}, {}},
		NextPhase: NextPhase{Blockers: Items{TextItem("one")}},
		Errors:    Items{{`{"code": 3}`}},
	}
	if diff := cmp.Diff(want, output, cmp.AllowUnexported(Item{})); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`[]`), &output); err == nil {
		t.Error("an array is no output")
	}
}

func TestStringsMeanWhatTheStandardLibrarySays(t *testing.T) {
	for _, quoted := range []string{`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\u0000\u2028x"`, `"\ud83d\ude00!"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`,
		`"\ude00\ud83d"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"é\\"`} {
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil {
			t.Fatal(err)
		}
		if got := rawjson.Unquote([]byte(quoted)); got != want {
			t.Errorf("%s: got %q, want %q", quoted, got, want)
		}
	}
}

// A text takes any value, whatever it was before.
func TestATextTakesAnyValue(t *testing.T) {
	for value, want := range map[string]anyText{` "a\u00e9" `: "aé", " null ": "", `{"a": 1}`: `{"a": 1}`, "7": "7", `""`: ""} {
		text := anyText("before")
		if err := text.UnmarshalJSON([]byte(value)); err != nil || text != want {
			t.Errorf("%s: %q, %v", value, text, err)
		}
	}
}

func TestOnlyAnObjectIsAnOutput(t *testing.T) {
	for _, text := range []string{"", " \n", "[]", `"{}"`, "null"} {
		if err := new(Output).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%q is an output", text)
		}
	}
	o := Output{Phase: "before"}
	if err := o.UnmarshalJSON([]byte(" {}")); err != nil || o.Phase != "" || o.Artifacts == nil {
		t.Errorf("%+v, %v", o, err)
	}
}
