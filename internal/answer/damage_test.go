package answer_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
)

// A document is a JSON text and where its tokens are.
type document struct {
	text    string
	value   any
	strings [][2]int // from quote to quote, both included
	marks   []int    // brackets, colons and commas outside of strings
}

func newDocument(value any, isIndented bool) document {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if isIndented {
		encoder.SetIndent("", "  ")
	}
	_ = encoder.Encode(value)
	d := document{text: strings.TrimSpace(out.String())}
	_ = json.Unmarshal([]byte(d.text), &d.value)
	for i := 0; i < len(d.text); i++ {
		switch {
		case d.text[i] == '"':
			start := i
			for i++; d.text[i] != '"'; i++ {
				if d.text[i] == '\\' {
					i++
				}
			}
			d.strings = append(d.strings, [2]int{start, i})
		case strings.IndexByte("{}[],:", d.text[i]) >= 0:
			d.marks = append(d.marks, i)
		}
	}
	return d
}

// at returns the places of some marks.
func (d document) at(marks string) (places []int) {
	for _, i := range d.marks {
		if strings.IndexByte(marks, d.text[i]) >= 0 {
			places = append(places, i)
		}
	}
	return places
}

// mapStrings writes each string anew.
func (d document) mapStrings(write func(inside string) string) string {
	var b strings.Builder
	end := 0
	for _, s := range d.strings {
		b.WriteString(d.text[end:s[0]])
		b.WriteString(write(d.text[s[0]+1 : s[1]]))
		end = s[1] + 1
	}
	b.WriteString(d.text[end:])
	return b.String()
}

// outside changes what is not within strings.
func (d document) outside(change func(string) string) string {
	var b strings.Builder
	end := 0
	for _, s := range d.strings {
		b.WriteString(change(d.text[end:s[0]]))
		b.WriteString(d.text[s[0] : s[1]+1])
		end = s[1] + 1
	}
	return b.String() + change(d.text[end:])
}

func without(text string, i int) string          { return text[:i] + text[i+1:] }
func with(text string, i int, add string) string { return text[:i] + add + text[i:] }

// A damage returns a text that was made of a document, "" where it does not apply.
type damage func(d document, random *rand.Rand) string

func pick[T any](random *rand.Rand, from []T) (one T, ok bool) {
	if len(from) == 0 {
		return one, false
	}
	return from[random.IntN(len(from))], true
}

// remove takes away one of some marks, but no comma between digits: nobody can tell
// that 12 was 1,2.
func remove(marks string) damage {
	return func(d document, random *rand.Rand) string {
		places := slices.DeleteFunc(d.at(marks), func(i int) bool {
			return d.text[i] == ',' && strings.ContainsAny(d.text[i-1:i], "0123456789") && strings.ContainsAny(d.text[i+1:i+2], "0123456789")
		})
		i, ok := pick(random, places)
		if !ok {
			return ""
		}
		return without(d.text, i)
	}
}

// double writes one of some marks twice.
func double(marks string) damage {
	return func(d document, random *rand.Rand) string {
		i, ok := pick(random, d.at(marks))
		if !ok {
			return ""
		}
		return with(d.text, i, d.text[i:i+1])
	}
}

// oneString writes the inside of one string anew, of those that this changes.
func oneString(change func(inside string) string) damage {
	return func(d document, random *rand.Rand) string {
		changed := slices.DeleteFunc(slices.Clone(d.strings), func(s [2]int) bool {
			inside := d.text[s[0]+1 : s[1]]
			return change(inside) == inside
		})
		s, ok := pick(random, changed)
		if !ok {
			return ""
		}
		return d.text[:s[0]+1] + change(d.text[s[0]+1:s[1]]) + d.text[s[1]:]
	}
}

func quoted(open, end string) damage {
	return func(d document, _ *rand.Rand) string {
		return d.mapStrings(func(inside string) string { return open + inside + end })
	}
}

// twice damages one place and then another.
func twice(a, b damage) damage {
	return func(d document, random *rand.Rand) string {
		first := a(d, random)
		i := random.IntN(len(d.text))
		if first == "" || i > len(first) {
			return ""
		}
		second := b(d, random)
		if second == "" || json.Valid([]byte(second)) {
			return ""
		}
		// The part that the second damage left alone is taken from the first.
		common := 0
		for common < len(second) && common < len(d.text) && second[common] == d.text[common] {
			common++
		}
		if shared := commonPrefix(first, d.text); shared < common {
			return first[:len(first)-len(d.text)+common] + second[common:]
		}
		return ""
	}
}

func commonPrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

