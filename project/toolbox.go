package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/skill"
	"github.com/troupe-dev/troupe/tool/ask"
	"github.com/troupe-dev/troupe/tool/calc"
	"github.com/troupe-dev/troupe/tool/command"
	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/workspace"
)

// ofTheBundle stands, among an agent's tools, for all those that its bundle gives it.
const ofTheBundle = "bundle"

// runCommand is the tool that runs the commands an agent is granted.
const runCommand = "run_command"

// ready makes the tools that agents can be given by name.
func (s *stage) ready(id string) map[string]func() (troupe.Tool, error) {
	tools := map[string]func() (troupe.Tool, error){
		"calculator": func() (troupe.Tool, error) { return calc.New(), nil },
		"ask_user":   func() (troupe.Tool, error) { return ask.New(), nil },
		"web_fetch":  s.webFetch, "web_search": s.webSearch, "wikipedia": s.wikipedia,
	}
	if commands := s.project.config.Agent(id).Commands; len(commands) > 0 {
		tools[runCommand] = func() (troupe.Tool, error) { return s.project.commandTool(commands) }
	}
	for name, tool := range s.project.tools {
		tools[name] = func() (troupe.Tool, error) { return tool, nil }
	}
	for name := range s.project.config.A2A {
		tools["ask_"+name] = func() (troupe.Tool, error) { return s.elsewhere(name) }
	}
	for name, tool := range map[string]func(files.Finder) troupe.Tool{
		"read_file": files.Read, "list_files": files.List, "search_files": files.Search,
		"write_file": files.Write, "edit_file": files.Edit, "make_directory": files.MakeDir,
	} {
		tools[name] = func() (troupe.Tool, error) { return &fileTool{tool(nil).Spec(), tool, s.project, id, nil}, nil }
	}
	return tools
}

// commandTool runs commands in the project's directory, in the sandbox of deliveries.
func (p *Project) commandTool(commands []string) (troupe.Tool, error) {
	c := command.Config{
		Allow: commands, Level: p.config.Pipeline.Sandbox, Env: p.config.Pipeline.Env, Cache: filepath.Join(cacheDir(), "commands", shortHash(p.dir)),
		Dir: func(context.Context, string) (string, error) { return p.dir, nil },
	}
	c.Helper = p.helper
	c.MustHide = p.hasUsers()
	c.Keep = append(c.Keep, filepath.Join(p.dir, ".git")) // its hooks and settings run outside of the sandbox
	c.Hide, c.Secrets = p.hiddenPlaces(), p.keysByName
	for _, place := range p.walls {
		if place.Most != workspace.NoAccess {
			c.Keep = append(c.Keep, place.Path)
		}
	}
	return command.New(c)
}

// hiddenPlaces lists what programs do not see that agents have run.
func (p *Project) hiddenPlaces() []string {
	list := []string{filepath.Join(p.dir, ".env"), filepath.Join(p.dir, ".env.local")}
	for _, place := range p.walls {
		if place.Most == workspace.NoAccess {
			list = append(list, place.Path)
		}
	}
	return list
}

// A fileTool works in the files that an agent may touch in the session it is
// called in, and keeps them open while it does.
type fileTool struct {
	spec    troupe.ToolSpec
	tool    func(files.Finder) troupe.Tool
	project *Project
	agent   string
	extras  *Extras // nil for none
}

func (t *fileTool) Spec() troupe.ToolSpec { return t.spec }

func (t *fileTool) Call(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
	ws, err := t.project.openFiles(t.agent, in.Run.Session(), t.extras)
	if err != nil {
		return troupe.Result{}, err
	}
	defer ws.Close()
	return t.tool(func(string) (*workspace.Workspace, error) { return ws, nil }).Call(ctx, in)
}

// openFiles opens what an agent without a bundle may touch in a session.
func (p *Project) openFiles(id, session string, extras *Extras) (*workspace.Workspace, error) {
	if !sessionid.Is(session) {
		return nil, fmt.Errorf("session %.64q: the id is not a UUID", session)
	}
	folder := filepath.Join(p.outputsDir(), session)
	if err := os.MkdirAll(p.outputsDir(), 0o755); err != nil {
		return nil, errors.New("the session's folder cannot be made")
	}
	if err := os.Mkdir(folder, 0o700); err == nil {
		failpoint.Here(failpoint.FolderMade)
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, errors.New("the session's folder cannot be made")
	}
	roots := append([]workspace.Root{{Name: workspace.SessionFolder, Dir: folder, Access: workspace.ReadWrite, Opens: true}}, p.rootsOf(id)...)
	if own := p.config.Agent(id); own.MayReadProject() || p.inPlace {
		roots = append(roots, workspace.Root{Name: workspace.ProjectRoot, Dir: p.dir, Access: workspace.ReadOnly})
	}
	return workspace.Open(workspace.Config{Roots: roots, Closed: p.walls, Buffers: extras.buffers()})
}

// ToolNames lists the tools that troupe.yaml gives an agent, by name or pattern.
func (p *Project) ToolNames(id string) []string { return slices.Clone(p.config.Agent(id).Tools) }

