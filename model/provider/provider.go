// Package provider knows where models are to be had: the services and servers that
// people use, their addresses, the variables that hold their keys, and in what they
// differ from the book. All of it is data, which drifts: a configuration may say
// otherwise.
package provider

import (
	"maps"
	"slices"
	"strings"
)

// An API is a protocol that models are spoken to with.
type API string

// The protocols.
const (
	Chat      API = "chat"      // OpenAI's chat completions, which most servers speak
	Responses API = "responses" // OpenAI's Responses
	Messages  API = "messages"  // Anthropic's Messages
	Gemini    API = "gemini"    // Google's generateContent
	Ollama    API = "ollama"    // Ollama's own
)

// A Provider is a service or a server that has models.
type Provider struct {
	// Name is what models are chosen with, as in name/model.
	Name  string
	Title string
	// Endpoints are where it is, the best first.
	Endpoints []Endpoint
	// KeyEnv are the variables that by custom hold its key, in the order they are
	// looked at.
	KeyEnv []string
	// URLEnv are variables that hold another address, NAME_BASE_URL the last of them. They
	// count like the key as a sign that the provider is meant to be used.
	URLEnv []string
	// Vars are the variables that hold what stands in braces in an address.
	Vars map[string][]string
	// HeaderEnv are headers that are sent if the variable is set.
	HeaderEnv map[string]string
	// Local says that it runs on the user's own machine or in their network, and
	// that no key is needed.
	Local bool
	// Shared says that the variables of its key serve other purposes as well, so that
	// one of them being set does not mean that its models are wanted.
	Shared bool
	// Usual is the model to take where nobody says which; empty where only the
	// server knows.
	Usual string
	// ReportsCost says that answers come with what they cost.
	ReportsCost bool
	// Quirks are in what it differs.
	Quirks Quirks
}

// An Endpoint is an address at which one protocol is spoken.
type Endpoint struct {
	API API
	// URL may have names in braces, such as {region}.
	URL string
	// KeyHeader is the header that the key goes into; empty means that it is a
	// bearer token.
	KeyHeader string
	Headers   map[string]string
}

// Endpoint returns the first endpoint that speaks one of the protocols.
func (p *Provider) Endpoint(apis ...API) (Endpoint, bool) {
	for _, e := range p.Endpoints {
		if slices.Contains(apis, e.API) {
			return e, true
		}
	}
	return Endpoint{}, false
}

// A SchemaLevel says how far answers can be bound to a JSON schema.
type SchemaLevel string

// The levels, from the most that can be had to the least.
const (
	SchemaStrict SchemaLevel = "strict"      // the schema is enforced to the letter
	SchemaJSON   SchemaLevel = "json_schema" // the schema is sent
	SchemaObject SchemaLevel = "json_object" // only that it be JSON; the schema goes into the prompt
	SchemaPrompt SchemaLevel = "prompt"      // nothing but the prompt
)

// Below is the next lower level; the lowest has none.
func (l SchemaLevel) Below() (SchemaLevel, bool) {
	levels := []SchemaLevel{SchemaStrict, SchemaJSON, SchemaObject, SchemaPrompt}
	i := slices.Index(levels, l)
	if i < 0 || i == len(levels)-1 {
		return l, false
	}
	return levels[i+1], true
}

// IDForm is the form in which a provider takes the ids of tool calls.
type IDForm string

// The forms of ids.
const (
	AnyID    IDForm = ""          // as they came
	ShortID  IDForm = "40"        // at most 40 bytes
	NineID   IDForm = "9"         // nine letters or digits
	StrictID IDForm = "a-zA-Z0-9" // letters, digits, _ and -, at most 64
)

// Quirks are in what a provider differs from chat completions by the book.
type Quirks struct {
	// NoStreamOptions: requests with stream_options are refused.
	NoStreamOptions bool
	// MaxTokensField is what the limit of an answer's tokens is called; empty means
	// by the model.
	MaxTokensField string
	// SeedField is what the seed is called; empty means "seed".
	SeedField string
	// OneSystem: one system message only.
	OneSystem bool
	// Schema is how far answers can be bound; empty means json_schema.
	Schema SchemaLevel
	// NoSchemaWithTools: answers cannot be bound in requests with tools.
	NoSchemaWithTools bool
	// NoTools: tools cannot be offered.
	NoTools bool
	// IDs is the form of call ids.
	IDs IDForm
	// ReasoningBack: messages with calls go back with their reasoning, even if it
	// is empty.
	ReasoningBack bool
	// SessionField and SessionHeader take the conversation's id, so that a cache is
	// found again.
	SessionField, SessionHeader string
	// CacheMarks: models of Anthropic take marks for what is to be cached.
	CacheMarks bool
	// NoTemperature: requests with a temperature are refused.
	NoTemperature bool
	// Slow: servers that collect calls, load models or read long prompts in silence,
	// for which the waits are longer.
	Slow bool
}

// Find returns the provider of a name, or of another name that people use for it.
func Find(name string) (Provider, bool) {
	name = strings.ToLower(name)
	if proper, ok := otherNames[name]; ok {
		name = proper
	}
	for i := range table {
		if table[i].Name == name {
			return table[i].clone(), true
		}
	}
	return Provider{}, false
}

// All returns all providers, those that are looked for first at the beginning.
func All() []Provider {
	list := make([]Provider, len(table))
	for i := range table {
		list[i] = table[i].clone()
	}
	return list
}

// OfHost returns the provider whose address has this host, as in a base URL that
// was given without a name.
func OfHost(host string) (Provider, bool) {
	for i := range table {
		if table[i].Local {
			continue
		}
		for _, e := range table[i].Endpoints {
			_, rest, _ := strings.Cut(e.URL, "://")
			own, _, _ := strings.Cut(rest, "/")
			if matches(strings.ToLower(host), own) {
				return table[i].clone(), true
			}
		}
	}
	return Provider{}, false
}

// matches compares hosts label by label. A label of the pattern may have a name in
// braces at its beginning, which stands for any text; all of a host may not.
func matches(host, pattern string) bool {
	labels, patterns := strings.Split(host, "."), strings.Split(pattern, ".")
	if len(labels) != len(patterns) || len(patterns) == 1 {
		return false
	}
	for i, label := range labels {
		_, fixed, isOpen := strings.Cut(patterns[i], "}")
		if !isOpen && label != patterns[i] || isOpen && (label == fixed || !strings.HasSuffix(label, fixed)) {
			return false
		}
	}
	return true
}

func (p Provider) clone() Provider {
	p.Endpoints = slices.Clone(p.Endpoints)
	for i := range p.Endpoints {
		p.Endpoints[i].Headers = maps.Clone(p.Endpoints[i].Headers)
	}
	p.KeyEnv, p.URLEnv = slices.Clone(p.KeyEnv), slices.Clone(p.URLEnv)
	if usual := strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_")) + "_BASE_URL"; !slices.Contains(p.URLEnv, usual) {
		p.URLEnv = append(p.URLEnv, usual)
	}
	p.Vars, p.HeaderEnv = maps.Clone(p.Vars), maps.Clone(p.HeaderEnv)
	return p
}
