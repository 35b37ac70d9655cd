package answer_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/corpus"
)

// lines decodes a file of the corpus, one T per line.
func lines[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	file, err := os.Open(corpus.Path(t, "json-repair/"+name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var line T
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func schemaOf(t testing.TB, schema string) *argcheck.Schema {
	t.Helper()
	compiled, err := argcheck.Compile([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

type pair struct {
	ID, Tier, Class, Input, Expect string
	Expected                       any
	Options                        map[string]any
}

func (p pair) kind() string {
	if p.Expect == "value" {
		switch p.Expected.(type) {
		case map[string]any:
			return "object"
		case []any:
			return "array"
		}
	}
	return ""
}

func means(value []byte, want any) bool {
	var got any
	return json.Unmarshal(value, &got) == nil && reflect.DeepEqual(got, want)
}

// What is read of the corpus is what others read. What breaks off, what leaves
// something out and what has more than one meaning is refused: of what breaks off the
// part that is there is what others make a whole of.
func TestBrokenJSONOfTheCorpus(t *testing.T) {
	check := map[string]*argcheck.Schema{"object": schemaOf(t, `{"type":"object"}`), "array": schemaOf(t, `{"type":"array"}`)}
	type count struct{ total, right, cut, refused, wrong int }
	counts := map[string]*count{}
	for _, p := range lines[pair](t, "pairs.jsonl") {
		if p.kind() == "" {
			continue
		}
		c := counts[p.Tier+" "+p.kind()]
		if c == nil {
			c = &count{}
			counts[p.Tier+" "+p.kind()] = c
		}
		c.total++
		value, err := answer.Read(p.Input, check[p.kind()])
		failure, _ := errors.AsType[*answer.Error](err)
		switch {
		case err == nil && means(value.JSON, p.Expected):
			c.right++
		case err == nil:
			c.wrong++
			t.Logf("other: %s %s: %q: %s (%s), others say %v", p.Tier, p.Class, p.Input, value.JSON, value.How, p.Expected)
		case failure.Reason == answer.Cut && means(failure.Part, p.Expected):
			c.cut++
		default:
			c.refused++
			t.Logf("refused: %s %s: %.200q: %v", p.Tier, p.Class, p.Input, err)
		}
	}
	for name, c := range counts {
		t.Logf("%s: of %d, %d are read as expected, %d reported as cut with the part expected, %d refused, %d read otherwise", name, c.total, c.right, c.cut, c.refused, c.wrong)
	}
	for name, least := range map[string]count{"must object": {right: 110, cut: 40}, "should object": {right: 21, cut: 7}, "must array": {right: 27, cut: 12}} {
		if c := counts[name]; c.right < least.right || c.cut < least.cut {
			t.Errorf("%s: fewer than %d are read, or fewer than %d reported as cut", name, least.right, least.cut)
		}
		if c := counts[name]; strings.HasSuffix(name, "object") && c.wrong > 0 {
			t.Errorf("%s: %d are read otherwise than others read them", name, c.wrong)
		}
	}
}

func TestWhatHasNoReadingIsNotRead(t *testing.T) {
	anything, total := schemaOf(t, "true"), 0
	for _, p := range lines[pair](t, "pairs.jsonl") {
		// Others refuse some sound JSON because it would be harmful in JavaScript, and
		// some of what breaks off because an option forbids it.
		if p.Expect == "value" || p.Expect == "text" || p.Class == "valid" || p.Options != nil {
			continue
		}
		total++
		if value, err := answer.Read(p.Input, anything); err == nil {
			t.Errorf("%q became %s (%s)", p.Input, value.JSON, value.How)
		}
	}
	t.Logf("%d texts, none read", total)
}

func TestRealTextsGiveTheJSONThatIsInThem(t *testing.T) {
	anything, total, right := schemaOf(t, "true"), 0, 0
	for _, real := range lines[struct {
		Text, Kind string
		Expected   any
	}](t, "real-llm-outputs.jsonl") {
		if real.Expected == nil {
			continue
		}
		total++
		value, err := answer.Read(real.Text, anything)
		if err == nil && means(value.JSON, real.Expected) {
			right++
		} else {
			t.Errorf("%s: %.300q: %.200s, %v", real.Kind, real.Text, value.JSON, err)
		}
	}
	t.Logf("%d of %d", right, total)
}

func TestWholeIsWhatTheStandardSays(t *testing.T) {
	anything := schemaOf(t, "true")
	for _, test := range lines[struct{ Name, Expect, B64 string }](t, "jsontestsuite.jsonl") {
		text, err := base64.StdEncoding.DecodeString(test.B64)
		if err != nil {
			t.Fatal(err)
		}
		value, err := answer.Read(string(text), anything)
		isWhole := err == nil && value.How == answer.Whole
		switch {
		case test.Expect == "reject" && isWhole:
			t.Errorf("%s is whole", test.Name)
		case test.Expect == "accept" && !isWhole:
			t.Logf("%s is not: %.60q", test.Name, text) // given twice
		}
	}
}