// usesSkills says whether an agent hears of the project's skills.
func (p *Project) usesSkills(id string) bool {
	own := p.config.Agent(id).Skills
	return (own == nil || *own) && len(p.skills.List()) > 0
}

// tell is what an agent is told beside its own instructions.
func (p *Project) tell(id string) []troupe.ContextLoaded {
	if !p.usesSkills(id) {
		return nil
	}
	return []troupe.ContextLoaded{{Source: "skills", Content: p.skills.Overview(0).Text}}
}

// guard has the operator's rules decide on every call.
func (p *Project) guard(tools ...troupe.Tool) []troupe.Tool {
	if len(p.approve) > 0 {
		tools = slices.Clone(tools)
		for i, tool := range tools {
			tools[i] = p.guardOne(tool)
		}
	}
	for i, tool := range tools {
		if tool.Spec().Name == runCommand { // outside of the rules, which see the words that are run
			tools[i] = command.Words(tool)
		}
	}
	return tools
}

// toolsOf makes the tools of an agent that has no bundle.
func (s *stage) toolsOf(ctx context.Context, id string, extras *Extras) ([]troupe.Tool, error) {
	tools, err := s.granted(ctx, id, s.wanted(id), nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range tools {
		if own, ok := tool.(*fileTool); ok {
			own.extras = extras
		}
	}
	return slices.Concat(tools, s.skillTools(id), extras.tools()), nil
}

func (s *stage) skillTools(id string) []troupe.Tool {
	if !s.project.usesSkills(id) {
		return nil
	}
	return skill.Tools(s.project.skills)
}

// wanted are the patterns of the tools that an agent is given. Whoever is granted commands
// has the tool that runs them, and a bundle's agent keeps its own with it.
func (s *stage) wanted(id string) []string {
	own := s.project.config.Agent(id)
	if len(own.Commands) == 0 || slices.ContainsFunc(own.Tools, func(pattern string) bool { return fits(pattern, runCommand) }) {
		return own.Tools
	}
	if own.Tools == nil {
		return []string{ofTheBundle, runCommand}
	}
	return append(slices.Clone(own.Tools), runCommand)
}

// equip adds to what a bundle gives an agent, or takes from it, as troupe.yaml says.
func (s *stage) equip(ctx context.Context, catalog *bundle.Catalog, id string, o *bundle.Options) error {
	skills := s.skillTools(id)
	wanted := s.wanted(id)
	if wanted == nil {
		o.Tools = skills
		return nil
	}
	specs, err := catalog.Tools(id, *o)
	if err != nil {
		return err
	}
	var own []string
	for _, spec := range specs {
		own = append(own, spec.Name)
	}
	more, err := s.granted(ctx, id, wanted, own)
	if err != nil {
		return err
	}
	o.Tools = append(more, skills...)
	if slices.Contains(wanted, ofTheBundle) {
		return nil
	}
	for _, name := range own {
		if slices.ContainsFunc(wanted, func(pattern string) bool { return fits(pattern, name) }) {
			o.Allow = append(o.Allow, name)
		}
	}
	for _, tool := range o.Tools {
		o.Allow = append(o.Allow, tool.Spec().Name)
	}
	return nil
}

// misconfigured is why an agent cannot be made of what troupe.yaml says of it: a
// [server.ErrBroken].
type misconfigured struct{ error }

func (m misconfigured) Unwrap() error { return m.error }

func (m misconfigured) Is(target error) bool { return target == server.ErrBroken }

// granted makes the tools that patterns name, but for those that the agent has of
// its own. A name that is nobody's is an error.
func (s *stage) granted(ctx context.Context, id string, patterns, own []string) ([]troupe.Tool, error) {
	ready := s.ready(id)
	known := slices.Concat(own, slices.Sorted(maps.Keys(ready)))
	served := s.servedTools(ctx, patterns)
	for _, tool := range served {
		known = append(known, tool.Spec().Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var tools []troupe.Tool
	for _, pattern := range patterns {
		if pattern != ofTheBundle && !slices.ContainsFunc(known, func(name string) bool { return fits(pattern, name) }) && !s.isAbsent(pattern) {
			return nil, misconfigured{fmt.Errorf("agents.%s.tools in %s: %s", id, config.Name, noTool(pattern, known))}
		}
	}
	wanted := func(name string) bool {
		return !slices.Contains(own, name) && slices.ContainsFunc(patterns, func(pattern string) bool { return fits(pattern, name) })
	}
	for _, name := range slices.Sorted(maps.Keys(ready)) {
		if !wanted(name) {
			continue
		}
		tool, err := ready[name]()
		if err != nil {
			return nil, misconfigured{fmt.Errorf("agents.%s.tools in %s: %s: %w", id, config.Name, name, err)}
		}
		tools = append(tools, tool)
	}
	for _, tool := range served {
		if wanted(tool.Spec().Name) {
			tools = append(tools, tool)
		}
	}
	return tools, nil
}

// fits reports whether a tool's name looks like a pattern.
func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
