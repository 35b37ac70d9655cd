package project

import (
	"context"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/server"
)

// A Model is a model as it is listed.
type Model struct {
	// Ref is provider/name.
	Ref string `json:"model"`
	// Use says who uses it: "default", or agents. It is empty for nobody.
	Use string `json:"use,omitempty"`
	// Window and Output are how many tokens it can hold, and answer with. Zero means
	// that nobody knows.
	Window int          `json:"window,omitempty"`
	Output int          `json:"output,omitempty"`
	Price  troupe.Price `json:"-"`
	// In and Out are dollars per million tokens, nil where they are not known.
	In  *float64 `json:"input_price,omitempty"`
	Out *float64 `json:"output_price,omitempty"`
	// Can are its abilities: images, reasoning, strict.
	Can []string `json:"can,omitempty"`
	// Problem says why it cannot be used as things are.
	Problem string `json:"problem,omitempty"`
}

// A Provider is a provider of models as it is listed.
type Provider struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Models  int    `json:"models,omitempty"` // that are known
	IsSetUp bool   `json:"set_up"`
	// Needs is the variable to set, where it is not set up.
	Needs string `json:"needs,omitempty"`
}

// Model returns the model that an agent uses, as provider/name or rehearsal, and who
// chose it: an option, a key of troupe.yaml or an environment variable. An empty id
// means any agent that has no entry in troupe.yaml. Nobody has chosen a model where
// chosenBy is empty.
func (p *Project) Model(id string) (name, chosenBy string) {
	p.opening.Lock()
	s := p.opened
	p.opening.Unlock()
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for key, made := range s.agents {
			if key.id == id && key.choice == p.models.For(id) {
				return made.model.Ref, made.model.From
			}
		}
	}
	choice := p.models.For(id)
	return choice.Ref, choice.From
}

// AnsweredBy returns the model that the agent of a step asks, and who chose it. Where there
// are several, Ref names them in order, with commas between them. It is false for flows and
// for steps that the project has not made.
func (p *Project) AnsweredBy(step troupe.Step) (m Model, chosenBy string, ok bool) {
	agent, ok := step.(*troupe.Agent)
	p.opening.Lock()
	s := p.opened
	p.opening.Unlock()
	if !ok || s == nil {
		return m, "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, made := range s.agents {
		if made.agent == agent {
			return Model(made.model.Listed()), made.model.From, true
		}
	}
	return m, "", false
}

// ChooseModel has a model answer in a session from its next run on, wherever that is: in a
// terminal, on the page, in an editor. An empty one means the usual model.
func (p *Project) ChooseModel(ctx context.Context, session, model string) error {
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	return server.ChooseModel(p.notesDir(), s.shelf(), session, model)
}

// CopyChoice has the model that a person chose for a session answer in another one, too.
func (p *Project) CopyChoice(ctx context.Context, from, to string) error {
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	model, err := server.ChosenModel(p.notesDir(), s.shelf(), from)
	if err != nil || model == "" {
		return err
	}
	return p.ChooseModel(ctx, to, model)
}

// ChooseAgent has an agent or flow go on with a session as it is now, before anything is
// said to it.
func (p *Project) ChooseAgent(ctx context.Context, session troupe.SessionInfo, agent string) error {
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	return server.ChooseAgent(p.notesDir(), s.shelf(), session.ID, agent, session.Events)
}

// ChosenAgent is who goes on with a session: whoever was chosen since its latest run, or
// who that run is of.
func (p *Project) ChosenAgent(ctx context.Context, session troupe.SessionInfo) (string, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return "", err
	}
	agent, err := server.ChosenAgent(p.notesDir(), s.shelf(), session.ID, session.Events)
	if err != nil {
		return "", err
	}
	if name, err := p.Find(agent); agent != "" && err == nil && name == agent {
		return agent, nil
	}
	return session.Agent, nil
}

// notesDir is where servers keep what people decide about sessions.
func (p *Project) notesDir() string { return filepath.Join(p.DataDir(), "page") }

// choiceOf is how the models of a session are chosen: as the command line says, as a person
// did for the session, or as usual.
func (s *stage) choiceOf(session string) (func(id string) models.Choice, error) {
	usual := s.project.models.For
	if session == "" || s.project.models.Flag != "" {
		return usual, nil
	}
	model, err := server.ChosenModel(s.project.notesDir(), s.shelf(), session)
	if err != nil || model == "" {
		return usual, err
	}
	return chosen(model), nil
}

// OpenModel makes the model of a name, as provider/name or rehearsal, and says what it
// costs. An empty name means the model of agents that have no entry in troupe.yaml.
func (p *Project) OpenModel(ref string) (troupe.Model, troupe.Price, error) {
	choice := p.models.For("")
	if ref != "" {
		choice = models.NewChoice(ref, "the program")
	}
	opened, err := p.models.Open(choice)
	return opened.Model, opened.Price, err
}

// Models lists the models that the project's agents use.
func (p *Project) Models(ctx context.Context) []Model {
	var list []Model
	for _, m := range p.models.InUse(ctx) {
		list = append(list, Model(m))
	}
	return list
}

// ModelsOf lists the models of a provider: those that the server has, where it runs
// on the user's own machine, and else those that are known.
func (p *Project) ModelsOf(ctx context.Context, provider string) ([]Model, error) {
	found, err := p.models.Of(ctx, provider)
	var list []Model
	for _, m := range found {
		list = append(list, Model(m))
	}
	return list, err
}

// Providers lists all providers that are known, and those of troupe.yaml.
func (p *Project) Providers() []Provider {
	var list []Provider
	for _, source := range p.models.Sources() {
		list = append(list, Provider(source))
	}
	return list
}

// StepUsing is [Project.StepIn] with another model for all agents of the step, as
// provider/name or rehearsal.
func (p *Project) StepUsing(ctx context.Context, name, session, model string) (troupe.Step, error) {
	return p.StepWith(ctx, name, session, model, nil)
}

// ModelChoices lists the models that a person may choose from: those that agents use,
// those that the providers which are set up have, and rehearsal. Servers that do not answer
// soon offer nothing.
func (p *Project) ModelChoices(ctx context.Context) []Model {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	list := p.Models(ctx)
	known := map[string]bool{}
	for _, m := range list {
		known[m.Ref] = true
	}
	for _, m := range append(p.models.Offered(ctx), models.Listed{Ref: rehearsal.Name}) {
		if !known[m.Ref] && m.Problem == "" {
			known[m.Ref] = true
			list = append(list, Model(m))
		}
	}
	return list
}
