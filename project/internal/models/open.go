package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/model/fallback"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// An Opened is a model that is ready to be asked, and what is known of it.
type Opened struct {
	Choice
	Model troupe.Model
	Facts
	// Charge is the price that agents are charged with: the model's, or none but what the
	// provider reports where the price is not known and the model may be used all the same.
	Charge troupe.Price
	// Known is what the catalogue has of it, of the first one where there are several.
	Known catalog.Info
}

// Open makes the model of a choice. It asks nothing of models, but it may ask a
// server of the user's own what it has, for two seconds at most.
func (c *Chooser) Open(choice Choice) (Opened, error) {
	opened, err := c.openAll(choice)
	if err != nil || c.Wrap == nil {
		return opened, err
	}
	opened.Model, err = c.Wrap(opened.Ref, opened.Model)
	return opened, err
}

// openAll makes the model of a choice, or of several that stand in for each other. Of
// several, those that could not be asked as things are do without, if another one can.
func (c *Chooser) openAll(choice Choice) (Opened, error) {
	each := choice.Each()
	if len(each) == 1 {
		return c.openOne(choice)
	}
	opened := Opened{Choice: choice}
	var list []fallback.Choice
	var refs []string
	var first error
	for _, part := range each {
		one, err := c.openOne(part)
		if IsMissing(err) {
			first = cmp.Or(first, err)
			if c.Log != nil {
				c.Log.Warn("a model is left out: it cannot be asked as things are", "model", part.Ref, "why", err.Error())
			}
			continue
		}
		if err != nil {
			return Opened{}, err
		}
		list = append(list, fallback.Choice{Name: one.Ref, Model: one.Model, Price: one.Charge, Window: one.Window})
		if refs = append(refs, one.Ref); len(refs) == 1 {
			opened.Facts, opened.Known, opened.Charge = one.Facts, one.Known, one.Charge
		} else if one.Window > 0 && (opened.Window == 0 || one.Window < opened.Window) {
			opened.Window, opened.WindowFrom = one.Window, one.WindowFrom
		}
	}
	if len(list) == 0 {
		return Opened{}, first
	}
	opened.Ref, opened.Then = refs[0], strings.Join(refs[1:], " ")
	opened.Model = fallback.New(list...)
	return opened, nil
}

// IsMissing reports whether a model cannot be used because something that it needs is not
// there yet, as opposed to a choice that is wrong: its key, a part of its address, or its
// server, which does not run.
func IsMissing(err error) bool {
	if _, ok := errors.AsType[*MissingKey](err); ok {
		return true
	}
	if _, ok := errors.AsType[*provider.MissingValue](err); ok {
		return true
	}
	refusal, ok := errors.AsType[*Refusal](err)
	return ok && refusal.isDown
}

func (c *Chooser) openOne(choice Choice) (Opened, error) {
	if choice.IsRehearsal() {
		return Opened{Choice: choice, Model: rehearsal.New(), Facts: Facts{Price: troupe.Price{Free: true}}, Charge: troupe.Price{Free: true}}, nil
	}
	e, err := c.Endpoint(choice)
	if missing, ok := errors.AsType[*MissingKey](err); ok && !choice.hasFlag() {
		return Opened{}, &keyElsewhere{missing}
	}
	if err != nil {
		return Opened{}, err
	}
	wrong := func(err error) (Opened, error) {
		return Opened{}, fmt.Errorf("model %s (%s): %w", choice.Ref, choice.From, err)
	}
	ctx := context.Background()
	if e.Model == "" {
		if e.Model, err = onlyModel(ctx, &e, choice); err != nil {
			return wrong(err)
		}
	}
	if !strings.Contains(choice.Ref, "/") {
		choice.Ref = e.Provider + "/" + e.Model
	}
	facts, info, err := c.Facts(ctx, &e)
	if err != nil {
		return wrong(err)
	}
	if err := c.checkPrice(&e, facts.Price); err != nil {
		return wrong(err)
	}
	if facts.IsTight && c.Log != nil {
		c.Log.Warn("the model's window is small", "model", choice.Ref, "why", facts.Warning)
	}
	e.contextLength = facts.Asked
	model, err := c.client(&e, info)
	if err != nil {
		return wrong(err)
	}
	if e.known.Name == "ollama" && e.IsLocal() {
		guard := &roomGuard{Model: model, endpoint: e, used: c.used(ctx, &e)}
		if c.Log != nil {
			guard.warn = c.Log.Warn
		}
		model = guard
	}
	model = &named{model, e.Provider, e.Model}
	charge := facts.Price
	if !charge.Known() && c.takesUnknown(&e) {
		charge.Free = true
	}
	return Opened{Choice: choice, Model: model, Facts: facts, Charge: charge, Known: info}, nil
}

