package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/tool/mcp"
)

// toolServers are the MCP servers of the project, for operators.
type toolServers struct {
	stage *stage
	// connecting has a lock for each server, held while it is connected for the page,
	// so that it is started once.
	connecting sync.Map
}

// hold waits until nobody else starts a server.
func (t *toolServers) hold(name string) *sync.Mutex {
	lock, _ := t.connecting.LoadOrStore(name, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex)
}

// connectWithin is how long a tool server may take to answer to the page.
const connectWithin = 15 * time.Second

// ToolServers implements [server.ToolServers]. Servers that no agent has needed yet are
// reached first.
func (t *toolServers) ToolServers(ctx context.Context) ([]server.ToolServer, error) {
	names := t.stage.project.MCPServers()
	list := make([]server.ToolServer, len(names)) // of few, so that all are asked at once
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { list[i] = t.describe(ctx, name) })
	}
	group.Wait()
	return list, nil
}

// describe says how a server stands.
func (t *toolServers) describe(ctx context.Context, name string) server.ToolServer {
	configured := t.stage.project.mcpServers()[name]
	found := server.ToolServer{Name: name, State: "running", Tools: []string{}, IsProgram: configured.Command != "", UsedBy: t.usersOf(name)}
	if configured.Off {
		found.State = "off"
		return found
	}
	s, err := t.connected(ctx, name)
	if err != nil {
		found.State, found.Detail, found.Said = "stopped", plainFailure(err), err.Error()
		return found
	}
	if s.IsAway() {
		found.State, found.Detail = "stopped", "It does not answer any more. It is tried again by itself."
	}
	before := t.stage.project.rememberedTools()[name]
	for _, tool := range s.Tools() {
		found.Tools = append(found.Tools, strings.TrimPrefix(tool.Spec().Name, name+toolSeparator))
	}
	for _, w := range s.Withheld() {
		found.State = "changed"
		change := server.ToolChange{Tool: w.Tool, Hash: w.Hash, Reason: w.Reason, After: toolText(w.Description, w.Input)}
		if old, ok := before[w.Tool]; ok {
			change.Before = toolText(old.Description, old.Input)
		}
		found.Changed = append(found.Changed, change)
	}
	return found
}

// plainFailure says in plain words why a server is not there.
func plainFailure(err error) string {
	_, said, ended := strings.Cut(err.Error(), "it said: ")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("It did not answer within %v.", connectWithin)
	case ended:
		return fmt.Sprintf("It ended at once. Its last words: “%s”.", strings.TrimSpace(said))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "The program that troupe.yaml names for it is not on this machine."
	case strings.Contains(err.Error(), "refused"), strings.Contains(err.Error(), "no such host"):
		return "Nothing answers at its address."
	}
	return "It could not be started or reached."
}

// toolText is what an agent is told of a tool: its description and its arguments.
func toolText(description, input string) string {
	var schema any
	if json.Unmarshal([]byte(input), &schema) == nil {
		if indented, err := json.MarshalIndent(schema, "", "  "); err == nil {
			input = string(indented)
		}
	}
	return strings.TrimSpace(description) + "\n\n" + input + "\n"
}

// connected returns a server, which it reaches if nobody has yet.
func (t *toolServers) connected(ctx context.Context, name string) (*mcp.Server, error) {
	defer t.hold(name).Unlock()
	t.stage.mu.Lock()
	s := t.stage.servers[name]
	t.stage.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return t.connect(ctx, name)
}

// connect reaches a server and has agents that are made from now on use it.
func (t *toolServers) connect(ctx context.Context, name string) (*mcp.Server, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectWithin)
	defer cancel()
	s, err := t.stage.project.ConnectMCP(ctx, name)
	if err != nil {
		return nil, err
	}
	t.stage.mu.Lock()
	defer t.stage.mu.Unlock()
	if other := t.stage.servers[name]; other != nil { // an agent was faster
		s.Close()
		return other, nil
	}
	t.stage.servers[name] = s
	clear(t.stage.agents)
	t.stage.project.rememberTools(name, s)
	return s, nil
}

