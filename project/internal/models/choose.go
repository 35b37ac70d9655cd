// Package models decides which model an agent uses, makes it, and finds out what is
// known of it.
package models

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/model/provider"
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
	// Log is told what is odd about models and servers. Nil means that nobody is.
	Log *slog.Logger
	// Wrap, where set, takes the place of every model that is opened, by its name.
	Wrap func(ref string, m troupe.Model) (troupe.Model, error)

	// Local finds a model where nobody has chosen one. Nil means that none is looked for.
	Local *Local

	asked sync.Map // what servers have said of their models, by provider/name
	// configured are the providers since somebody has changed them, nil before.
	configured atomic.Pointer[map[string]config.Provider]
	limits     atomic.Pointer[config.Limits] // the same of limits
}

// Configured are the providers of the configuration, as they are now. They are not changed.
func (c *Chooser) Configured() map[string]config.Provider {
	if now := c.configured.Load(); now != nil {
		return *now
	}
	return c.Config.Providers
}

// Configure takes over providers of a configuration that was changed, for models that are
// opened from now on. What servers have said is asked anew.
func (c *Chooser) Configure(providers map[string]config.Provider) {
	c.configured.Store(&providers)
	c.asked.Clear()
}

// Limits are those of the configuration, as they are now.
func (c *Chooser) Limits() config.Limits {
	if now := c.limits.Load(); now != nil {
		return *now
	}
	return c.Config.Limits
}

// Limit takes over limits of a configuration that was changed.
func (c *Chooser) Limit(l config.Limits) { c.limits.Store(&l) }

// NewClient returns a client that keeps a connection for each of many conversations
// with one server.
func NewClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A turn asks several times: a thousand of them at once do not connect anew each time.
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 1024, 1024
	// Of each connection: a request is written once, and then little is read at a time, for long.
	transport.WriteBufferSize, transport.ReadBufferSize = 1<<10, 1<<10
	return &http.Client{Transport: transport}
}

// A Choice is a model that was chosen and not yet made.
type Choice struct {
	// Ref is provider/name, a provider alone, or rehearsal.
	Ref string
	// From says who chose it: a flag, a key of troupe.yaml or a variable. It is empty
	// where nobody did, and then the model is the rehearsal.
	From string
	// Then are those to ask where it is down or refuses, with spaces between them.
	Then string
	// isFree says that nobody has named a model, so that any one of the provider will do.
	isFree bool
	// isTyped says that somebody has written it in a conversation, on the page or in a
	// program, where there is no command line.
	isTyped bool
}

// IsRehearsal says whether there is no model behind the choice.
func (c Choice) IsRehearsal() bool { return c.Ref == rehearsal.Name }

// IsFound says whether nobody has chosen the model, which was found on this machine.
func (c Choice) IsFound() bool { return c.From == runsHere }

// refs are all models of the choice, the first one first.
func (c Choice) refs() []string { return append([]string{c.Ref}, strings.Fields(c.Then)...) }

// Each are the models of the choice, each by itself.
func (c Choice) Each() (list []Choice) {
	for _, ref := range c.refs() {
		list = append(list, Choice{Ref: ref, From: c.From, isFree: c.isFree, isTyped: c.isTyped})
	}
	return list
}

// hasFlag says whether whoever chose it can choose otherwise with --model: it is of the
// command line, of troupe.yaml or of the environment.
func (c Choice) hasFlag() bool { return !c.isTyped }

// NewChoice is the choice that somebody writes as one text: a model, or several with
// commas between them, of which each is asked where those before it are down or refuse.
func NewChoice(text, from string) Choice {
	choice := newChoice([]string{text}, from)
	choice.isTyped = true
	return choice
}

// String names all models of the choice as a person writes them.
func (c Choice) String() string { return strings.Join(c.refs(), ",") }