// A keyElsewhere is a key that is missing where no command line is at hand.
type keyElsewhere struct{ *MissingKey }

// Error names the variable to set.
func (e *keyElsewhere) Error() string {
	return fmt.Sprintf("model %s (%s): %s is not set; put the provider's key there or into .env, or choose another model", e.Ref, e.From, e.Variable)
}

func (e *keyElsewhere) Unwrap() error { return e.MissingKey }

// A Refusal is why a model cannot be used as it was chosen, and what to do about it.
type Refusal struct {
	Why, Fix string
	// isDown says that its server does not answer.
	isDown bool
}

// Error says both.
func (r *Refusal) Error() string { return r.Why + "; " + r.Fix }

// Reason is the word that the catalogue of failures has for it: see [troupe.ModelError].
func (r *Refusal) Reason() string {
	if r.isDown {
		return "unreachable"
	}
	return "model"
}

// onlyModel is the model of a server that has only one. Of several, somebody has to
// choose, unless nobody has named the server either.
func onlyModel(ctx context.Context, e *Endpoint, choice Choice) (string, error) {
	names, err := Installed(ctx, e)
	installed := len(names)
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	capabilities := e.capabilities(ctx)
	if err == nil && e.known.Name == "ollama" {
		names = speaking(names, capabilities)
	}
	switch {
	case err != nil:
		return "", noList(e, err)
	case len(names) == 0:
		fix := "install one"
		if e.Provider == "ollama" {
			fix = "'ollama pull qwen3' gets one"
		}
		why := e.Provider + " has no models"
		if installed > 0 {
			why += " that can hold a conversation"
		}
		return "", &Refusal{Why: why, Fix: fix}
	case len(names) == 1:
		return names[0], nil
	case choice.isFree:
		return best(ctx, e, names, capabilities), nil
	}
	const most = 20
	list := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		list += ", ..."
	}
	fix := fmt.Sprintf("choose one, as in %s/%s", e.Provider, names[0])
	if choice.hasFlag() {
		fix = fmt.Sprintf("choose one, as in --model %s/%s, or as model in %s", e.Provider, names[0], config.Name)
	}
	return "", &Refusal{Why: e.Provider + " has " + list, Fix: fix}
}

// noList says why a server's models are not known, and what to do.
func noList(e *Endpoint, err error) error {
	where, fix := e.BaseURL, "start it, or correct its address"
	if at, err := url.Parse(e.BaseURL); err == nil {
		where = at.Host
	}
	if e.Provider == "ollama" {
		fix = "'ollama serve' starts it; where it is, OLLAMA_HOST says"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Refusal{Why: "nothing listens at " + where, Fix: fix, isDown: true}
	case errors.Is(err, context.DeadlineExceeded):
		return &Refusal{Why: fmt.Sprintf("%s did not answer within %s", where, askFor), Fix: fix, isDown: true}
	}
	return &Refusal{Why: fmt.Sprintf("%s does not say which models it has (%v)", where, plain(err)), Fix: fmt.Sprintf("is that %s? Otherwise choose one as %s/NAME", e.Provider, e.Provider)}
}

// plain is the cause of a request that failed, without its address.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// takesUnknown reports whether a model is used under a limit in money though nobody knows
// its price: because that is configured, or because its provider reports what it bills.
func (c *Chooser) takesUnknown(e *Endpoint) bool {
	return c.Limits().CostUnknown == "allow" || e.known.ReportsCost && e.configured.BaseURL == ""
}

// checkPrice refuses a model without a known price where money is limited: the limit
// would do nothing.
func (c *Chooser) checkPrice(e *Endpoint, price troupe.Price) error {
	limits := c.Limits()
	if limits.Cost <= 0 || price.Known() || c.takesUnknown(e) {
		return nil
	}
	return &Refusal{Why: "limits.cost is set, and what this model costs is not known",
		Fix: fmt.Sprintf("say so in %s: providers: {%s: {models: {%q: {price: {input: 1.00, output: 4.00}}}}}, in US dollars per million tokens; or set limits.cost_unknown to allow", config.Name, e.Provider, e.Model)}
}
