package pipeline

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"reflect"
	"testing"

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

// isSound fits all JSON: what read finds with it depends on syntax alone.
func isSound(t *testing.T) func([]byte) bool {
	schema, err := argcheck.Compile([]byte("true"))
	if err != nil {
		t.Fatal(err)
	}
	return func(text []byte) bool { return schema.Check(text) == nil }
}

type pair struct {
	ID, Tier, Class, Input, Expect string
	Expected                       any
	Options                        map[string]any
}

func (p pair) isObject() bool {
	_, ok := p.Expected.(map[string]any)
	return ok && p.Expect == "value"
}

// Objects are read as others read them. Arrays and scalars are only looked at where
// they are the whole text: no phase answers with one.
func TestBrokenObjectsOfTheCorpusAreRead(t *testing.T) {
	fits := isSound(t)
	floors := map[string]float64{"must": 0.90, "should": 0.40}
	total, right, ambiguous := map[string]int{}, map[string]int{}, 0
	for _, p := range lines[pair](t, "pairs.jsonl") {
		r, err := read(p.Input, fits)
		if again, _ := read(p.Input, fits); string(again.value) != string(r.value) {
			t.Errorf("%s: two readings differ", p.ID)
		}
		if !p.isObject() {
			continue
		}
		total[p.Tier]++
		if err != nil {
			ambiguous++
		}
		var got any
		if json.Unmarshal(r.value, &got) == nil && reflect.DeepEqual(got, p.Expected) {
			right[p.Tier]++
		} else {
			t.Logf("%s %s: %q: %s, want %v (%s, %v)", p.Tier, p.Class, p.Input, r.value, p.Expected, r.level, err)
		}
	}
	for tier, floor := range floors {
		t.Logf("%s: %d of %d objects are read as expected", tier, right[tier], total[tier])
		if float64(right[tier]) < floor*float64(total[tier]) {
			t.Errorf("%s: fewer than %.0f%%", tier, 100*floor)
		}
	}
	t.Logf("%d objects are ambiguous and not read", ambiguous)
}

func TestWhatCannotBeRepairedIsNot(t *testing.T) {
	fits, total := isSound(t), 0
	for _, p := range lines[pair](t, "pairs.jsonl") {
		// Others refuse some sound JSON because it would be harmful in JavaScript, and
		// some of what breaks off because an option forbids it.
		if p.Expect == "value" || p.Expect == "text" || p.Class == "valid" || p.Options != nil {
			continue
		}
		total++
		if r, _ := read(p.Input, fits); r.value != nil {
			t.Errorf("%q became %s (%s)", p.Input, r.value, r.level)
		}
	}
	t.Logf("%d texts, none read", total)
}

// Nothing that was not written for a phase passes for its answer, and real answers
// around JSON give exactly that JSON.
func TestRealTextsAreReadAndPassForNoPhase(t *testing.T) {
	fits, total, right := isSound(t), 0, 0
	var texts []string
	for _, p := range lines[pair](t, "pairs.jsonl") {
		texts = append(texts, p.Input)
	}
	for _, real := range lines[struct {
		Text, Kind string
		Expected   any
	}](t, "real-llm-outputs.jsonl") {
		texts = append(texts, real.Text)
		if real.Expected == nil {
			continue
		}
		total++
		r, err := read(real.Text, fits)
		var got any
		if json.Unmarshal(r.value, &got) == nil && reflect.DeepEqual(got, real.Expected) {
			right++
		} else {
			t.Logf("%s: %.200q: %.200s, %v", real.Kind, real.Text, r.value, err)
		}
	}
	t.Logf("%d of %d real texts give the JSON that is in them", right, total)
	if float64(right) < 0.97*float64(total) {
		t.Error("fewer than 97%")
	}
	for _, phase := range builtInPhases {
		c := contractOf(t, phase)
		for _, text := range texts {
			if parsed, err := c.Parse(text); parsed.Level != LevelRaw || err != nil {
				t.Errorf("%s: %.100q passed as %s, %v", phase, text, parsed.Level, err)
			}
		}
	}
}

func TestStrictIsWhatTheStandardSays(t *testing.T) {
	fits := isSound(t)
	for _, test := range lines[struct{ Name, Expect, B64 string }](t, "jsontestsuite.jsonl") {
		text, err := base64.StdEncoding.DecodeString(test.B64)
		if err != nil {
			t.Fatal(err)
		}
		isStrict := fits(text)
		switch {
		case test.Expect == "reject" && isStrict:
			t.Errorf("%s is strict", test.Name)
		case test.Expect == "accept" && !isStrict:
			t.Logf("%s is not: %.60q", test.Name, text) // given twice
		}
	}
}
