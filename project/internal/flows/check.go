package flows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// Check says what is wrong with the flows that only somebody who knows the agents
// can tell: names that are nobody's, and flows that run inside themselves.
func (m *Maker) Check() error {
	c := checker{maker: m}
	for _, name := range slices.Sorted(maps.Keys(m.Flows)) {
		flow := m.Flows[name]
		if slices.Contains(m.Agents, name) {
			c.wrong(flow.Line(""), "flows.%s: there is an agent of that name", name)
		}
		c.examine(name, &flow, []string{name})
	}
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b config.Problem) int { return a.Line - b.Line })
		return slices.Compact(c.problems)
	}
	return nil
}

type checker struct {
	maker    *Maker
	problems config.Problems
}

func (c *checker) wrong(line int, format string, args ...any) {
	c.problems = append(c.problems, config.Problem{File: c.maker.File, Line: line, Message: fmt.Sprintf(format, args...)})
}

// examine looks at a flow and at those within it; chain is how it came to be run.
func (c *checker) examine(name string, f *config.Flow, chain []string) {
	for _, only := range []struct {
		key string
		ids []string
	}{{"team", f.Team}, {"manager", some(f.Manager)}, {"check", some(f.Check)}, {"agent", some(f.Agent)}} {
		for _, id := range only.ids {
			c.needAgent(f.Line(only.key), name, only.key, id)
		}
	}
	var names []string
	for i, part := range members(f) {
		inner := InnerName(name, i, part)
		if slices.Contains(names, inner) && f.Kind() != "sequence" {
			c.wrong(part.Line, "flows.%s: %s is there twice, and could not be told apart", name, inner)
		}
		names = append(names, inner)
		c.examinePart(name, inner, part, chain)
	}
}

func some(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

func (c *checker) needAgent(line int, flow, key, id string) {
	if _, isFlow := c.maker.Flows[id]; isFlow {
		c.wrong(line, "flows.%s.%s: %s is a flow; only an agent will do here", flow, key, id)
	} else if !slices.Contains(c.maker.Agents, id) {
		c.wrong(line, "flows.%s.%s: there is no agent %q%s", flow, key, id, suggest.Hint(id, c.maker.Agents))
	}
}

func (c *checker) examinePart(flow, inner string, part config.Part, chain []string) {
	if slices.Contains(chain, inner) {
		c.wrong(part.Line, "flows.%s runs inside itself: %s", chain[0], strings.Join(append(chain, inner), " → "))
		return
	}
	chain = append(slices.Clone(chain), inner)
	next, isFlow := c.maker.Flows[part.Name]
	switch {
	case part.Flow != nil:
		c.examine(inner, part.Flow, chain)
	case isFlow:
		c.examine(inner, &next, chain)
	case !slices.Contains(c.maker.Agents, part.Name):
		known := slices.Concat(c.maker.Agents, slices.Sorted(maps.Keys(c.maker.Flows)))
		c.wrong(part.Line, "flows.%s: there is no agent or flow %q%s", flow, part.Name, suggest.Hint(part.Name, known))
	}
}
