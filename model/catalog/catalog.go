// Package catalog knows what models can hold, what they cost and what they can do.
//
// Its data is built in, 20 KB of it, and read when it is first asked for. It is a
// collection of facts that others have published: see SOURCES.md beside it. Facts
// drift, so what a configuration says, or a server itself, goes before them.
package catalog

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
)

//go:generate go run ../../internal/modellist -out models.json.gz

//go:embed models.json.gz
var packed []byte

// Info is what is known of a model. A field that is zero is unknown, not false.
type Info struct {
	// Provider and Name are those of the entry that was found.
	Provider, Name string
	// Context is how many tokens fit, input and output together, and Output the most
	// that it writes.
	Context, Output int
	// Price is what it costs at this provider. It is not known where the entry was
	// found anywhere else: see [Catalog.FindAnywhere].
	Price troupe.Price
	// PerRequest is a fee for each request beside the tokens, in US dollars.
	PerRequest float64
	// Reasoning says that it thinks, and Efforts are the words that it takes for how
	// hard, from the least to the most, where they are known.
	Reasoning bool
	Efforts   []string
	Images    bool
	// Strict says that schemas are enforced to the letter.
	Strict bool
	// NoTemperature says that a temperature is refused.
	NoTemperature bool
	// MaxTokensField is how the limit of an answer is called, where it is not by the book.
	MaxTokensField string
	// ReasoningBack says that its reasoning must be sent back with calls.
	ReasoningBack bool
	// API is the protocol that it is spoken to with, where it is not chat
	// completions: "responses" or "messages".
	API     string
	Retired bool
}

// A Catalog is a list of models by provider. It does not change.
type Catalog struct {
	date      string
	order     []string // the makers of models first
	providers map[string]*shelf
}

// A shelf has the models of one provider under their names.
type shelf struct {
	names  []string
	models map[string]*entry
	// What a name is looked up in, one after the other: see [forms].
	by [3]map[string]*entry
}

// An entry is a model as the file has it.
type entry struct {
	name string

	Also           []string        `json:"also"`
	Context        int             `json:"context"`
	Output         int             `json:"output"`
	Price          []float64       `json:"price"`
	Above          [][]float64     `json:"above"`
	PerThousand    float64         `json:"per_1000_requests"`
	Reasoning      json.RawMessage `json:"reasoning"`
	Images         bool            `json:"images"`
	Strict         bool            `json:"strict"`
	Temperature    *bool           `json:"temperature"`
	MaxTokensField string          `json:"max_tokens_field"`
	ReasoningBack  bool            `json:"reasoning_back"`
	API            string          `json:"api"`
	Retired        bool            `json:"retired"`
}

var builtin = sync.OnceValue(func() *Catalog {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		var data []byte
		if data, err = io.ReadAll(plain); err == nil {
			var c *Catalog
			if c, err = Parse(data); err == nil {
				return c
			}
		}
	}
	panic("catalog: the built-in data is broken: " + err.Error())
})

// Builtin returns the catalogue that is built in.
func Builtin() *Catalog { return builtin() }

// Find looks in the built-in catalogue: see [Catalog.Find].
func Find(provider, name string) (Info, bool) { return Builtin().Find(provider, name) }

// FindAnywhere looks in the built-in catalogue: see [Catalog.FindAnywhere].
func FindAnywhere(name string) (Info, bool) { return Builtin().FindAnywhere(name) }

// Parse reads a catalogue of the form that the built-in one has: a date, and models
// by provider and name.
func Parse(data []byte) (*Catalog, error) {
	var file struct {
		Version   int
		Date      string
		Providers json.RawMessage
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("read catalogue: its version is %d, and only 1 is known", file.Version)
	}
	var models map[string]map[string]*entry
	if err := json.Unmarshal(file.Providers, &models); err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	c := &Catalog{date: file.Date, order: keysInOrder(file.Providers), providers: map[string]*shelf{}}
	for provider, list := range models {
		for name, e := range list {
			if e == nil || len(e.Price) == 1 || slices.ContainsFunc(e.Above, func(tier []float64) bool { return len(tier) < 3 }) {
				return nil, fmt.Errorf("read catalogue: %s/%s: a price needs input and output", provider, name)
			}
			e.name = name
		}
		c.providers[provider] = &shelf{names: slices.Sorted(maps.Keys(list)), models: list}
		c.providers[provider].index()
	}
	return c, nil
}

// keysInOrder are the keys of an object as they stand in it.
func keysInOrder(object []byte) (keys []string) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return keys
		}
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return keys
		}
		keys = append(keys, key.(string))
	}
	return keys
}

// Date is when the facts were collected, such as "2026-11-02".
func (c *Catalog) Date() string { return c.date }

