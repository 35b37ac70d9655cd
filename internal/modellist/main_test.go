package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/model/catalog"
)

func pack(t *testing.T, file string, contents map[string]string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for name, text := range contents {
		if err := archive.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(archive, text)
	}
	archive.Close()
	zipped.Close()
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

const prices = `const E = [
  { id: "openai", extractors: [{ required: !0, path: ["a", 'b'] }], models: [
    { id: "gpt-old", match: { or: [{ starts_with: "gpt-old-" }, { equals: "gpt-older" }, { contains: "x" }] }, context_window: 16e3, prices: { input_mtok: .5, output_mtok: 1.5 }, deprecated: !0 },
    { id: "gpt-new-1", match: { equals: "gpt-new" }, prices: { input_mtok: 9, output_mtok: 9 } },
    { id: "gpt-sings-tts", match: {}, prices: { input_mtok: 1, output_mtok: 1 } },
    { id: "embedder", match: {}, prices: { input_mtok: 1 } } ] },
  { id: "deepseek", models: [ // prices by the hour
    { id: "d", description: ` + "`a text\nof lines`" + `, match: { equals: "d" }, prices: [
      { prices: { input_mtok: 0.2, output_mtok: 0.4 } },
      { constraint: { start_time: "00:30:00Z" }, prices: { input_mtok: 0.1, output_mtok: 0.2 } } ] },
    { id: "dated", match: { equals: "dated" }, prices: [
      { prices: { input_mtok: { base: 5, tiers: [{ start: 2e5, price: 10 }] }, output_mtok: 25 } },
      { constraint: { start_date: "2026-01-01" }, prices: { input_mtok: 4, output_mtok: 20 } },
      { constraint: { start_date: "2027-01-01" }, prices: { input_mtok: 1, output_mtok: 1 } } ] },
    { id: "tiered", match: { equals: "tiered" }, prices: { input_mtok: { base: 5, tiers: [{ start: 2e5, price: 10 }] }, output_mtok: 25, requests_kcount: 5 } } ] }
];
export { E as data }; alert("never run");
`

const offers = `{"openai-responses":{"chat:gpt-new":{"id":"gpt-new","type":"chat","reasoning":true,"input":["text","image"],"contextWindow":400000,"maxTokens":1000,
  "cost":{"input":2,"output":8,"cacheRead":0.5,"cacheWrite":0,"tiers":[{"inputTokensAbove":200000,"input":4,"output":12,"cacheRead":1,"cacheWrite":0}]},
  "thinkingLevelMap":{"off":null,"minimal":null,"xhigh":"xhigh"},"compat":{"supportsStrictMode":true,"supportsTemperature":false,"maxTokensField":"max_tokens"}},
  "chat:gpt-new:batch":{"id":"gpt-new:batch","type":"chat"},"image:draw":{"id":"draw","type":"image"}}}`

// made runs the program over small packages.
func made(t *testing.T) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	data := map[string]string{}
	for _, p := range providers {
		data["dist/providers/data/"+p.offered+".json"] = "{}"
	}
	data["dist/providers/data/openai.json"] = offers
	data["README.md"] = "not read"
	pack(t, filepath.Join(dir, "earendil-works-pi-ai-1.0.0.tgz"), data)
	pack(t, filepath.Join(dir, "pydantic-genai-prices-1.0.0.tgz"), map[string]string{"dist/index.js": prices})
	list := models{}
	offered, err := tarball(dir, "earendil-works-pi-ai-*.tgz", "dist/providers/data/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := list.addOffered(offered); err != nil {
		t.Fatal(err)
	}
	script, err := tarball(dir, "pydantic-genai-prices-*.tgz", "dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := list.addPrices(script["dist/index.js"], time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Parse(list.encode("2026-06-01"))
	if err != nil {
		t.Fatal(err)
	}
	// Nearly all models would be gone: that is not written.
	out := filepath.Join(dir, "out.gz")
	if err := run(dir, out, time.Now(), io.Discard); err == nil || !strings.Contains(err.Error(), "more than a quarter") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a broken list was written")
	}
	return c
}

func TestTheListIsMadeOfBothPackages(t *testing.T) {
	c := made(t)
	got, ok := c.Find("openai", "gpt-new-1")
	if !ok || got.Name != "gpt-new" || got.Context != 400000 || got.Price.Input != 2 || got.Price.Above[0].Output != 12 || !got.NoTemperature || !got.Strict || !got.Images ||
		strings.Join(got.Efforts, " ") != "low medium high xhigh" || got.MaxTokensField != "max_tokens" {
		t.Errorf("%v %+v", ok, got)
	}
	if got, ok := c.Find("openai", "gpt-older"); !ok || got.Price.Input != 0.5 || got.Context != 16000 || !got.Retired {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]float64{"d": 0.2, "dated": 4, "tiered": 5} {
		if got, _ := c.Find("deepseek", name); got.Price.Input != want {
			t.Errorf("%s costs %v, want %v", name, got.Price, want)
		}
	}
	if got, _ := c.Find("deepseek", "tiered"); len(got.Price.Above) != 1 || got.Price.Above[0].Input != 10 || got.Price.Above[0].Output != 25 || got.PerRequest != 0.005 {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"gpt-sings-tts", "embedder", "draw", "gpt-new:batch"} {
		if got, ok := c.Find("openai", name); ok && got.Name == name {
			t.Errorf("%s is in the list", name)
		}
	}
}

func TestCodeIsNeverRun(t *testing.T) {
	for _, src := range []string{"[alert(1)]", "[`${x}`]", "[x]", "[{a}]", "[{...b}]", "[1", `["a]`, "[new Date()]", "[1 2]", strings.Repeat("[", 100)} {
		if value, err := readLiteral([]byte(src)); err == nil {
			t.Errorf("%s became %s", src, value)
		}
	}
	got, err := readLiteral([]byte(`[{a:!0,"b":!1,c:void 0,d:'x"\'',e:-1e3,/* no */f:[1,2,],}]; more()`))
	if want := `[{"a":true,"b":false,"c":null,"d":"x\"'","e":-1e3,"f":[1,2]}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestOldListsAreNotReleased(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for date, ok := range map[string]bool{"2026-05-01": true, "2026-03-04": true, "2026-03-01": false, "soon": false} {
		if err := checkAge(date, now); (err == nil) != ok {
			t.Errorf("%s: %v", date, err)
		}
	}
	var said strings.Builder
	out := filepath.Join(t.TempDir(), "x")
	if err := run("", out, now, &said); err != nil || !strings.Contains(said.String(), "npm pack") {
		t.Errorf("%s, %v", &said, err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a list was made of nothing")
	}
}