func newChoice(refs []string, from string) Choice {
	var list []string
	for _, ref := range refs {
		for part := range strings.SplitSeq(ref, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	if len(list) == 0 {
		return Choice{}
	}
	return Choice{Ref: list[0], From: from, Then: strings.Join(list[1:], " ")}
}

// For returns the choice for an agent; an empty id means any agent that has no
// entry of its own. The first of these decides: the flag, the agent's entry, the
// project's, TROUPE_MODEL, a provider whose key is in the environment, an Ollama that
// runs here.
func (c *Chooser) For(agent string) Choice {
	for _, candidate := range []Choice{
		newChoice([]string{c.Flag}, "--model"),
		newChoice(c.Config.Agents[agent].Model, "agents."+agent+".model in "+config.Name),
		newChoice(c.Config.Agents[config.Everyone].Model, "agents."+config.Everyone+".model in "+config.Name),
		newChoice(c.Config.Model, "model in "+config.Name),
		newChoice([]string{c.Getenv("TROUPE_MODEL")}, "TROUPE_MODEL"),
	} {
		if candidate.Ref != "" {
			return candidate
		}
	}
	for _, p := range provider.All() {
		if variable := c.opens(&p); variable != "" {
			ref := p.Name
			if usual := c.usual(&p); usual != "" {
				ref += "/" + usual
			}
			return Choice{Ref: ref, From: variable, isFree: p.Name == "ollama"}
		}
	}
	if ref := c.running(); ref != "" {
		return Choice{Ref: ref, From: runsHere}
	}
	return Choice{Ref: rehearsal.Name}
}

// opens returns the variable whose being set shows that a provider is meant to be
// used: that of its key, or of its address. It is empty for one of which nobody
// could say what model to take.
func (c *Chooser) opens(p *provider.Provider) string {
	if c.usual(p) == "" && !p.Local {
		return ""
	}
	return c.setBy(p)
}

// setBy returns the variable that holds a provider's key or address, empty where none
// does, or where it may be meant for something else.
func (c *Chooser) setBy(p *provider.Provider) string {
	if p.Shared {
		return ""
	}
	variables := append(slices.Clone(p.URLEnv), p.KeyEnv...)
	if own := c.Configured()[p.Name].KeyEnv; own != "" {
		variables = append(slices.Clone(p.URLEnv), own)
	} else if !p.Local {
		variables = append(slices.Clone(p.KeyEnv), p.URLEnv...)
	}
	for _, variable := range variables {
		if c.Getenv(variable) != "" {
			return variable
		}
	}
	return ""
}

// Undecided says how to use the providers whose keys are set, though no model is chosen
// because of them: nobody could say which, the key may be meant for something else, or its
// variable has another name.
func (c *Chooser) Undecided() (ways []string) {
	for _, p := range provider.All() {
		for _, variable := range p.KeyEnv {
			if c.Getenv(variable) == "" || c.opens(&p) != "" {
				continue
			}
			model := cmp.Or(c.usual(&p), "NAME")
			ways = append(ways, fmt.Sprintf("%s is set: --model %s/%s uses it", variable, p.Name, model))
			break
		}
		if variable := c.addressAlone(&p); variable != "" {
			ways = append(ways, fmt.Sprintf("%s is set, but no key: %s and --model %s/%s use it", variable, p.KeyEnv[0], p.Name, cmp.Or(c.usual(&p), "NAME")))
		}
		if misspelt := c.misspelt(&p); misspelt != "" {
			ways = append(ways, fmt.Sprintf("%s is set: the key of %s is read from %s", misspelt, p.Title, p.KeyEnv[0]))
		}
	}
	return ways
}

// addressAlone returns the variable that says where a provider's server is, if its key is not
// set and nothing is chosen because of it. What is often set for other purposes does not count.
func (c *Chooser) addressAlone(p *provider.Provider) string {
	if p.Local || len(p.KeyEnv) == 0 || c.opens(p) != "" || slices.ContainsFunc(p.KeyEnv, func(name string) bool { return c.Getenv(name) != "" }) {
		return ""
	}
	variables := append(slices.Clone(p.URLEnv), p.Vars["resource"]...)   // Azure's
	for _, variable := range append(variables, p.Vars["workspace"]...) { // Databricks'
		if c.Getenv(variable) != "" {
			return variable
		}
	}
	return ""
}

// nearNames are variables that people take for those of a provider's key.
var nearNames = map[string][]string{"ANTHROPIC_API_KEY": {"CLAUDE_API_KEY", "ANTROPIC_API_KEY"}, "XAI_API_KEY": {"GROK_API_KEY"}}

// misspelt returns a variable that is set, and whose name is nearly that of a provider's key,
// which is not.
func (c *Chooser) misspelt(p *provider.Provider) string {
	if p.Shared || len(p.KeyEnv) == 0 || slices.ContainsFunc(p.KeyEnv, func(name string) bool { return c.Getenv(name) != "" }) {
		return ""
	}
	near := nearNames[p.KeyEnv[0]]
	if stem, ok := strings.CutSuffix(p.KeyEnv[0], "_API_KEY"); ok {
		near = append([]string{stem + "_KEY", stem + "_APIKEY", stem + "_API_TOKEN", stem + "_TOKEN"}, near...)
	}
	for _, name := range near {
		if c.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// usual is the model to take of a provider where nobody says.
func (c *Chooser) usual(p *provider.Provider) string {
	variable := strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_")) + "_MODEL"
	return cmp.Or(c.Getenv(variable), p.Usual)
}

// KeyVariables lists the variables that keys are looked for in, sorted.
func (c *Chooser) KeyVariables() []string {
	var variables []string
	for _, p := range provider.All() {
		variables = append(variables, p.KeyEnv...)
	}
	for _, p := range c.Configured() {
		if p.KeyEnv != "" {
			variables = append(variables, p.KeyEnv)
		}
	}
	slices.Sort(variables)
	return slices.Compact(variables)
}

// Providers lists the names that a choice can begin with, sorted.
func (c *Chooser) Providers() []string {
	names := slices.Collect(maps.Keys(c.Configured()))
	for _, p := range provider.All() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// find returns a provider by a name that the configuration or the table knows, and
// its proper name.
func (c *Chooser) find(name string) (p provider.Provider, proper string, ok bool) {
	p, known := provider.Find(name)
	if _, configured := c.Configured()[name]; configured {
		return p, name, true
	}
	return p, p.Name, known
}

// split takes a choice apart and checks the provider's name. The model is empty
// where only a provider was named.
func (c *Chooser) split(ref string) (p provider.Provider, name, model string, err error) {
	name, model, hasModel := strings.Cut(ref, "/")
	p, proper, ok := c.find(name)
	if ok && name != "" && (model != "" || !hasModel) {
		return p, proper, model, nil
	}
	if name == "" || hasModel && model == "" || !hasModel {
		hint := ""
		if !hasModel {
			hint = c.meant(ref)
		}
		return p, "", "", fmt.Errorf("a model is chosen as provider/name, or rehearsal%s", hint)
	}
	names := c.Providers()
	hint := cmp.Or(suggest.Hint(name, names), "; there are "+strings.Join(names, ", "))
	return p, "", "", fmt.Errorf("no provider is called %.64q%s", name, hint)
}

// meant is the end of a message about a name without a provider: a model or a provider
// that is known, and nothing where none is near.
func (c *Chooser) meant(name string) string {
	if info, ok := catalog.FindAnywhere(name); ok {
		return fmt.Sprintf("; did you mean %s/%.64s?", nameOf(info.Provider), name)
	}
	if hint := suggest.Hint(name, c.Providers()); hint != "" {
		return hint
	}
	for _, p := range provider.All() {
		var names []string
		for _, info := range catalog.Builtin().Models(p.Name) {
			if !info.Retired {
				names = append(names, info.Name)
			}
		}
		if near, ok := suggest.Closest(name, names); ok {
			return fmt.Sprintf("; did you mean %s/%s?", p.Name, near)
		}
	}
	return ""
}

// nameOf is what a provider of the catalogue is called here.
func nameOf(ofCatalogue string) string {
	for _, p := range provider.All() {
		if p.Name == ofCatalogue || len(catalog.Builtin().Models(p.Name)) > 0 && catalog.Builtin().Models(p.Name)[0].Provider == ofCatalogue {
			return p.Name
		}
	}
	return ofCatalogue
}