// Accept implements [server.ToolServers].
func (t *toolServers) Accept(ctx context.Context, name string, tools map[string]string) error {
	if !slices.Contains(t.stage.project.MCPServers(), name) {
		return gone("the tool server", name)
	}
	s, err := t.connected(ctx, name)
	if err != nil {
		return fmt.Errorf("nothing was accepted. %s", plainFailure(err))
	}
	if len(tools) == 0 {
		return errors.New("say which tools are accepted")
	}
	var accepted []mcp.Withheld
	for _, w := range s.Withheld() {
		if hash, ok := tools[w.Tool]; ok {
			if hash != w.Hash {
				return fmt.Errorf("%w: the tool %s is not what it was when it was shown. Look at it once more", server.ErrStale, w.Tool)
			}
			accepted = append(accepted, w)
		}
	}
	if len(accepted) != len(tools) {
		return fmt.Errorf("%w: one of these tools is not kept off any more. Look at the list once more", server.ErrStale)
	}
	for _, w := range accepted {
		if err := t.stage.project.AcceptMCPTool(ctx, name, w); err != nil {
			return err
		}
	}
	t.stage.mu.Lock()
	defer t.stage.mu.Unlock()
	clear(t.stage.agents) // those that are made from now on have the tools
	t.stage.project.rememberTools(name, s)
	return nil
}

// Restart implements [server.ToolServers].
func (t *toolServers) Restart(ctx context.Context, name string) error {
	if !slices.Contains(t.stage.project.MCPServers(), name) {
		return gone("the tool server", name)
	}
	defer t.hold(name).Unlock()
	t.stage.mu.Lock()
	old := t.stage.servers[name]
	delete(t.stage.servers, name)
	t.stage.mu.Unlock()
	if old != nil {
		old.Close()
	}
	if _, err := t.connect(ctx, name); err != nil {
		return fmt.Errorf("%s was not started. %s", name, plainFailure(err))
	}
	return nil
}

// Switch implements [server.ToolServers]: troupe.yaml says whether a server is off.
// Agents that are made from then on have its tools, or do without; what runs goes on.
func (t *toolServers) Switch(_ context.Context, name string, on bool) error {
	p := t.stage.project
	if !slices.Contains(p.MCPServers(), name) {
		return gone("the tool server", name)
	}
	defer t.hold(name).Unlock()
	value := ""
	if !on {
		value = "true"
	}
	if err := p.changeConfig(map[string]string{"mcp." + name + ".off": value}); err != nil {
		return err
	}
	t.stage.mu.Lock()
	all := maps.Clone(p.mcpServers())
	changed := all[name]
	changed.Off = !on
	all[name] = changed
	p.mcp.Store(&all)
	old := t.stage.servers[name]
	if !on {
		delete(t.stage.servers, name)
	}
	clear(t.stage.agents)
	t.stage.mu.Unlock()
	if old != nil && !on {
		old.Close()
	}
	return nil
}

// Remove implements [server.ToolServers]: the server's lines go out of troupe.yaml. What was
// accepted of its tools stays in the file of pins, so that another server of that name is not
// taken for it.
func (t *toolServers) Remove(_ context.Context, name string) error {
	p := t.stage.project
	if !slices.Contains(p.MCPServers(), name) {
		return gone("the tool server", name)
	}
	if users := t.usersOf(name); len(users) > 0 {
		return fmt.Errorf("%s is in use: %s. Take it out there first, in %s", name, usersInWords(users), config.Name)
	}
	defer t.hold(name).Unlock()
	if err := inWords(config.Remove(p.dir, []string{"mcp", name}, p.lookup)); err != nil {
		return err
	}
	t.stage.mu.Lock()
	all := maps.Clone(p.mcpServers())
	delete(all, name)
	p.mcp.Store(&all)
	old := t.stage.servers[name]
	delete(t.stage.servers, name)
	clear(t.stage.agents)
	t.stage.mu.Unlock()
	if old != nil {
		old.Close()
	}
	return nil
}

