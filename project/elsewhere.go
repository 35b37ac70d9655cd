package project

import (
	"context"
	"net/http"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/egress"
	"github.com/troupe-dev/troupe/tool/a2a"
)

// elsewhere makes the tool that asks an agent of somebody else's.
func (s *stage) elsewhere(name string) (troupe.Tool, error) {
	s.remotesMu.Lock()
	agent := s.remotes[name]
	if agent == nil {
		c := s.project.config.A2A[name]
		client, err := s.project.client(c.URL)
		if err != nil {
			s.remotesMu.Unlock()
			return nil, err
		}
		client.Timeout = 0 // answers stream for as long as the call may take
		agent = a2a.New(a2a.Config{Name: "ask_" + name, URL: c.URL, Description: c.Description, Headers: c.Headers, Timeout: c.Timeout, HTTPClient: client})
		if s.remotes == nil {
			s.remotes = map[string]*a2a.Agent{}
		}
		s.remotes[name] = agent
	}
	s.remotesMu.Unlock()
	return agent.Tool(context.Background())
}

// PushClient is what tasks of agents of others are pushed with: it reaches the public
// web, and beside it what web.allow grants.
func (p *Project) PushClient() (*http.Client, error) {
	return egress.NewClient(egress.Config{Allow: p.config.Web.Allow})
}
