package project

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// Queues are the names of the queues that troupe.yaml has beside the usual one, in order.
func (p *Project) Queues() []string {
	names := make([]string, 0, len(p.config.Queues))
	for _, q := range p.config.Queues {
		names = append(names, q.Name)
	}
	return names
}

// QueueRate returns how many runs all workers of a queue together begin in a second, 0 for no
// limit. It fails if troupe.yaml has no such queue, because nothing would ever come of it. The
// usual queue has no name.
func (p *Project) QueueRate(name string) (float64, error) {
	if name == "" {
		return 0, nil
	}
	for _, q := range p.config.Queues {
		if q.Name == name {
			return q.Rate, nil
		}
	}
	known := p.Queues()
	if len(known) == 0 {
		return 0, fmt.Errorf("%s has no queues, and so no run would go to %q: add it there, as in queues: [{name: %s, users: [ann]}]", config.Name, name, name)
	}
	return 0, fmt.Errorf("there is no queue %q in %s, which has %s%s", name, config.Name, strings.Join(known, ", "), suggest.Hint(name, known))
}

// checkQueues fails where a queue waits for an agent, flow, user or provider of models that
// there is none of.
func (p *Project) checkQueues() error {
	var wrong []error
	for _, q := range p.config.Queues {
		wrong = append(wrong, unknown(q.Name, "provider", providersOf(q.Models), p.models.Providers()))
		if known := p.names(); len(known) > 0 {
			wrong = append(wrong, unknown(q.Name, "agent or flow", q.Agents, known))
		}
		if s := p.config.Server; len(s.Users) > 0 && s.OIDC.Issuer == "" && s.Proxy.UserHeader == "" {
			var known []string
			for name := range s.Users {
				known = append(known, name)
			}
			wrong = append(wrong, unknown(q.Name, "user", q.Users, known))
		}
	}
	return errors.Join(wrong...)
}

// providersOf are the parts of the names of models that say who provides them.
func providersOf(models []string) (providers []string) {
	for _, model := range models {
		if name, _, ok := strings.Cut(model, "/"); ok {
			providers = append(providers, name)
		}
	}
	return providers
}

// names are those of all agents and flows.
func (p *Project) names() (names []string) {
	for _, a := range p.Agents() {
		names = append(names, a.ID)
	}
	for _, f := range p.Flows() {
		names = append(names, f.Name)
	}
	return names
}

// unknown reports the first pattern of a queue that fits nothing there is.
func unknown(queue, what string, patterns, known []string) error {
	for _, pattern := range patterns {
		if !slices.ContainsFunc(known, func(name string) bool { return isLike(pattern, name) }) {
			return fmt.Errorf("queues in %s: %s is for %.64q, and there is no such %s%s", config.Name, queue, pattern, what, suggest.Hint(pattern, known))
		}
	}
	return nil
}

// queueOf returns the queue for a run: the first one of troupe.yaml that fits.
func (s *stage) queueOf(step troupe.Step, input troupe.Input) string {
	var need *needs
	for _, q := range s.project.config.Queues {
		if need == nil {
			need = s.needsOf(step, input.Session)
		}
		if fitsAny(q.Users, input.User) && fitsAny(q.Agents, step.Name()) && fitsAny(q.Models, need.models...) && fitsAny(q.Tools, need.tools...) {
			return q.Name
		}
	}
	return ""
}

// QueueFor returns the queue for the runs of an agent or flow that nobody in particular asks for.
func (p *Project) QueueFor(ctx context.Context, name string) (string, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return "", err
	}
	step, err := p.Step(ctx, name)
	if err != nil {
		return "", err
	}
	return s.queueOf(step, troupe.Input{}), nil
}

// needs are what a run needs of a worker.
type needs struct{ models, tools []string }

func (s *stage) needsOf(step troupe.Step, session string) *needs {
	need := &needs{}
	chosen := ""
	if shelf := s.shelf(); shelf != nil && session != "" {
		// Where that cannot be read, the run goes where it would without a choice.
		chosen, _ = server.ChosenModel(s.project.notesDir(), shelf, session)
	}
	s.addNeeds(need, step.Definition(), chosen)
	return need
}

func (s *stage) addNeeds(need *needs, d *troupe.Definition, chosen string) {
	if d == nil {
		return
	}
	if d.Kind == "agent" {
		model := chosen
		if model == "" {
			model = s.project.models.For(d.Name).Ref
		}
		need.models = append(need.models, model)
		need.tools = append(need.tools, strings.Split(d.Settings["tools"], ", ")...)
	}
	for _, nested := range d.Steps {
		s.addNeeds(need, nested, chosen)
	}
}

// fitsAny reports whether one of some texts fits one of some patterns, or there are none.
func fitsAny(patterns []string, texts ...string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return isLike(pattern, text) })
	})
}

// isLike reports whether a text is as a pattern says, in which a star stands for any
// characters.
func isLike(pattern, text string) bool {
	// A star of package path stops at a slash.
	escape := strings.NewReplacer("/", "\x00", `\`, `\\`, "[", `\[`, "?", `\?`)
	ok, err := path.Match(escape.Replace(pattern), strings.ReplaceAll(text, "/", "\x00"))
	return ok && err == nil
}
