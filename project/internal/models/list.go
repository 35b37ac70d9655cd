package models

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// A Listed is a model as it is listed.
type Listed struct {
	Ref string `json:"model"`
	// Use says who uses it: "default", or agents. It is empty for nobody.
	Use    string       `json:"use,omitempty"`
	Window int          `json:"window,omitempty"`
	Output int          `json:"output,omitempty"`
	Price  troupe.Price `json:"-"`
	// In and Out are dollars per million tokens, nil where they are not known.
	In  *float64 `json:"input_price,omitempty"`
	Out *float64 `json:"output_price,omitempty"`
	// Can are its abilities: tools, images, reasoning, strict.
	Can []string `json:"can,omitempty"`
	// Problem says why it cannot be used as things are.
	Problem string `json:"problem,omitempty"`
}

// A Source is a provider as it is listed.
type Source struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Models  int    `json:"models,omitempty"` // that are known
	IsSetUp bool   `json:"set_up"`
	// Needs is the variable to set, where it is not set up.
	Needs string `json:"needs,omitempty"`
}

// SetUp lists the providers that could be used as things are: their key is set, or
// the configuration says where they are.
func (c *Chooser) SetUp() []string {
	names := slices.Collect(maps.Keys(c.Configured()))
	for _, p := range provider.All() {
		if c.setBy(&p) != "" {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Sources lists all providers.
func (c *Chooser) Sources() []Source {
	setUp := c.SetUp()
	var list []Source
	for _, p := range provider.All() {
		s := Source{Name: p.Name, Title: p.Title, Models: len(catalog.Builtin().Models(p.Name)), IsSetUp: slices.Contains(setUp, p.Name)}
		if !s.IsSetUp && !p.Local {
			s.Needs = p.KeyEnv[0]
		}
		list = append(list, s)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Configured())) {
		if _, known := provider.Find(name); !known {
			list = append(list, Source{Name: name, Title: "in " + config.Name, IsSetUp: true})
		}
	}
	return list
}

// InUse lists the models that the project's agents use: the default first, then by agent,
// and those of one choice in the order in which they are asked.
func (c *Chooser) InUse(ctx context.Context) (list []Listed) {
	choices := []Choice{c.For("")}
	users := map[Choice][]string{choices[0]: {"default"}}
	for _, id := range slices.Sorted(maps.Keys(c.Config.Agents)) {
		choice := c.For(id)
		if users[choice] == nil {
			choices = append(choices, choice)
		}
		if choice != choices[0] {
			users[choice] = append(users[choice], id)
		}
	}
	for _, choice := range choices {
		for i, part := range choice.Each() {
			l := Listed{Ref: part.Ref}
			if opened, err := c.Open(part); err != nil {
				l.Problem = err.Error()
				if choice.Then != "" && IsMissing(err) {
					l.Problem = "left out: " + l.Problem
				}
			} else {
				l = opened.Listed()
			}
			l.Use = strings.Join(users[choice], ", ")
			if i > 0 {
				l.Use += fmt.Sprintf(", choice %d", i+1)
			}
			list = append(list, l)
		}
	}
	return list
}

// Of lists the models of one provider: those that the server has, where it is one of
// the user's own, and else those that the catalogue and the configuration know.
func (c *Chooser) Of(ctx context.Context, name string) ([]Listed, error) {
	p, proper, ok := c.find(name)
	if !ok {
		_, _, _, err := c.split(name + "/x")
		return nil, err
	}
	var list []Listed
	seen := map[string]bool{}
	add := func(l Listed) {
		if !seen[l.Ref] {
			list = append(list, l)
		}
		seen[l.Ref] = true
	}
	for _, model := range slices.Sorted(maps.Keys(c.Configured()[proper].Models)) {
		add(c.listed(ctx, proper, model))
	}
	for _, info := range worthListing(catalog.Builtin().Models(p.Name), c.usual(&p)) {
		l := Listed{Ref: proper + "/" + info.Name, Can: abilities(info)}
		l.know(Facts{Window: info.Context, Output: info.Output, Price: info.Price})
		add(l)
	}
	if len(list) > 0 {
		return list, nil
	}
	e, err := c.Endpoint(Choice{Ref: proper, From: "troupe models"})
	if err != nil {
		return nil, err
	}
	names, err := Installed(ctx, &e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", proper, noList(&e, err))
	}
	for _, model := range names {
		add(c.listed(ctx, proper, model))
	}
	return list, nil
}

// worthListing are the models of a catalogue to choose from, the usual one first: neither
// retired ones, nor those of which nothing but a price is known where more is of others,
// because such are hardly for agents.
func worthListing(all []catalog.Info, usual string) []catalog.Info {
	all = slices.DeleteFunc(slices.Clone(all), func(i catalog.Info) bool { return i.Retired })
	isBare := func(i catalog.Info) bool {
		return i.Name != usual && i.Context == 0 && !i.Images && !i.Reasoning && !i.Strict
	}
	if known := slices.DeleteFunc(slices.Clone(all), isBare); len(known) > 1 {
		all = known
	}
	slices.SortStableFunc(all, func(a, b catalog.Info) int {
		switch {
		case a.Name == usual && b.Name != usual:
			return -1
		case b.Name == usual && a.Name != usual:
			return 1
		}
		return 0
	})
	return all
}

// mostOffered is how many models of one provider are offered.
const mostOffered = 40

// Offered lists the models of the providers that could be used as things are. A server that
// is not there offers nothing.
func (c *Chooser) Offered(ctx context.Context) []Listed {
	var list []Listed
	for _, name := range c.SetUp() {
		if of, err := c.Of(ctx, name); err == nil {
			list = append(list, of[:min(len(of), mostOffered)]...)
		}
	}
	return list
}

func (c *Chooser) listed(ctx context.Context, provider, model string) Listed {
	l := Listed{Ref: provider + "/" + model}
	e, err := c.Endpoint(Choice{Ref: l.Ref, From: "troupe models"})
	if err != nil {
		l.Problem = err.Error()
		return l
	}
	facts, info, err := c.Facts(ctx, &e)
	if err != nil {
		l.Problem = err.Error()
		return l
	}
	l.know(facts)
	l.Can = append(abilities(info), facts.Can...)
	return l
}

// Listed is the model as it is listed, or all of them where there are several.
func (o *Opened) Listed() Listed {
	l := Listed{Ref: o.String(), Can: append(abilities(o.Known), o.Can...)}
	l.know(o.Facts)
	return l
}

func (l *Listed) know(f Facts) {
	l.Window, l.Output, l.Price = f.Window, f.Output, f.Price
	if f.Price.Known() && !f.IsAssumedFree {
		l.In, l.Out = &f.Price.Input, &f.Price.Output
	}
}

func abilities(info catalog.Info) (can []string) {
	for _, a := range []struct {
		has  bool
		name string
	}{{info.Images, "images"}, {info.Reasoning, "reasoning"}, {info.Strict, "strict"}} {
		if a.has {
			can = append(can, a.name)
		}
	}
	return can
}
