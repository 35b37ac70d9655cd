// Package rehearse plays the commands of agents with no model, to find out whether
// they lead anywhere.
//
// Agents run in a real engine, with the tools and files that a model would have.
// Their model is [rehearsal.New], and questions are answered by [rehearsal.StandIn].
// What they save goes to a directory that is removed afterwards.
package rehearse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/workspace"
)

// A Theatre is where commands are played. Those of different agents may be played at the
// same time.
type Theatre struct {
	catalog *bundle.Catalog
	project string // the directory that the catalog's paths are relative to
	temp    string // holds all that is saved
	outputs string
	engine  *troupe.Engine
	options func(agent string) bundle.Options

	mu     sync.Mutex
	actors map[string]*actor
}

// An actor is an agent that plays, and all the files that its commands name.
type actor struct {
	agent *troupe.Agent
	files library
}

// Open prepares to play commands of a catalog's agents. What options grants them to
// read they may read, but nothing they may write to is theirs.
func Open(catalog *bundle.Catalog, project string, options func(agent string) bundle.Options) (*Theatre, error) {
	temp, err := os.MkdirTemp("", "troupe-rehearsal-")
	if err != nil {
		return nil, fmt.Errorf("rehearse: %w", err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	return &Theatre{catalog: catalog, project: project, temp: temp, outputs: filepath.Join(temp, "agent-outputs"), engine: engine, options: options, actors: map[string]*actor{}}, nil
}

// Close ends what is being played and removes what was saved.
func (t *Theatre) Close() error {
	return errors.Join(t.engine.Close(), os.RemoveAll(t.temp))
}

func (t *Theatre) actor(d *bundle.Definition) (*actor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.actors[d.ID]; known != nil {
		return known, nil
	}
	o := t.options(d.ID)
	for i := range o.Roots {
		o.Roots[i].Access = min(o.Roots[i].Access, workspace.ReadOnly)
	}
	o.Model, o.Outputs, o.Invoke = rehearsal.New(), t.outputs, nil
	o.Temporary = true
	// None of the project's own documents are written, and none is there because another
	// agent happened to play before.
	o.Documents = bundle.Documents{Dir: filepath.Join(t.temp, "documents", strconv.Itoa(len(t.actors)))}
	agent, err := t.catalog.Agent(d.ID, o)
	if err != nil {
		return nil, err
	}
	a := &actor{agent: agent, files: readLibrary(d, t.project)}
	t.actors[d.ID] = a
	return a, nil
}

// A Scene is a command to be played.
type Scene struct {
	Agent   *bundle.Definition
	Command bundle.Command
}

// PlayAll plays commands, those of several agents at the same time, and returns the
// reports in the order of the scenes.
func (t *Theatre) PlayAll(ctx context.Context, scenes []Scene) ([]Report, error) {
	reports, errs := make([]Report, len(scenes)), make([]error, len(scenes))
	byAgent := map[string][]int{}
	var agents []string
	for i, s := range scenes {
		if byAgent[s.Agent.ID] == nil {
			agents = append(agents, s.Agent.ID)
		}
		byAgent[s.Agent.ID] = append(byAgent[s.Agent.ID], i)
	}
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var playing sync.WaitGroup
	for _, agent := range agents {
		playing.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			for _, i := range byAgent[agent] {
				if reports[i], errs[i] = t.Play(ctx, scenes[i].Agent, scenes[i].Command); errs[i] != nil {
					return
				}
			}
		})
	}
	playing.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	t.Settle(reports)
	return reports, nil
}

// maxMessages is how often the user speaks before a command counts as endless.
const maxMessages = 150

// Play plays one command to its end. The error is that of a play that could not be
// finished for reasons of our own: what is wrong with the command is in the report.
func (t *Theatre) Play(ctx context.Context, d *bundle.Definition, c bundle.Command) (Report, error) {
	p := play{Report: newReport(d.ID, c), definition: d, command: c}
	a, err := t.actor(d)
	if err != nil {
		p.dead("the agent cannot be made: %v", err)
		return p.Report, nil
	}
	p.files = &a.files
	session, message := "", c.Cmd
	for range maxMessages {
		var end *troupe.RunFinished
		end, session, err = p.say(t.engine.Run(ctx, a.agent, troupe.Input{Session: session, Text: message}))
		if ctx.Err() != nil {
			return p.Report, context.Cause(ctx)
		}
		if err != nil {
			p.dead("%v", rootCause(err))
			break
		}
		if end.Stop != "answered" {
			p.dead("it stopped before its end: %s", end.Stop)
			break
		}
		question, asked := rehearsal.Question(end.Output.Summary)
		if !asked {
			p.finish(end.Output.Summary)
			return p.Report, nil
		}
		p.Questions++
		message = rehearsal.StandIn(question)
	}
	if len(p.DeadEnds) == 0 {
		p.dead("it still asks after %d answers", maxMessages)
	}
	p.finish("")
	return p.Report, nil
}

// rootCause leaves out who was asked to do what: the report says that.
func rootCause(err error) error {
	if run, ok := errors.AsType[*troupe.RunError](err); ok {
		return run.Err
	}
	return err
}

// Settle fills in what can be said only when all is played: the tokens that loading
// everything up front would take.
func (t *Theatre) Settle(reports []Report) {
	for i := range reports {
		if a := t.actors[reports[i].Agent]; a != nil {
			reports[i].Tokens.UpFront = reports[i].Tokens.Start + a.files.tokens()
		}
	}
}