var (
	unescapeQuotes  = func(inside string) string { return strings.ReplaceAll(inside, `\"`, `"`) }
	unescapeLines   = strings.NewReplacer(`\\`, `\\`, `\n`, "\n", `\t`, "\t").Replace
	unescapeSlashes = func(inside string) string { return strings.ReplaceAll(inside, `\\`, `\`) }
)

var damages = map[string]damage{
	"no damage":               func(d document, _ *rand.Rand) string { return d.text },
	"missing opening quote":   func(d document, r *rand.Rand) string { s, _ := pick(r, d.strings); return without(d.text, s[0]) },
	"missing closing quote":   func(d document, r *rand.Rand) string { s, _ := pick(r, d.strings); return without(d.text, s[1]) },
	"missing colon":           remove(":"),
	"missing comma":           remove(","),
	"missing opening bracket": remove("{["),
	"missing closing bracket": remove("}]"),
	"doubled quote": func(d document, r *rand.Rand) string {
		s, _ := pick(r, d.strings)
		return with(d.text, s[r.IntN(2)], `"`)
	},
	"doubled bracket": double("{}[]"),
	"doubled comma":   double(","),
	"doubled colon":   double(":"),
	"cut anywhere":    func(d document, r *rand.Rand) string { return d.text[:1+r.IntN(len(d.text)-1)] },
	"cut after a bracket": func(d document, r *rand.Rand) string {
		i, _ := pick(r, d.at("{}[]"))
		return d.text[:min(i+1, len(d.text)-1)]
	},
	"cut, in a fence": func(d document, r *rand.Rand) string {
		return "```json\n" + d.text[:1+r.IntN(len(d.text)-1)] + "\n```\n"
	},
	"unescaped quotes":           oneString(unescapeQuotes),
	"unescaped line breaks":      oneString(unescapeLines),
	"unescaped quotes and lines": unescapedAll,
	"unescaped backslashes":      oneString(unescapeSlashes),
	"one unescaped quote": func(d document, r *rand.Rand) string {
		var places []int
		for i := range d.text {
			if strings.HasPrefix(d.text[i:], `\"`) && (i == 0 || d.text[i-1] != '\\') {
				places = append(places, i)
			}
		}
		i, ok := pick(r, places)
		if !ok {
			return ""
		}
		return without(d.text, i)
	},
	"smart quotes":  quoted("“", "”"),
	"single quotes": quoted("'", "'"),
	"backquotes":    quoted("`", "`"),
	"python literals": func(d document, _ *rand.Rand) string {
		return d.outside(strings.NewReplacer("true", "True", "false", "False", "null", "None").Replace)
	},
	"names not quoted": func(d document, _ *rand.Rand) string { return nameless(d) },
	"comments": func(d document, r *rand.Rand) string {
		i, _ := pick(r, d.at(",{["))
		return with(d.text, i+1, []string{" // see \"below\", it's x: 1\n", " /* a, b: {c} */ ", " # todo\n"}[r.IntN(3)])
	},
	"trailing comma": func(d document, r *rand.Rand) string { i, _ := pick(r, d.at("}]")); return with(d.text, i, ",") },
	"prose around": func(d document, _ *rand.Rand) string {
		return "Here {it} is, as [you] asked:\n\n" + d.text + "\n\nIt's {done}: anything else?"
	},
	"fence": func(d document, _ *rand.Rand) string { return "Sure:\n```json\n" + d.text + "\n```\nThat was \"it\"." },
	"thoughts": func(d document, _ *rand.Rand) string {
		return "<think>\nMaybe {\"status\": \"draft\"}? No.\n</think>\n" + d.text
	},
	"two values": func(d document, _ *rand.Rand) string {
		return "Either\n" + d.text + "\nor\n" + strings.Replace(d.text, `"`, `"x`, 1)
	},
	"a sound one and a broken one": func(d document, _ *rand.Rand) string {
		return d.text + "\nor\n" + strings.Replace(strings.Replace(d.text, `"`, `"x`, 1), ",", ",,", 1)
	},
	"swallowed structure": func(d document, r *rand.Rand) string {
		n := r.IntN(max(1, len(d.strings)-1))
		if n+1 >= len(d.strings) {
			return ""
		}
		return without(without(d.text, d.strings[n+1][0]), d.strings[n][1])
	},
	"other bracket": func(d document, r *rand.Rand) string {
		i, _ := pick(r, d.at("{}[]"))
		return d.text[:i] + strings.NewReplacer("{", "[", "}", "]", "[", "{", "]", "}").Replace(d.text[i:i+1]) + d.text[i+1:]
	},
	"left out": func(d document, r *rand.Rand) string { i, _ := pick(r, d.at("}]")); return with(d.text, i, ", ...") },
	"missing value": func(d document, r *rand.Rand) string {
		s, _ := pick(r, d.strings)
		if strings.HasPrefix(strings.TrimSpace(d.text[s[1]+1:]), "]") {
			return "" // what is left has a trailing comma, or is sound
		}
		return d.text[:s[0]] + d.text[s[1]+1:]
	},
	"put in a string": func(d document, _ *rand.Rand) string {
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(d.text)
	},
	"two missing quotes":           twice(func(d document, r *rand.Rand) string { s, _ := pick(r, d.strings); return without(d.text, s[1]) }, func(d document, r *rand.Rand) string { s, _ := pick(r, d.strings); return without(d.text, s[1]) }),
	"missing quote and bracket":    twice(func(d document, r *rand.Rand) string { s, _ := pick(r, d.strings); return without(d.text, s[1]) }, remove("{}[]")),
	"missing comma, quotes inside": twice(remove(","), oneString(unescapeQuotes)),
	"missing colon and comma":      twice(remove(":"), remove(",")),
}

func unescapedAll(d document, _ *rand.Rand) string {
	for _, s := range d.strings {
		one := d.text[:s[0]+1] + unescapeQuotes(d.text[s[0]+1:s[1]]) + d.text[s[1]:]
		if one != d.text && json.Valid([]byte(one)) {
			return "" // the quotes of one string make another document of it
		}
	}
	return d.mapStrings(func(s string) string { return `"` + unescapeLines(unescapeQuotes(s)) + `"` })
}

// nameless writes names without quotes where they are plain words.
func nameless(d document) string {
	var b strings.Builder
	end := 0
	for _, s := range d.strings {
		name := d.text[s[0]+1 : s[1]]
		if rest := strings.TrimSpace(d.text[s[1]+1:]); !strings.HasPrefix(rest, ":") || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			continue
		}
		b.WriteString(d.text[end:s[0]] + name)
		end = s[1] + 1
	}
	return b.String() + d.text[end:]
}

