package answer

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// hostile are texts of about the size that make readers go back and forth.
func hostile(size int) map[string]string {
	parts := []string{"{", "[", `{"a":`, `{"a":[`, `[{"a":0,`, `{"":{"`, `{":{":`, `{}`, `{"a":{}}`, `{"a":"\"`, "```", "'", "{'", "a:1 ", `"x" `, `"x`, `"a":1,`, `"a":[1],`, `{"a} `,
		`{"a":"x}`, "{a:(} ", `","`, "<think>", "{\"a\":/*", "{x} ", "[1] ", "{\"a\": ...} ", "//", "# \"", `\`, `\"`, strings.Repeat(`{"a":`, 60) + "0" + strings.Repeat("}", 60)}
	texts := map[string]string{}
	for i, part := range parts {
		start := []string{"", `{"a":`, `{'a':[`, "{'a':1,"}[i%4]
		texts[start+part] = start + strings.Repeat(part, size/len(part))
	}
	return texts
}

func stringSchema(t testing.TB) *argcheck.Schema {
	schema, err := argcheck.Compile([]byte(`{"type": "object", "required": ["wanted"]}`))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The bytes looked at are in proportion to the length of the text, whatever is in it.
func TestWorkIsInProportionToTheText(t *testing.T) {
	check, worst, all := stringSchema(t), 0.0, hostile(160_000)
	for name, text := range hostile(20_000) {
		perByte := growth(t, check, name, text, all[name])
		worst = max(worst, perByte)
		if perByte > 2000 {
			t.Errorf("%.20q: %.0f bytes are looked at for each", name, perByte)
		}
	}
	t.Logf("at worst %.0f bytes are looked at for each", worst)
}

// growth reads a text and a longer one of the same kind, fails the test if the longer one
// takes more work or memory for each byte, and returns how much work it takes.
func growth(t *testing.T, check Checker, name, text, longer string) (perByte float64) {
	t.Helper()
	work, memory := effort(check, text)
	perByte, longMemory := effort(check, longer)
	if perByte > 1.5*work {
		t.Errorf("%.20q: %.1f bytes are looked at for each of %d, %.1f for each of %d", name, work, len(text), perByte, len(longer))
	}
	if longMemory > 2*memory+1 {
		t.Errorf("%.20q: %.1f bytes of memory for each of %d, %.1f for each of %d", name, memory, len(text), longMemory, len(longer))
	}
	return perByte
}

// effort returns how many bytes are looked at for each byte of a text, and how many
// allocated, given back or not.
func effort(check Checker, text string) (work, memory float64) {
	r := reader{check: check}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = r.read(text)
	runtime.ReadMemStats(&after)
	size := float64(len(text))
	return float64(r.work) / size, float64(after.TotalAlloc-before.TotalAlloc) / size
}

// ordinary are texts of about the size as models write them: sound, with something around
// it, broken in several ways, cut.
func ordinary(size int) map[string]string {
	item := `{"id": "US-1", "title": "Log in", "text": "As a \"user\" I want to log in,\nso that I see my things."}, `
	list := strings.ReplaceAll(strings.Repeat(item, size/len(item)), "\n", `\n`)
	whole := `{"wanted": [` + strings.TrimSuffix(list, ", ") + `]}`
	return map[string]string{
		"whole": whole, "embedded": "Here:\n```json\n" + whole + "\n```\nDone.", "mended": strings.Replace(whole, "]}", "],}", 1),
		"python": strings.NewReplacer(`\"`, `"`, `"`, `'`).Replace(whole), "cut": whole[:len(whole)*9/10], "quotes": `{"a":` + strings.Repeat(`"x`, size/2),
		"repeated": strings.TrimSuffix(whole, "}") + `, "wanted": 1}`,
	}
}

// Up to a megabyte, the bytes looked at and the memory taken are in proportion to the
// text. BenchmarkRead has the times.
func TestWorkIsInProportionUpToAMegabyte(t *testing.T) {
	check, all := stringSchema(t), ordinary(1<<20)
	for name, text := range ordinary(64 << 10) {
		perByte := growth(t, check, name, text, all[name])
		t.Logf("%s: %.1f bytes are looked at for each", name, perByte)
	}
}

func BenchmarkRead(b *testing.B) {
	check := stringSchema(b)
	for _, size := range []int{64 << 10, 1 << 20} {
		for name, text := range ordinary(size) {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					_, _ = Read(text, check)
				}
			})
		}
	}
}

// What is read is sound and fits; what is sound is read as it is; nothing panics; two
// readings agree.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`{"a": "b"c", 'd': e, // f` + "\n" + `"g": [1. 2, "h" "i", ...], j: "\u00e9\x`, `{"a": "b, "c": 1}`, `{"a": ["b}]}`, "{\"a\": 1\n```", `{\"a\": \"b\"}`,
		"<think>{</think>{}", "{“a”: ‘b’, c: None}", `{"a" "b"}`, `{"a": {"b": [1}, "c": 2}`, `[{"a": 1], 2]`, "x {y} {\"a\": 1}, ", `{"a": tru`, `{"wanted": "x` + "\n" + `y"}`, `{"a":b"}`, "{`", "“"} {
		f.Add(text)
	}
	sound, err := argcheck.Compile([]byte(`{"type": "object"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := Read(text, sound)
		again, errAgain := Read(text, sound)
		if string(value.JSON) != string(again.JSON) || (err == nil) != (errAgain == nil) {
			t.Fatalf("two readings differ: %s, %s", value.JSON, again.JSON)
		}
		if err != nil {
			if Correction(err, "") == "" || len(err.(*Error).Problems) == 0 {
				t.Errorf("an error that says nothing: %v", err)
			}
			if part := err.(*Error).Part; part != nil && !json.Valid(part) {
				t.Errorf("the part is not sound: %s", part)
			}
			return
		}
		if sound.Check(value.JSON) != nil {
			t.Errorf("%s does not fit", value.JSON)
		}
		if value.How == Whole && value.Warnings == nil && string(value.JSON) != text {
			t.Errorf("%q became %s", text, value.JSON)
		}
		_ = CutOff(text)
	})
}

// A sound object is mended to itself.
func FuzzMend(f *testing.F) {
	for _, text := range []string{`{"a": [1, "b\n", {"c": null}]}`, `{"": "\u00e9\\", "x:y": {}}`, `{"a":"// #", "b": "'"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text[0] != '{' || anything.Check([]byte(text)) != nil {
			return
		}
		m, ok := mend([]byte(text))
		if !ok || !isSame(m.out, []byte(text)) {
			t.Errorf("%q became %s (%s)", text, m.out, m.doubt)
		}
	})
}
