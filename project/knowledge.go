package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/store/postgres"
)

// openKnowledge opens the knowledge base: the project's own, or a server's. With users,
// each has documents of their own in it, unless they share one.
func (s *stage) openKnowledge(ctx context.Context) (func(user string) pipeline.Knowledge, error) {
	c := s.project.config.Knowledge
	ofEach := s.project.hasUsers() && !c.Shared
	if c.Server == "" {
		base, err := s.project.Knowledge(ctx)
		if err != nil {
			return nil, err
		}
		s.keep(base)
		return func(user string) pipeline.Knowledge {
			if ofEach && user != "" {
				return base.As(userPrefix + user)
			}
			return base
		}, nil
	}
	if ofEach {
		return nil, fmt.Errorf("knowledge.server in %s is one account for all users; set knowledge.shared to true if they are to share it", config.Name)
	}
	client, err := s.project.connectKnowledge(ctx)
	if err != nil {
		return nil, err
	}
	s.keep(closing(client.Close))
	return func(string) pipeline.Knowledge { return client }, nil
}

// SearchKnowledge finds passages for a user: in the embedded base, or at the server that
// keeps the documents. It is reached when it is first asked.
func (p *Project) SearchKnowledge(ctx context.Context, user, question string, limit int) ([]knowledge.Passage, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	s.searchMu.Lock()
	if s.search == nil {
		s.search, err = s.openKnowledge(context.WithoutCancel(ctx))
	}
	find := s.search
	s.searchMu.Unlock()
	if err != nil {
		return nil, err
	}
	return find(user).Query(ctx, question, limit)
}

// KnowledgeOf is the embedded base as a user of the server sees it, and false where a
// server keeps the documents.
func (p *Project) KnowledgeOf(base *knowledge.Base, user string) (*knowledge.Base, bool) {
	c := p.config.Knowledge
	if p.hasUsers() && !c.Shared && user != "" {
		base = base.As(userPrefix + user)
	}
	return base, c.Server == ""
}

// userPrefix begins the names under which users of the server keep documents, so that
// none of them is somebody else who uses the base.
const userPrefix = "server:"

// closing is something that cannot fail to close.
type closing func()

// Close implements [io.Closer].
func (c closing) Close() error { c(); return nil }

// Knowledge opens the embedded knowledge base as the project's user: in a file, or in the
// PostgreSQL database that sessions are in. Whoever opens it closes it.
func (p *Project) Knowledge(ctx context.Context) (*knowledge.Base, error) {
	base, err := p.openBase(ctx)
	if err == nil && p.config.Knowledge.User != "" {
		base = base.As(p.config.Knowledge.User)
	}
	return base, err
}

func (p *Project) openBase(ctx context.Context) (*knowledge.Base, error) {
	c := p.config.Knowledge
	if c.Path == "" && p.sharesStore() {
		return knowledge.OpenPostgres(ctx, p.config.Store)
	}
	path := filepath.Join(p.DataDir(), "knowledge.db")
	if c.Path != "" {
		path = within(p.dir, c.Path)
	}
	if err := p.hideData(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("knowledge base: %w", err)
	}
	return knowledge.Open(ctx, path)
}

// CopyKnowledge adds the documents of the embedded knowledge base at one place to that at
// another, each named as in [Project.OpenPlace]: that of a file is in the data directory.
// It returns how many were added.
func (p *Project) CopyKnowledge(ctx context.Context, from, to string) (added int, err error) {
	if p.KnowledgeServer() != "" || p.config.Knowledge.Path != "" {
		return 0, nil // they are elsewhere, wherever sessions are
	}
	if from == "postgres:" {
		from = p.config.Store
	}
	if to == "postgres:" {
		to = p.config.Store
	}
	file := filepath.Join(p.DataDir(), "knowledge.db")
	open := func(place string) (*knowledge.Base, error) {
		if postgres.IsAddress(place) {
			return knowledge.OpenPostgres(ctx, place)
		}
		return knowledge.Open(ctx, file)
	}
	if postgres.IsAddress(from) {
		if isThere, err := knowledge.IsInPostgres(ctx, from); err != nil || !isThere {
			return 0, err
		}
	} else if _, err := os.Stat(file); err != nil || !postgres.IsAddress(to) {
		return 0, nil // there is none, or it is the same file
	}
	source, err := open(from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := open(to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return knowledge.Copy(ctx, source, target)
}

// KnowledgeServer is the name of the server of mcp that keeps the documents, empty where
// the embedded knowledge base does.
func (p *Project) KnowledgeServer() string { return p.config.Knowledge.Server }

// OpenKnowledge opens what keeps the project's documents: the server that is configured,
// or the embedded knowledge base. Whoever opens it closes it.
func (p *Project) OpenKnowledge(ctx context.Context) (pipeline.Knowledge, io.Closer, error) {
	if p.KnowledgeServer() == "" {
		base, err := p.Knowledge(ctx)
		return base, base, err
	}
	client, err := p.connectKnowledge(ctx)
	if err != nil {
		return nil, nil, err
	}
	return client, closing(client.Close), nil
}

// connectKnowledge reaches the MCP server that keeps the documents. Who we are comes
// from the environment, and is in no event.
func (p *Project) connectKnowledge(ctx context.Context) (*knowledge.Client, error) {
	c, server := p.config.Knowledge, p.config.MCP[p.config.Knowledge.Server]
	config := knowledge.ClientConfig{
		Command: server.Command, Args: server.Args, Env: server.Env, Dir: p.dir, URL: server.URL, Timeout: server.Timeout,
	}
	switch c.Style {
	case "gkchatty":
		config.Mapping = knowledge.GKChatty{}
	case "memory":
		config.Mapping = knowledge.Memory{}
	}
	if c.UserEnv != "" {
		config.Username, config.Password = p.models.Getenv(c.UserEnv), knowledge.Secret(p.models.Getenv(c.PasswordEnv))
		if config.Username == "" {
			return nil, errors.New("knowledge.user_env: the environment variable " + c.UserEnv + " is not set")
		}
	}
	if server.URL != "" {
		client, err := p.client(server.URL)
		if err != nil {
			return nil, err
		}
		client.Timeout = 0 // streams stay open
		config.HTTPClient = client
	}
	return knowledge.Connect(ctx, config)
}

// KnowledgeUser returns whose documents are those of Knowledge.
func (p *Project) KnowledgeUser() string { return cmp.Or(p.config.Knowledge.User, knowledge.Local) }