// usersOf are the settings that name a tool server. Agents that may use whatever tools there
// are do without its own.
func (t *toolServers) usersOf(name string) (users []string) {
	c := t.stage.project.config
	for _, id := range slices.Sorted(maps.Keys(c.Agents)) {
		if slices.ContainsFunc(c.Agents[id].Tools, func(pattern string) bool { return strings.HasPrefix(pattern, name+toolSeparator) }) {
			users = append(users, "agents."+id+".tools")
		}
	}
	if c.Knowledge.Server == name {
		users = append(users, "knowledge.server")
	}
	return users
}

// serverName is what a tool server may be called: its tools are called after it.
var serverName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// Add implements [server.ToolServers]: a server that answers at an address goes into
// troupe.yaml. What does not answer changes nothing.
func (t *toolServers) Add(ctx context.Context, name, address string) error {
	if !serverName.MatchString(name) {
		return errors.New("a tool server is called by small letters, digits and dashes, such as issues")
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		return errors.New("this is no address of a tool server: it begins with https:// or http://, and has no password in it")
	}
	defer t.hold(name).Unlock()
	p := t.stage.project
	if slices.Contains(p.MCPServers(), name) {
		return fmt.Errorf("there is a tool server called %s already; choose another name", name)
	}
	added := config.MCPServer{URL: address}
	connecting, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectWithin)
	defer cancel()
	s, err := p.connectMCP(connecting, name, added)
	if err != nil {
		return fmt.Errorf("nothing was added. %s", plainFailure(err))
	}
	if err := p.changeConfig(map[string]string{"mcp." + name + ".url": address}); err != nil {
		s.Close()
		return err
	}
	t.stage.mu.Lock()
	defer t.stage.mu.Unlock()
	all := maps.Clone(p.mcpServers())
	if all == nil {
		all = map[string]config.MCPServer{}
	}
	all[name] = added
	p.mcp.Store(&all)
	t.stage.servers[name] = s
	clear(t.stage.agents) // those that are made from now on may have its tools
	p.rememberTools(name, s)
	return nil
}

// A knownTool is how a tool described itself when it was accepted.
type knownTool struct {
	Description string `json:"description"`
	Input       string `json:"input"`
}

// toolsFile keeps what accepted tools say of themselves, so that a change can be shown.
func (p *Project) toolsFile() string { return filepath.Join(p.DataDir(), "page", "tools.json") }

// rememberedTools are the tools that were accepted, by server and tool.
func (p *Project) rememberedTools() map[string]map[string]knownTool {
	known := map[string]map[string]knownTool{}
	if data, err := os.ReadFile(p.toolsFile()); err == nil {
		if err := json.Unmarshal(data, &known); err != nil {
			p.log.Warn("what tools were like is not known", "file", p.toolsFile(), "err", err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		p.log.Warn("what tools were like is not known", "err", err)
	}
	return known
}

// rememberTools notes what the tools of a server that are offered say of themselves.
// Nothing but what people are shown depends on it.
func (p *Project) rememberTools(name string, s *mcp.Server) {
	if s == nil {
		return
	}
	known := p.rememberedTools()
	if known[name] == nil {
		known[name] = map[string]knownTool{}
	}
	changed := false
	for _, tool := range s.Tools() {
		spec := tool.Spec()
		said := knownTool{spec.Description, string(spec.Input)}
		if own := strings.TrimPrefix(spec.Name, name+toolSeparator); known[name][own] != said {
			known[name][own], changed = said, true
		}
	}
	if !changed {
		return
	}
	data, err := json.MarshalIndent(known, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.toolsFile()), 0o700)
	}
	if err == nil {
		err = os.WriteFile(p.toolsFile(), data, 0o600)
	}
	if err != nil {
		p.log.Warn("what tools are like was not kept", "err", err)
	}
}
