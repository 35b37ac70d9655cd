package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/provider"
)

func TestNamesAreFoundAsPeopleWriteThem(t *testing.T) {
	for _, test := range []struct{ provider, name, want string }{
		{"openai", "gpt-4.1-mini", "gpt-4.1-mini"},
		{"openai", "gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"},
		{"openai", "GPT-4o", "gpt-4o"},
		{"openai", "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"},
		{"openai", "gpt-4o-2031-01-01", "gpt-4o"},
		{"openai", "gpt-4.1-mi", ""},
		{"openai", "gpt", ""},
		{"openai", "gpt-4.1-minimal", ""},
		{"openai", "", ""},
		{"nobody", "gpt-4o", ""},
		{"anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5"},
		{"anthropic", "claude-sonnet-4.5", "claude-sonnet-4-5"},
		{"anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"},
		{"anthropic", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5"},
		{"gemini", "models/gemini-2.5-flash", "gemini-2.5-flash"},
		{"gemini", "gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"},
		{"google", "gemini-2.5-flash", "gemini-2.5-flash"},
		{"moonshot", "kimi-k2-0905-preview", "kimi-k2-0905-preview"},
		{"mistral", "mistral-small-latest", "mistral-small-latest"},
	} {
		got, ok := Find(test.provider, test.name)
		if ok != (test.want != "") || ok && !slices.Contains(spellings(got), test.want) {
			t.Errorf("%s/%s is %q, want %q", test.provider, test.name, got.Name, test.want)
		}
	}
}

// spellings are all names of the entry.
func spellings(info Info) []string {
	e := Builtin().providers[info.Provider].models[info.Name]
	return append([]string{info.Name}, e.Also...)
}

func TestNameRules(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-5-2025-08-07": "gpt-5", "claude-x@20250514": "claude-x", "command-r-08-2024": "command-r", "kimi-k2-0905": "kimi-k2", "a-latest": "a",
		"llama3-70b-8192": "llama3-70b-8192", "us.anthropic.claude-3": "anthropic.claude-3", "x/y:free": "x/y", "x/y:7b": "x/y:7b", "Qwen2.5.1": "qwen2-5-1",
		"accounts/fireworks/models/m": "m", "@cf/meta/m": "meta/m", "gpt-4-32k": "gpt-4-32k", "use.me": "use.me",
	} {
		if got := forms(name)[2]; got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

func TestWhatIsKnownOfAModel(t *testing.T) {
	c, err := Parse([]byte(`{"version":1,"date":"2026-01-02","providers":{
		"maker":{"m-1":{"context":1000,"output":100,"price":[2,8,0.5,2.5],"above":[[500,4,16,1]],"reasoning":["xhigh","max"],"images":true,"strict":true,"temperature":false,"api":"openai-responses","also":["em"]},
			"m-1-2026-01-01":{"context":5},"free":{"price":[0,0]},"quiet":{"reasoning":["none","high"]}},
		"gateway":{"maker/m-1":{"price":[3,9]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := c.Find("maker", "M-1")
	if !ok || got.Context != 1000 || got.Output != 100 || !got.Images || !got.Strict || !got.NoTemperature || !got.Reasoning || got.API != "responses" {
		t.Errorf("%+v", got)
	}
	if strings.Join(got.Efforts, " ") != "low medium high xhigh max" {
		t.Errorf("efforts %v", got.Efforts)
	}
	if cost := got.Price.Of(troupe.Usage{Input: 400, CachedInput: 100, CacheWrite: 100, Output: 100}); cost != (200*2+100*0.5+100*2.5+100*8)/1e6 {
		t.Errorf("cost %v of %+v", cost, got.Price)
	}
	if cost := got.Price.Of(troupe.Usage{Input: 501}); cost != 501*4/1e6 {
		t.Errorf("cost above the tier: %v", cost)
	}
	if quiet, _ := c.Find("maker", "quiet"); strings.Join(quiet.Efforts, " ") != "none high" {
		t.Errorf("efforts %v", quiet.Efforts)
	}
	if dated, _ := c.Find("maker", "m-1-2026-01-01"); dated.Context != 5 {
		t.Errorf("the exact name is %+v", dated)
	}
	if other, _ := c.Find("maker", "em-2026-02-02"); other.Name != "m-1" {
		t.Errorf("another spelling is %+v", other)
	}
	if free, _ := c.Find("maker", "free"); !free.Price.Free || !free.Price.Known() {
		t.Errorf("%+v", free)
	}
	if free, _ := c.Find("gateway", "maker/m-1:free"); !free.Price.Free || free.Price.Input != 0 {
		t.Errorf("%+v", free)
	}
	if c.Date() != "2026-01-02" || !slices.Equal(c.Providers(), []string{"maker", "gateway"}) || len(c.Models("maker")) != 4 || c.Models("x") != nil {
		t.Errorf("%s, %v", c.Date(), c.Providers())
	}
}

// A price is that of the provider; a window is that of the model wherever it is.
func TestAnywhereHasNoPrice(t *testing.T) {
	for _, name := range []string{"claude-sonnet-4-5", "anthropic/claude-sonnet-4.5", "unknown-vendor/gpt-4.1"} {
		got, ok := FindAnywhere(name)
		if !ok || got.Context < 100_000 || got.Price.Known() {
			t.Errorf("%s: %v %+v", name, ok, got)
		}
	}
	if got, ok := FindAnywhere("my-own-model"); ok {
		t.Errorf("%+v", got)
	}
}

func TestTheBuiltInDataIsWhole(t *testing.T) {
	c := Builtin()
	if date, err := time.Parse(time.DateOnly, c.Date()); err != nil || date.Year() < 2026 {
		t.Errorf("date %q", c.Date())
	}
	priced, total := 0, 0
	for _, p := range c.Providers() {
		for _, info := range c.Models(p) {
			total++
			if info.Price.Known() {
				priced++
			}
			if info.Price.Input < 0 || info.Price.Output < 0 || info.Price.Input > 1000 || info.Context < 0 || info.Output > 10_000_000 {
				t.Errorf("%s/%s: %+v", p, info.Name, info)
			}
		}
	}
	if total < 1500 || priced < 1400 {
		t.Errorf("%d models, %d with a price", total, priced)
	}
	// The model that is taken where nobody says which is one whose price is known.
	for _, p := range provider.All() {
		if p.Usual == "" || c.Models(p.Name) == nil {
			continue
		}
		if info, ok := c.Find(p.Name, p.Usual); !ok || info.Context == 0 && info.Price.Known() == false {
			t.Errorf("%s/%s is not in the catalogue", p.Name, p.Usual)
		}
	}
}

func TestBrokenCataloguesAreRefused(t *testing.T) {
	for _, data := range []string{"", "{}", `{"version":2,"providers":{}}`, `{"version":1,"providers":[]}`, `{"version":1,"providers":{"p":{"m":{"price":[1]}}}}`,
		`{"version":1,"providers":{"p":{"m":null}}}`, `{"version":1,"providers":{"p":{"m":{"above":[[1]]}}}}`} {
		if c, err := Parse([]byte(data)); err == nil {
			t.Errorf("%s is taken: %+v", data, c)
		}
	}
}
