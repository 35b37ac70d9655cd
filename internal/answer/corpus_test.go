package answer_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"reflect"
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

// certainlyNot are the pairs that are refused though others read them, and why: there is
// more than one reading, and nothing in the text says which is meant.
var certainlyNot = map[string][]string{
	"a quote is missing before the last brackets, or the text breaks off in a string that has brackets": {
		"jr0071", "jr0078", "jr0577", "jr0650", "jr0657", "jr0660", "jr0701", "jr0708", "jr0709", "jr0710", "jr0073", "jr0082", "jr0148", "jr0314"},
	"a field has no value: others make up null or an empty text":                                     {"jr0171", "jr0550", "jr0675"},
	"words that belong nowhere: others drop them":                                                    {"jr0639", "jr0640", "jr0645", "jr0646", "jr0603", "jr0310", "jr0673", "jr0695"},
	"a number that is none: it may be a text, or have lost a digit":                                  {"jr0343", "jr0404", "jr0611", "jr0625", "jr0341", "jr0373", "jr0403", "jr0628"},
	"a quote may be spare, or be part of the text":                                                   {"jr0582", "jr0598", "jr0648", "jr0696", "jr0724", "jr0735", "jr0597"},
	"texts without quotes that have commas, colons or brackets in them":                              {"jr0649", "jr0655", "jr0315", "jr0390"},
	"a bracket is missing or one too many, and may be so in several places":                          {"jr0580", "jr0663", "jr0674", "jr0680", "jr0290", "jr0291", "jr0307"},
	"a text that holds JSON whose quotes are escaped in three ways":                                  {"jr0665", "jr0256"},
	"two values, both of which fit":                                                                  {"jr0678", "jr0538", "jr0677"},
	"a plus between strings may join them, or be part of a text whose quotes are not escaped":        {"jr0354", "jr0091", "jr0092"},
	"a line break in a name: others drop it":                                                         {"jr0715"},
	"what others read has a quote more than is written":                                              {"jr0638"},
	"quotes are missing in more than one place, or between two texts":                                {"jr0083", "jr0140", "jr0146"},
	"a value of an array may be missing before a comma":                                              {"jr0260", "jr0261", "jr0262"},
	"one word in brackets is prose as well as a list":                                                {"jr0068", "jr0339", "jr0340"},
	"an array is asked for, and there are values that others put into one":                           {"jr0389", "jr0391", "jr0393", "jr0394", "jr0395", "jr0396", "jr0398", "jr0537"},
	"an object's brackets are missing, or an array's are wrong, or its names have lost their values": {"jr0584", "jr0586", "jr0588", "jr0771"},
}

// The reader that guessed took 166 of the 176 objects that must be read and 35 of the 76
// that should be, and said of 45 and 10 of these that a part of them was missing: 121 and
// 25 were whole. Those numbers are the least that must be reached, counted both ways: what
// is read, and what is read or reported as incomplete with the part that is there.
var leastBefore = map[string]struct{ read, readOrIncomplete int }{"must object": {121, 166}, "should object": {25, 35}}

// What is read of the corpus is what others read. What breaks off and what leaves
// something out is reported as such: the part that is there is what others make a whole
// of. What has more than one meaning is refused.
func TestBrokenJSONOfTheCorpus(t *testing.T) {
	check := map[string]*argcheck.Schema{"object": schemaOf(t, `{"type":"object"}`), "array": schemaOf(t, `{"type":"array"}`)}
	reasons := map[string]string{}
	for reason, ids := range certainlyNot {
		for _, id := range ids {
			reasons[id] = reason
		}
	}
	type count struct{ total, read, incomplete, shorter, refused, otherwise int }
	counts := map[string]*count{}
	for _, p := range lines[pair](t, "pairs.jsonl") {
		if p.kind() == "" || p.Tier == "policy" {
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
		isIncomplete := err != nil && (failure.Reason == answer.Cut || failure.Reason == answer.LeftOut)
		switch {
		case err == nil && means(value.JSON, p.Expected):
			c.read++
		case err == nil:
			c.otherwise++
			t.Logf("read otherwise: %s %s %s: %q: %s (%s), others say %v", p.ID, p.Tier, p.Class, p.Input, value.JSON, value.How, p.Expected)
		case isIncomplete && means(failure.Part, p.Expected):
			c.incomplete++
			continue
		case isIncomplete && p.Class == "truncated":
			c.shorter++
			continue
		default:
			c.refused++
			t.Logf("refused: %s %s %s: %.200q: %v", p.ID, p.Tier, p.Class, p.Input, err)
		}
		if isRead := err == nil && means(value.JSON, p.Expected); isRead == (reasons[p.ID] != "") {
			t.Errorf("%s: %q: read: %t, but the table says %q", p.ID, p.Input, isRead, reasons[p.ID])
		}
	}
	for name, c := range counts {
		t.Logf("%s: of %d, %d are read as expected, %d reported as incomplete with the part expected, %d with less, %d refused, %d read otherwise",
			name, c.total, c.read, c.incomplete, c.shorter, c.refused, c.otherwise)
	}
	for name, least := range leastBefore {
		if c := counts[name]; c.read < least.read || c.read+c.incomplete < least.readOrIncomplete {
			t.Errorf("%s: %d are read and %d reported as incomplete, fewer than before", name, c.read, c.incomplete)
		}
	}
	for name, least := range map[string]count{"must object": {read: 122, incomplete: 44}, "should object": {read: 30, incomplete: 8}, "must array": {read: 33, incomplete: 23}, "should array": {read: 2}} {
		if c := counts[name]; c.read < least.read || c.incomplete < least.incomplete {
			t.Errorf("%s: fewer than %d are read, or fewer than %d reported as incomplete", name, least.read, least.incomplete)
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
