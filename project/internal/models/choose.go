// Package models decides which model an agent uses, and makes it.
package models

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// A Chooser decides which model an agent uses.
type Chooser struct {
	Config *config.Config
	// Flag is what the command line says, empty for nothing.
	Flag string
	// Getenv returns an environment variable, as [os.Getenv] does.
	Getenv func(string) string
	// Client makes the requests of all models. Nil means one of their own each.
	Client *http.Client
}

// NewClient returns a client that keeps a connection for each of many conversations
// with one server.
func NewClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 1024, 256
	return &http.Client{Transport: transport}
}

// A Choice is a model that was chosen and not yet made.
type Choice struct {
	// Ref is provider/name, or rehearsal.
	Ref string
	// From says who chose it: a flag, a key of troupe.yaml or a variable. It is empty
	// where nobody did, and then the model is the rehearsal.
	From string
}

// IsRehearsal says whether there is no model behind the choice.
func (c Choice) IsRehearsal() bool { return c.Ref == rehearsal.Name }

// For returns the choice for an agent; an empty id means any agent that has no
// entry of its own. The first of these decides: the flag, the agent's entry, the
// project's, TROUPE_MODEL, a provider whose key is in the environment.
func (c *Chooser) For(agent string) Choice {
	candidates := []Choice{
		{c.Flag, "--model"},
		{c.Config.Agents[agent].Model, "agents." + agent + ".model in " + config.Name},
		{c.Config.Model, "model in " + config.Name},
		{c.Getenv("TROUPE_MODEL"), "TROUPE_MODEL"},
	}
	for _, candidate := range candidates {
		if candidate.Ref != "" {
			return candidate
		}
	}
	for _, p := range wellKnown {
		if variable := c.opens(p.name); variable != "" {
			return Choice{p.name + "/" + c.usual(p), variable}
		}
	}
	return Choice{Ref: rehearsal.Name}
}

// opens returns the variable whose being set shows that a provider is meant to be
// used: that of its key, or of OpenAI's address.
func (c *Chooser) opens(provider string) string {
	variables := []string{c.keyVariable(provider)}
	if provider == "openai" {
		variables = append(variables, "OPENAI_BASE_URL")
	}
	for _, variable := range variables {
		if variable != "" && c.Getenv(variable) != "" {
			return variable
		}
	}
	return ""
}

// usual is the model to take of a provider where nobody says.
func (c *Chooser) usual(p provider) string {
	if p.name == "openai" {
		return cmp.Or(c.Getenv("OPENAI_MODEL"), p.usual)
	}
	return p.usual
}

// keyVariable is where a provider's key is looked for, empty for one without.
func (c *Chooser) keyVariable(provider string) string {
	_, variable, _ := openai.Provider(provider)
	return cmp.Or(c.Config.Providers[provider].KeyEnv, variable)
}

// KeyVariables lists the variables that keys are looked for in, sorted.
func (c *Chooser) KeyVariables() []string {
	var variables []string
	for _, name := range c.Providers() {
		if variable := c.keyVariable(name); variable != "" {
			variables = append(variables, variable)
		}
	}
	slices.Sort(variables)
	return slices.Compact(variables)
}

// A provider is a server that is known by name. The usual model is taken where
// there is a key and no word about models.
type provider struct{ name, usual string }

var wellKnown = []provider{
	{"openai", "gpt-4.1-mini"},
	{"openrouter", "openrouter/auto"},
	{"groq", "llama-3.3-70b-versatile"},
	{"deepseek", "deepseek-chat"},
	{"mistral", "mistral-small-latest"},
	{"ollama", ""},
	{"vllm", ""},
	{"lmstudio", ""},
}

// Providers lists the names that a choice can begin with, sorted.
func (c *Chooser) Providers() []string {
	names := slices.Collect(maps.Keys(c.Config.Providers))
	for _, p := range wellKnown {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// split takes a choice apart and checks the provider's name.
func (c *Chooser) split(ref string) (provider, model string, err error) {
	provider, model, ok := strings.Cut(ref, "/")
	if !ok || provider == "" || model == "" {
		hint := ""
		if !ok && ref != "" {
			hint = fmt.Sprintf("; did you mean openai/%.64s?", ref)
		}
		return "", "", fmt.Errorf("a model is chosen as provider/name, or rehearsal%s", hint)
	}
	if names := c.Providers(); !slices.Contains(names, provider) {
		hint := cmp.Or(suggest.Hint(provider, names), "; there are "+strings.Join(names, ", "))
		return "", "", fmt.Errorf("no provider is called %.64q%s", provider, hint)
	}
	return provider, model, nil
}
