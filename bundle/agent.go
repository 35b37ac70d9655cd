package bundle

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/workspace"
)

// Options say how an agent of a catalog runs. Model is required.
type Options struct {
	Model  troupe.Model
	Params troupe.Params
	Price  troupe.Price
	// Window is how many tokens the model can hold, 0 if that is not known.
	Window int
	// Tools are granted beside those that every bundle relies on: read_file,
	// save_output, edit_file, list_files, search_files, execute_workflow and invoke_agent.
	Tools []troupe.Tool
	// Allow, where not nil, names the tools that the agent may use, of all those.
	Allow []string
	// Guard, where set, stands between the agent and its tools: it returns others in
	// their places, of the same names, that ask first or the like.
	Guard func(...troupe.Tool) []troupe.Tool
	// Tell, where set, returns what else the agent is told before the user speaks.
	Tell func() []troupe.ContextLoaded
	// Outputs is the directory that holds the session folders: data/agent-outputs
	// in the project by default.
	Outputs string
	// Documents are those of the project.
	Documents Documents
	// ReadProject lets the agent read {project-root}, except keys, .env and .git.
	ReadProject bool
	// Roots are further directories that the operator grants.
	Roots []workspace.Root
	// Closed are places that no root opens further than they say.
	Closed []workspace.Closed
	Limits workspace.Limits
	// Buffers are files as they stand in a person's editor. Nil means those on disk.
	Buffers workspace.Buffers
	// Temporary says that what is saved is thrown away: nothing waits until it is on disk.
	Temporary bool
	// Logger gets what went wrong beside what was saved. Default: nobody.
	Logger *slog.Logger
	// Events, where set, gives back the events of a session, as a store and an engine do:
	// from them a conversation knows after a restart which workflow it is in. Without it
	// that is kept in a directory beside the session folders.
	Events func(ctx context.Context, session string, after int64) iter.Seq2[troupe.Event, error]
	// Invoke finds the agents that invoke_agent runs. By default they are those of
	// the catalog, with the same options.
	Invoke func(id string) (troupe.Step, error)
}

// Agent makes an agent of a definition, by its ID or as bundle/id. Only its file is
// read now; its critical actions are carried out in the first run of each session.
// It may serve many sessions at once, and is best made once and kept: until the
// catalog is closed, it holds some of its sessions' folders open.
func (c *Catalog) Agent(id string, o Options) (*troupe.Agent, error) {
	d, err := c.Definition(id)
	if err != nil {
		return nil, err
	}
	s := c.sessionsOf(d, o)
	tools := s.tools()
	if o.Guard != nil {
		tools = o.Guard(tools...)
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: d.ID, Model: o.Model, Params: o.Params, Price: o.Price, Window: o.Window,
		Tools: tools, Allow: o.Allow, Context: s.context,
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.troops = append(c.troops, s)
	return agent, nil
}

// Tools returns what an agent with these options offers its model beside the prompt.
func (c *Catalog) Tools(id string, o Options) ([]troupe.ToolSpec, error) {
	d, err := c.Definition(id)
	if err != nil {
		return nil, err
	}
	var specs []troupe.ToolSpec
	for _, tool := range c.sessionsOf(d, o).tools() {
		if spec := tool.Spec(); o.Allow == nil || slices.Contains(o.Allow, spec.Name) {
			specs = append(specs, spec)
		}
	}
	return specs, nil
}

func (c *Catalog) sessionsOf(d *Definition, o Options) *sessions {
	outputs := cmp.Or(o.Outputs, filepath.Join(c.project, "data", "agent-outputs"))
	return &sessions{agent: d, options: o, outputs: outputs, open: make(map[string]*session)}
}

// ToolNames lists the tools that agents of bundles may have of their own. Not each of them
// has all.
func ToolNames() []string {
	return []string{"read_file", "save_output", "edit_file", "list_files", "search_files", "execute_workflow", "invoke_agent", "memlog"}
}

// tools are those that every bundle relies on, then those that the options grant.
func (s *sessions) tools() []troupe.Tool {
	save := s.hold(files.Save)
	tools := []troupe.Tool{
		stepReader{s.hold(files.Read)}, save, s.hold(files.Edit), s.hold(files.List), s.hold(files.Search), s.executeWorkflow(),
	}
	if c := s.agent.bundle.catalog; len(c.entries) > 1 || s.options.Invoke != nil {
		tools = append(tools, c.invokeAgent(s.agent.ID, s.options))
	}
	if s.agent.bundle.keepsMemlog {
		tools = append(tools, s.memlog(save))
	}
	return append(tools, s.options.Tools...)
}

// hold makes a tool that works in the files of the run's session and keeps them
// open while it does.
func (s *sessions) hold(tool func(files.Finder) troupe.Tool) troupe.Tool {
	return &heldTool{spec: tool(nil).Spec(), tool: tool, sessions: s}
}

type heldTool struct {
	spec     troupe.ToolSpec
	tool     func(files.Finder) troupe.Tool
	sessions *sessions
}

func (t *heldTool) Spec() troupe.ToolSpec { return t.spec }

func (t *heldTool) Call(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
	x, err := t.sessions.enterLinked(ctx, in)
	if err != nil {
		return troupe.Result{}, failure(err, "")
	}
	defer t.sessions.leave(x)
	named := *in
	if b := t.sessions.agent.bundle; b.respell != nil {
		named.Arguments = b.respellPaths(in.Arguments)
	}
	isReading := t.spec.Name == "read_file" || t.spec.Name == "list_files" || t.spec.Name == "search_files"
	if isReading {
		named.Arguments = x.findPaths(named.Arguments)
	}
	if t.spec.Name == "save_output" {
		if err := x.mayReplace(named.Arguments); err != nil {
			return troupe.Result{}, err
		}
	}
	here := func(string) (*workspace.Workspace, error) { return x.workspace(), nil }
	result, err := t.tool(here).Call(ctx, &named)
	switch {
	case t.spec.Name == "read_file" && err != nil:
		return provide(named.Arguments, result, err)
	case err != nil:
		return result, err
	case t.spec.Name == "read_file":
		x.hasRead(named.Arguments)
		return result, t.sessions.noteRead(ctx, in.Run, x, named.Arguments)
	case t.spec.Name == "save_output" || t.spec.Name == "edit_file":
		x.hasWritten(named.Arguments)
	}
	return result, nil
}

// respellPaths rewrites the arguments of a tool that takes a path.
func (b *Bundle) respellPaths(arguments json.RawMessage) json.RawMessage {
	var in map[string]any
	if err := json.Unmarshal(arguments, &in); err != nil {
		return arguments
	}
	for _, name := range []string{"file_path", "path"} {
		if path, ok := in[name].(string); ok {
			in[name] = b.herePath(path)
		}
	}
	out, err := json.Marshal(in)
	if err != nil {
		return arguments
	}
	return out
}
