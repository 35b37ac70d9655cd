package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/tool/mcp"
	"github.com/troupe-dev/troupe/workspace"
)

// Extras are what the program that a person works in adds to the agents of a session: an
// editor its open files and its tool servers.
type Extras struct {
	buffer  workspace.Buffers
	servers []*mcp.Server
	pins    string // the directory that keeps what the servers were like when they were first seen

	made map[playerKey]*player // guarded by the stage
}

// An ExtraServer is an MCP server that a program brings along: a command to start, or an
// address.
type ExtraServer struct {
	Name    string
	Command string
	Args    []string
	// Env is added to the few variables that programs need to run at all.
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// NewExtras connects the servers that a program brings along, all at the same time. Those
// that cannot be reached are left out and are what the error is about; the Extras are
// good for the rest, and the caller's to close. What the servers offer is not kept: whoever
// brings them along vouches for them, and only what changes meanwhile is withheld.
func (p *Project) NewExtras(ctx context.Context, files workspace.Buffers, servers ...ExtraServer) (*Extras, error) {
	e := &Extras{buffer: files, made: map[playerKey]*player{}}
	if len(servers) == 0 {
		return e, nil
	}
	var err error
	if e.pins, err = os.MkdirTemp("", "troupe-servers-*"); err != nil {
		return e, err
	}
	names := p.extraNames(servers)
	connected, errs := make([]*mcp.Server, len(servers)), make([]error, len(servers))
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() {
			given := config.MCPServer{Command: s.Command, Args: s.Args, Env: extraEnv(s.Env), URL: s.URL, Headers: s.Headers}
			c, err := p.mcpConfig(names[i], given)
			if err == nil {
				c.Pins = filepath.Join(e.pins, "pins.json")
				connected[i], err = mcp.Connect(ctx, c)
			}
			errs[i] = err
		})
	}
	group.Wait()
	for _, s := range connected {
		if s != nil {
			e.servers = append(e.servers, s)
		}
	}
	return e, errors.Join(errs...)
}

// notInName is what the name of a server may not have, because its tools are called after it.
var notInName = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// extraNames gives servers names that tools can be called after, each another one, and none
// that a server of the project has.
func (p *Project) extraNames(servers []ExtraServer) []string {
	taken := p.MCPServers()
	var names []string
	for _, s := range servers {
		plain := strings.Trim(notInName.ReplaceAllString(s.Name, "-"), "-")
		plain = plain[:min(len(plain), 24)]
		if plain == "" {
			plain = "editor"
		}
		name := plain
		for n := 2; slices.Contains(taken, name); n++ {
			name = fmt.Sprintf("%s-%d", plain, n)
		}
		taken, names = append(taken, name), append(names, name)
	}
	return names
}

// inherited are the variables that a server gets from this process: what programs need to
// run at all, and no keys. They are those that the official MCP SDKs pass on.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
}

func extraEnv(given map[string]string) map[string]string {
	env := map[string]string{}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	for name, value := range given {
		env[name] = value
	}
	return env
}

// Close ends the servers. Nothing that was made with the Extras may run any more.
func (e *Extras) Close() error {
	for _, s := range e.servers {
		s.Close()
	}
	if e.pins == "" {
		return nil
	}
	return os.RemoveAll(e.pins)
}

// agents are those that were made with the extras, or all others without any.
func (e *Extras) agents(others map[playerKey]*player) map[playerKey]*player {
	if e == nil {
		return others
	}
	return e.made
}

// tools are those that the servers offer at present.
func (e *Extras) tools() (list []troupe.Tool) {
	if e == nil {
		return nil
	}
	for _, s := range e.servers {
		list = append(list, s.Tools()...)
	}
	return list
}

func (e *Extras) buffers() workspace.Buffers {
	if e == nil {
		return nil
	}
	return e.buffer
}

// equip gives an agent of a bundle what there is beside what the project gives it.
func (e *Extras) equip(o *bundle.Options) {
	o.Buffers = e.buffers()
	for _, tool := range e.tools() {
		o.Tools = append(o.Tools, tool)
		if o.Allow != nil {
			o.Allow = append(o.Allow, tool.Spec().Name)
		}
	}
}

// StepWith is [Project.StepIn] with another model for all agents of the step, as
// provider/name or rehearsal, where model is not empty, and with extras, where there are any.
func (p *Project) StepWith(ctx context.Context, name, session, model string, extras *Extras) (troupe.Step, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	choose, err := s.choiceOf(session)
	if err != nil {
		return nil, err
	}
	if model != "" {
		choose = chosen(model)
	}
	made, err := s.findWith(ctx, name, session, casting{choose, extras})
	if err != nil {
		return nil, err
	}
	return made.Step, nil
}