// Providers lists the providers by the names that the catalogue has for them.
func (c *Catalog) Providers() []string { return slices.Clone(c.order) }

// Models lists all models of a provider, sorted by name.
func (c *Catalog) Models(provider string) []Info {
	s, own := c.shelf(provider)
	if s == nil {
		return nil
	}
	list := make([]Info, len(s.names))
	for i, name := range s.names {
		list[i] = s.models[name].info(own)
	}
	return list
}

// Find returns what is known of a provider's model. The name need not be spelled as
// the catalogue has it, but it is never found by its beginning alone.
func (c *Catalog) Find(provider, name string) (Info, bool) {
	s, own := c.shelf(provider)
	if s == nil {
		return Info{}, false
	}
	e := s.find(name)
	if e == nil {
		return Info{}, false
	}
	info := e.info(own)
	if strings.HasSuffix(name, ":free") {
		info.Price = troupe.Price{Free: true}
	}
	return info, true
}

// FindAnywhere returns what is known of a model that a gateway or an unknown server
// has: window and abilities are those that its maker says, and the price is unknown.
func (c *Catalog) FindAnywhere(name string) (Info, bool) {
	order := c.order
	vendor, rest, hasVendor := strings.Cut(name, "/")
	if s, own := c.shelf(vendor); hasVendor && s != nil {
		if e := s.find(rest); e != nil {
			return e.info(own).withoutPrice(), true
		}
	}
	for _, provider := range order {
		for _, spelling := range []string{name, rest} {
			if spelling == "" {
				continue
			}
			if e := c.providers[provider].find(spelling); e != nil {
				return e.info(provider).withoutPrice(), true
			}
		}
	}
	return Info{}, false
}

func (i Info) withoutPrice() Info {
	i.Price, i.PerRequest = troupe.Price{}, 0
	return i
}

// otherNames are the names that the catalogue has for providers which are usually
// called something else.
var otherNames = map[string]string{
	"gemini": "google", "vertex": "google-vertex", "bedrock": "amazon-bedrock", "cloudflare": "cloudflare-workers-ai",
	"copilot": "github-copilot", "moonshot": "moonshotai", "claude": "anthropic", "grok": "xai", "meta-llama": "meta",
	"x-ai": "xai", "mistralai": "mistral", "z-ai": "zai",
}

func (c *Catalog) shelf(provider string) (*shelf, string) {
	if s := c.providers[provider]; s != nil {
		return s, provider
	}
	own := otherNames[provider]
	return c.providers[own], own
}

func (e *entry) info(provider string) Info {
	info := Info{
		Provider: provider, Name: e.name, Context: e.Context, Output: e.Output, PerRequest: e.PerThousand / 1000,
		Images: e.Images, Strict: e.Strict, NoTemperature: e.Temperature != nil && !*e.Temperature,
		MaxTokensField: e.MaxTokensField, ReasoningBack: e.ReasoningBack, Retired: e.Retired,
	}
	info.Reasoning, info.Efforts = e.reasoning()
	info.Price = e.price()
	switch e.API {
	case "openai-responses":
		info.API = "responses"
	case "anthropic-messages":
		info.API = "messages"
	}
	return info
}

// reasoning reads true, or the words for effort. Those that every model takes are
// left out of the list where it has only the others.
func (e *entry) reasoning() (reasons bool, efforts []string) {
	if json.Unmarshal(e.Reasoning, &reasons) == nil {
		return reasons, nil
	}
	if json.Unmarshal(e.Reasoning, &efforts) != nil || len(efforts) == 0 {
		return false, nil
	}
	usual := []string{"low", "medium", "high"}
	if !slices.ContainsFunc(efforts, func(word string) bool { return slices.Contains(usual, word) || word == "none" || word == "minimal" }) {
		efforts = append(usual, efforts...)
	}
	return true, efforts
}

func (e *entry) price() troupe.Price {
	if len(e.Price) == 0 {
		return troupe.Price{}
	}
	at := func(list []float64, i int) float64 {
		if i < len(list) {
			return list[i]
		}
		return 0
	}
	p := troupe.Price{Input: e.Price[0], Output: at(e.Price, 1), CachedInput: at(e.Price, 2), CacheWrite: at(e.Price, 3)}
	p.Free = p.Input == 0 && p.Output == 0 && e.PerThousand == 0
	for _, tier := range e.Above {
		p.Above = append(p.Above, troupe.Price{Tokens: int(tier[0]), Input: tier[1], Output: tier[2], CachedInput: at(tier, 3), CacheWrite: at(tier, 4)})
	}
	slices.SortFunc(p.Above, func(a, b troupe.Price) int { return a.Tokens - b.Tokens })
	return p
}
