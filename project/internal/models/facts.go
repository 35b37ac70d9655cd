package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// Facts are what is known of a model beside its name.
type Facts struct {
	Price troupe.Price
	// Window is how many tokens fit, and Output how many it writes; 0 is unknown.
	Window, Output int
	// PriceFrom and WindowFrom say who says so.
	PriceFrom, WindowFrom string
	// IsAssumedFree says that nobody knows a price: the server is nearby and of a kind that
	// Troupe does not know, so that it counts as free.
	IsAssumedFree bool
	// Can is what the server itself says that the model can do, and [NoTools].
	Can []string
	// Asked is the window that the server is asked for, 0 where it decides, and Held what the
	// model could hold, 0 where an Ollama does not say so.
	Asked, Held int
	// Warning is set where the server by itself uses a window that is too small for
	// agents, or another one than it is configured to. IsTight says that it is small even
	// so, or not as configured.
	Warning string
	IsTight bool
}

const (
	// smallWindow is a window in which a system prompt and tools leave no room for work.
	smallWindow = 8192
	// usualWindow is what Ollama is asked for at least: by itself it takes 4,096 tokens on
	// most machines, and cuts off what is longer without a word.
	usualWindow = 16384
)

// Facts finds out what is known of a model: the configuration goes first, then what
// the server itself says, then the user's own catalogue, then the one built in. A
// price is only ever that of the provider.
func (c *Chooser) Facts(ctx context.Context, e *Endpoint) (Facts, catalog.Info, error) {
	var f Facts
	own := e.configured.Models[e.Model]
	f.Window, f.Output, f.Asked = own.Window, own.Output, own.Window
	if f.Window > 0 {
		f.WindowFrom = config.Name
	}
	f.Price = troupe.Price{Input: own.Price.Input, CachedInput: own.Price.CachedInput, CacheWrite: own.Price.CacheWrite, Output: own.Price.Output, Free: own.Price.Free}
	if f.Price.Known() {
		f.PriceFrom = config.Name
	}
	info, where, err := c.lookUp(e)
	if err != nil {
		return f, info, err
	}
	if f.Window == 0 && asksServer(e, info) {
		said := c.ask(ctx, e)
		if f.Asked = said.toAskFor(e); f.Asked > 0 {
			f.Window, f.WindowFrom = f.Asked, "asked for"
		}
		f.Warning = said.warning(e)
		f.IsTight = f.Warning != "" && f.Asked == 0
		f.take(said.facts(), "the server")
		f.Can = said.can
	}
	if e.known.Name == "ollama" && e.IsLocal() {
		f.Held = c.ask(ctx, e).trained
		f.bound(e, f.Held)
	}
	f.take(Facts{Price: info.Price, Window: info.Context, Output: info.Output}, where)
	if !f.Price.Known() && e.IsLocal() && e.Provider != "litellm" {
		f.Price, f.PriceFrom, f.IsAssumedFree = troupe.Price{Free: true}, "it runs on your own machines", !e.known.Local
	}
	return f, info, nil
}

// bound keeps the window that an Ollama is asked for within what the model holds, where
// that is known, and says where it is small.
func (f *Facts) bound(e *Endpoint, held int) {
	if held > 0 && f.Asked > held {
		f.Warning, f.IsTight = fmt.Sprintf("%s asks for a window of %d tokens, and the model holds %d: it is asked for no more than that", config.Name, f.Asked, held), true
		f.Asked, f.Window, f.WindowFrom = held, held, "the server"
	}
	if f.IsTight || f.Asked == 0 || f.Asked >= smallWindow {
		return
	}
	fix := "choose a model with a larger one"
	if held == 0 || held > f.Asked {
		fix = fmt.Sprintf("ask for more in %s: providers: {%s: {models: {%q: {window: %d}}}}", config.Name, e.Provider, e.Model, cmp.Or(min(held, usualWindow), usualWindow))
	}
	f.Warning, f.IsTight = fmt.Sprintf("a window of %d tokens is little for an agent; %s", f.Asked, fix), true
}

// take adds what is not yet known.
func (f *Facts) take(more Facts, from string) {
	if f.Window == 0 && more.Window > 0 {
		f.Window, f.WindowFrom = more.Window, from
	}
	if f.Output == 0 {
		f.Output = more.Output
	}
	if !f.Price.Known() && more.Price.Known() {
		f.Price, f.PriceFrom = more.Price, from
	}
}

// lookUp looks into the user's catalogue and the built-in one.
func (c *Chooser) lookUp(e *Endpoint) (info catalog.Info, from string, err error) {
	mine, file, err := c.userCatalogue()
	if err != nil {
		return info, "", err
	}
	// Another base URL is another provider, whatever it is called.
	isItself := e.known.Name != "" && e.configured.BaseURL == ""
	builtin := catalog.Builtin()
	if mine != nil {
		if info, ok := mine.Find(e.Provider, e.Model); ok {
			return info, file, nil
		}
	}
	if isItself {
		if info, ok := builtin.Find(e.Provider, e.Model); ok {
			return info, "the catalogue of " + builtin.Date(), nil
		}
	}
	if e.IsLocal() {
		return info, "", nil // what fits there is up to the server
	}
	if info, ok := builtin.FindAnywhere(e.Model); ok {
		return info, "the catalogue of " + builtin.Date(), nil
	}
	return info, "", nil
}

// userCatalogue reads the user's own file, nil where there is none.
func (c *Chooser) userCatalogue() (*catalog.Catalog, string, error) {
	dir := c.Getenv("XDG_CONFIG_HOME")
	if home := c.Getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	if dir == "" {
		return nil, "", nil
	}
	file := filepath.Join(dir, "troupe", "models.json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	mine, err := catalog.Parse(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", file, err)
	}
	return mine, file, nil
}
