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
	for _, s := range scenes {
		report, err := theatre.Play(ctx, s.agent, s.command)
		if err != nil {
			return nil, errors.Join(err, theatre.Close())
		}
		reports = append(reports, report)
	}
	theatre.Settle(reports)
	return reports, theatre.Close()
}

// A scene is a command to be played.
type scene struct {
	agent   *bundle.Definition
	command bundle.Command
}

// scenes lists what is to be played. An agent that cannot be read is a dead end
// where all are to be played.
func (p *Project) scenes(agent, command string) (scenes []scene, failures []rehearse.Report, err error) {
	if agent == "" {
		definitions, findings := p.catalog().Definitions()
		for _, f := range findings {
			if f.Severity == bundle.Error {
				failures = append(failures, rehearse.Failed(f.File, &f))
			}
		}
		for _, d := range definitions {
			for _, c := range d.Commands {
				scenes = append(scenes, scene{d, c})
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
		if command == "" || strings.TrimPrefix(command, "*") == strings.TrimPrefix(c.Cmd, "*") {
			scenes = append(scenes, scene{d, c})
		}
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
