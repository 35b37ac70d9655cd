package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// maxProposed is how many checks of an agent a person is asked about.
const maxProposed = 8

// proposedChecks are the commands that discovery would check the repository with.
func proposedChecks(outputs json.RawMessage) (list []checks.Check) {
	var raw struct {
		Checks []struct {
			Name string   `json:"name"`
			Argv []string `json:"argv"`
		} `json:"checks"`
	}
	_ = json.Unmarshal(outputs, &raw) // what has another form proposes nothing
	for _, c := range raw.Checks {
		name := nameOf(c.Name)
		if name == "" || len(c.Argv) == 0 || c.Argv[0] == "" || len(list) == maxProposed || slices.ContainsFunc(list, func(o checks.Check) bool { return o.Name == name }) {
			continue
		}
		list = append(list, checks.Check{Name: name, Argv: c.Argv})
	}
	return list
}

// considerChecks asks once about the checks that discovery proposes, where there are no
// others. They are never run unasked; beside others they are only mentioned.
func (c *course) considerChecks(ctx context.Context, discovered *Result) error {
	proposed := proposedChecks(discovered.Outputs)
	if len(proposed) == 0 || !c.has(phaseImplementation) {
		return nil
	}
	var lines []string
	for i := range proposed {
		lines = append(lines, fmt.Sprintf("%s: %s", proposed[i].Name, proposed[i].Command()))
	}
	if len(c.site.Checks) > 0 {
		return c.run.Warn(ctx, "checks_proposed", "discovery proposes further checks, which are not run; pipeline.checks is where they would go: "+strings.Join(lines, "; "))
	}
	verdict, err := call[gateResult](ctx, c.run, c.gate, gateRequest{Phase: phaseDiscovery, Kind: gateEnvironment, Question: fmt.Sprintf(
		"This repository has no checks, so that nothing could be measured. Discovery proposes these commands, which would run in the sandbox (%s):\n\n- %s\n\nAnswer \"go on\" to use them as checks, or \"stop\" to do without.",
		c.site.Sandbox, strings.Join(lines, "\n- "))})
	if err != nil || verdict.Decision != decisionGoOn {
		return err
	}
	adopted, err := call[adoptedChecks](ctx, c.run, c.tools.adopt, adoptedChecks{proposed})
	if err != nil {
		return err
	}
	c.site.Checks = adopted.Checks
	return c.measure(ctx, nil)
}

type adoptedChecks struct {
	Checks []checks.Check `json:"checks"`
}

// adoptTool makes checks those of the site, once a person has agreed to them.
func (s *workshop) adoptTool() troupe.Tool {
	return onSite(s, "adopt_checks", "Takes proposed commands as the checks of the delivery.", func(_ context.Context, o *openSite, in adoptedChecks) (adoptedChecks, error) {
		return in, o.adoptChecks(in.Checks)
	})
}

func (o *openSite) adoptChecks(list []checks.Check) error {
	return o.update(func(site *Site) { site.Checks = list })
}
