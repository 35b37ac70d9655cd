package project

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/project/rehearse"
)

// Rehearse plays commands of the bundles' agents with no model and reports where they
// lead: all commands of all agents, or those of one agent, or one of them. Empty means
// all. What is saved is thrown away.
func (p *Project) Rehearse(ctx context.Context, agent, command string) ([]rehearse.Report, error) {
	scenes, reports, err := p.scenes(agent, command)
	if err != nil {
		return nil, err
	}
	theatre, err := rehearse.Open(p.look(), p.dir, p.optionsOf)
	if err != nil {
		return nil, err
	}
	played, err := theatre.PlayAll(ctx, scenes)
	if err = errors.Join(err, theatre.Close()); err != nil {
		return nil, err
	}
	return append(reports, played...), nil
}

// scenes lists what is to be played. An agent that cannot be read is a dead end
// where all are to be played.
func (p *Project) scenes(agent, command string) (scenes []rehearse.Scene, failures []rehearse.Report, err error) {
	if agent == "" {
		definitions, findings := p.catalog().Definitions()
		for _, f := range findings {
			if f.Severity == bundle.Error {
				failures = append(failures, rehearse.Failed(f.File, &f))
			}
		}
		for _, d := range definitions {
			for _, c := range d.Commands {
				scenes = append(scenes, rehearse.Scene{Agent: d, Command: c})
			}
		}
		return scenes, failures, nil
	}
	d, err := p.Definition(agent)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, c := range d.Commands {
		names = append(names, c.Cmd)
		if command == "" {
			scenes = append(scenes, rehearse.Scene{Agent: d, Command: c})
		}
	}
	if found := d.Match(command); len(found) == 1 && found[0].Exact {
		scenes = append(scenes, rehearse.Scene{Agent: d, Command: *found[0].Command})
	}
	if len(scenes) == 0 && command != "" {
		hint := suggest.Hint("*"+strings.TrimPrefix(command, "*"), names)
		if hint == "" {
			hint = "; there are " + strings.Join(names, ", ")
		}
		return nil, nil, fmt.Errorf("agent %s has no command %.64q%s", d.ID, command, hint)
	}
	return scenes, nil, nil
}