var update = flag.Bool("update", false, "write what is on record in testdata anew")

// No damage makes a wrong value of a document, whatever the schema asks for: this one
// asks for nothing but an object. How much is read in spite of the damage is on record, and
// so is, as a digest, what exactly was read of each text or why it was not.
func TestNoDamageMakesAWrongValue(t *testing.T) {
	check := schemaOf(t, `{"type": "object"}`)
	documents := damageDocuments(rand.New(rand.NewPCG(seed(t))))
	if len(documents) != 64 {
		t.Fatalf("%d documents", len(documents))
	}
	const tries = 24
	names, all, allRead, wrong := []string{}, 0, 0, 0
	var record strings.Builder
	for name := range damages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		random := rand.New(rand.NewPCG(seed(t)))
		seen, read, unnoticed := map[string]bool{}, 0, 0
		digest := fnv.New64a()
		for n, d := range documents {
			for range tries {
				text := damages[name](d, random)
				if text == "" || seen[text] {
					continue
				}
				seen[text] = true
				value, err := answer.Read(text, check)
				fmt.Fprintln(digest, string(value.JSON), value.How, value.Warnings, err)
				if err != nil {
					continue
				}
				var got any
				if err := json.Unmarshal(value.JSON, &got); err != nil {
					t.Fatal(err)
				}
				switch {
				case reflect.DeepEqual(got, d.value):
					read++
				case value.How == answer.Whole:
					unnoticed++ // it is sound JSON that says something else
				default:
					wrong++
					if wrong < 12 {
						t.Errorf("%s, document %d (%s): %s", name, n, value.How, differences(got, d.value, text))
					}
				}
			}
		}
		all, allRead = all+len(seen), allRead+read
		fmt.Fprintf(&record, "%-30s %5d texts, %5d read, %3d sound with another meaning, %016x\n", name, len(seen), read, unnoticed, digest.Sum64())
	}
	fmt.Fprintf(&record, "%d kinds of damage, %d texts, %d read, %d wrong\n", len(names), all, allRead, wrong)
	t.Log("\n" + record.String())
	if os.Getenv("TROUPE_SEED") == "" {
		compare(t, "damage.txt", record.String())
	}
}

// compare holds something against what is on record of it in testdata.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, now := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(before), len(now)) {
		if i >= len(before) || i >= len(now) || before[i] != now[i] {
			t.Errorf("line %d of %s is now\n%s\nRead what changed; go test -update puts it on record.", i+1, file, now[min(i, len(now)-1)])
		}
	}
}

// seed is fixed, so that a failure repeats; TROUPE_SEED tries others.
func seed(t *testing.T) (uint64, uint64) {
	n, err := strconv.ParseUint(cmp.Or(os.Getenv("TROUPE_SEED"), "7"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n, 11
}

func differences(got, want any, text string) string {
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	i := commonPrefix(string(a), string(b))
	j := max(0, i-80)
	return fmt.Sprintf("read\n%.200s\nfor\n%.200s\nout of %.500s", a[j:], b[j:], text)
}
