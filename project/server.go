package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/web"
)

// usualAddress is where the server listens where nobody says.
const usualAddress = "127.0.0.1:7717"

// Addr returns the address to listen on, as troupe.yaml says.
func (p *Project) Addr() string { return cmp.Or(p.config.Server.Addr, usualAddress) }

// Server returns the project's HTTP server: the API, the endpoint that speaks OpenAI's
// and the page. Its Handler goes into a program's own mux, and its Serve listens by
// itself. Whoever has one of the tokens of troupe.yaml's users is let in, or, where
// there are none, whoever has its Token. Each call makes another.
func (p *Project) Server(ctx context.Context) (*server.Server, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	return server.New(server.Config{
		Engine: s.engine, Store: s.folders, Cast: cast{p}, Folders: s.folders, Logs: s.searchLogs, Metrics: p.metrics,
		Users: p.users(), Hosts: p.config.Server.Hosts, Page: web.Page(), Log: p.log,
	})
}

// users are the tokens of the configuration, by user, from the environment.
func (p *Project) users() map[string]string {
	users := map[string]string{}
	for name, variable := range p.config.Server.Users {
		users[name] = p.models.Getenv(variable)
	}
	return users
}

// A cast is what the server can run: what the project has.
type cast struct{ *Project }

// Step implements [server.Cast].
func (c cast) Step(ctx context.Context, name string) (troupe.Step, error) {
	step, err := c.Project.Step(ctx, name)
	if errors.Is(err, bundle.ErrNoAgent) {
		return nil, fmt.Errorf("%.64q: %w", name, server.ErrUnknown)
	}
	return step, err
}

// searchLogs finds events for the server, as 'troupe logs' does.
func (s *stage) searchLogs(ctx context.Context, q server.LogQuery) iter.Seq2[server.LogHit, error] {
	query := sqlite.Query{
		Text: q.Text, Session: q.Session, Agent: q.Agent, Tool: q.Tool, Errors: q.Errors, Since: q.Since, Until: q.Until, Before: q.Before,
	}
	if level, err := observe.ParseLevel(q.Level); err == nil && q.Level != "" {
		query.Kinds, query.OrErrors = observe.KindsAtLeast(level)
	}
	return func(yield func(server.LogHit, error) bool) {
		for hit, err := range s.store.Search(ctx, query) {
			if err == nil && hit.Err != nil {
				continue // what cannot be read is of no use to a page
			}
			if !yield(server.LogHit{Number: hit.Number, Event: hit.Event}, err) {
				return
			}
		}
	}
}
