package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/egress"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/tool/mcp"
	"github.com/troupe-dev/troupe/tool/web"
)

// client makes the HTTP client of a tool. It reaches what the project grants, and
// the service that the operator has set the tool up with.
func (p *Project) client(service string) (*http.Client, error) {
	allow := slices.Clone(p.config.Web.Allow)
	if u, err := url.Parse(service); err == nil && u.Host != "" {
		allow = append(allow, u.Host)
	}
	client, err := egress.NewClient(egress.Config{Allow: allow})
	if err != nil {
		return nil, fmt.Errorf("web.allow in %s: %w", config.Name, err)
	}
	return client, nil
}

func (s *stage) webFetch() (troupe.Tool, error) {
	client, err := s.project.client("")
	if err != nil {
		return nil, err
	}
	return web.NewFetch(client), nil
}

func (s *stage) wikipedia() (troupe.Tool, error) {
	client, err := s.project.client("")
	if err != nil {
		return nil, err
	}
	return web.NewWikipedia(client), nil
}

func (s *stage) webSearch() (troupe.Tool, error) {
	search := s.project.config.Web.Search
	if search.Engine == "" {
		return nil, errors.New("web.search.engine says which search engine to ask: searxng, brave or tavily")
	}
	client, err := s.project.client(search.BaseURL)
	if err != nil {
		return nil, err
	}
	key := ""
	if search.KeyEnv != "" {
		if key = s.project.models.Getenv(search.KeyEnv); key == "" {
			return nil, fmt.Errorf("%s, which holds the key of %s, is not set", search.KeyEnv, search.Engine)
		}
	}
	return web.NewSearch(web.SearchConfig{Engine: web.Engine(search.Engine), BaseURL: search.BaseURL, Key: web.Secret(key), Client: client})
}

// pinsFile keeps what was accepted of MCP servers.
func (p *Project) pinsFile() string { return filepath.Join(p.DataDir(), "mcp-pins.json") }

// MCPServers lists the names of the project's MCP servers.
func (p *Project) MCPServers() []string { return slices.Sorted(maps.Keys(p.mcpServers())) }

// mcpServers are those of troupe.yaml as it is now: the page may have added one.
func (p *Project) mcpServers() map[string]config.MCPServer {
	if now := p.mcp.Load(); now != nil {
		return *now
	}
	return p.config.MCP
}

// AcceptMCPTool has a tool of an MCP server offered as it is now, although it has
// changed since it was first seen.
func (p *Project) AcceptMCPTool(ctx context.Context, server string, w mcp.Withheld) error {
	return mcp.Accept(ctx, p.pinsFile(), server, w.Tool, w.Hash)
}

// ConnectMCP reaches an MCP server of the project. Whoever connects it closes it.
func (p *Project) ConnectMCP(ctx context.Context, name string) (*mcp.Server, error) {
	c, ok := p.mcpServers()[name]
	if !ok {
		return nil, fmt.Errorf("mcp in %s: there is no server %.64q%s", config.Name, name, suggest.Hint(name, p.MCPServers()))
	}
	return p.connectMCP(ctx, name, c)
}

func (p *Project) connectMCP(ctx context.Context, name string, c config.MCPServer) (*mcp.Server, error) {
	server, err := p.mcpConfig(name, c)
	if err != nil {
		return nil, err
	}
	return mcp.Connect(ctx, server)
}

func (p *Project) mcpConfig(name string, c config.MCPServer) (mcp.Config, error) {
	server := mcp.Config{
		Name: name, Command: c.Command, Args: c.Args, Env: c.Env, Dir: p.dir, URL: c.URL, Headers: c.Headers,
		Pins: p.pinsFile(), CallTimeout: c.Timeout, Logger: p.log,
	}
	if c.URL != "" {
		client, err := p.client(c.URL)
		if err != nil {
			return mcp.Config{}, err
		}
		client.Timeout = 0 // streams stay open
		server.HTTPClient = client
	}
	return server, nil
}

// servedTools returns the tools of the MCP servers that a pattern may mean. A
// server that cannot be reached is warned of, and its tools are done without.
func (s *stage) servedTools(ctx context.Context, patterns []string) []troupe.Tool {
	var tools []troupe.Tool
	for _, name := range slices.Sorted(maps.Keys(s.project.mcpServers())) {
		if s.project.mcpServers()[name].Off || !slices.ContainsFunc(patterns, func(pattern string) bool { return mayMean(pattern, name) }) {
			continue
		}
		server, known := s.servers[name]
		if !known {
			var err error
			if server, err = s.project.ConnectMCP(ctx, name); err != nil {
				s.project.log.Warn("mcp server not connected", "mcp", name, "err", err)
			}
			s.servers[name] = server
			s.project.rememberTools(name, server)
		}
		if server == nil {
			continue
		}
		tools = append(tools, server.Tools()...)
		for _, w := range server.Withheld() {
			s.project.log.Warn("mcp tool withheld; 'troupe mcp' shows it", "mcp", name, "tool", w.Tool, "err", w.Reason)
		}
	}
	return tools
}

// mayMean reports whether a pattern may match tools of a server.
func mayMean(pattern, server string) bool {
	beginning, _, _ := strings.Cut(pattern, "*")
	prefix := server + toolSeparator
	return strings.HasPrefix(beginning, prefix) || strings.Contains(pattern, "*") && strings.HasPrefix(prefix, beginning)
}

// toolSeparator stands between the name of an MCP server and that of its tool.
const toolSeparator = "__"

// isAbsent reports whether a pattern means tools of a configured server, which may
// not be there today.
func (s *stage) isAbsent(pattern string) bool {
	for name := range s.project.mcpServers() {
		if mayMean(pattern, name) {
			return true
		}
	}
	return false
}
