package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/tool/mcp"
)

// examineRoom says which agents do not fit the window of their model, or barely: their
// prompt and tools are sent in every turn, those of MCP servers as well. What is wrong with
// a model or an agent is said elsewhere.
func (s *stage) examineRoom(ctx context.Context) (checks []doctor.Check) {
	served, checks := s.examineServers(ctx)
	opened := map[models.Choice]models.Opened{}
	for _, id := range s.project.agentIDs() {
		choice := s.project.models.For(id)
		model, ok := opened[choice]
		if !ok {
			model, _ = s.project.models.Open(choice)
			opened[choice] = model
		}
		prompt, tools, err := s.sizeOf(id)
		if err != nil || model.Window == 0 {
			continue
		}
		for _, spec := range served {
			if slices.ContainsFunc(s.wanted(id), func(pattern string) bool { return fits(pattern, spec.Name) }) {
				tools += sizeOfTool(spec)
			}
		}
		check := doctor.Check{Name: "agent " + id, Status: doctor.Warning}
		size := prompt + tools
		switch figures := fmt.Sprintf("its prompt takes about %d tokens and its tools %d", prompt, tools); {
		case model.Window < size+models.RoomToAnswer:
			check.Status = doctor.Broken
			check.Message = fmt.Sprintf("it does not fit %s: %s, of a window of %d", model.Ref, figures, model.Window)
		case model.Window < size+models.RoomToWork:
			check.Message = fmt.Sprintf("it barely fits %s: %s, of a window of %d; %d are left for the conversation", model.Ref, figures, model.Window, model.Window-size)
		default:
			continue
		}
		check.Fix = "choose a model with a larger window for it (agents." + id + ".model), or give it fewer tools (agents." + id + ".tools)"
		check.Fix = largerWindow(&model, size) + check.Fix
		checks = append(checks, check)
	}
	return checks
}

// examineServers reaches the MCP servers whose tools some agent is given, says which cannot be
// reached, and returns the tools of all others. What was accepted of them is not changed.
func (s *stage) examineServers(ctx context.Context) (tools []troupe.ToolSpec, checks []doctor.Check) {
	var patterns []string
	for _, id := range s.project.agentIDs() {
		patterns = append(patterns, s.wanted(id)...)
	}
	for _, name := range s.project.MCPServers() {
		c := s.project.mcpServers()[name]
		if c.Off || !slices.ContainsFunc(patterns, func(pattern string) bool { return mayMean(pattern, name) }) {
			continue
		}
		own, err := s.toolsServedBy(ctx, name, c)
		if err != nil {
			checks = append(checks, doctor.Check{Name: "mcp " + name, Status: doctor.Warning, Message: "it cannot be reached, and agents do without its tools: " + err.Error(),
				Fix: "correct mcp." + name + " in " + config.Name + ", or start the server; 'troupe mcp' shows what it offers"})
		}
		tools = append(tools, own...)
	}
	return tools, checks
}

// toolsServedBy asks an MCP server for its tools, by a copy of what was accepted of it.
func (s *stage) toolsServedBy(ctx context.Context, name string, c config.MCPServer) (specs []troupe.ToolSpec, err error) {
	dir, err := os.MkdirTemp("", "troupe-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	known, err := s.project.mcpConfig(name, c)
	if err != nil {
		return nil, err
	}
	pins := filepath.Join(dir, "pins.json")
	if accepted, err := os.ReadFile(known.Pins); err == nil {
		if err := os.WriteFile(pins, accepted, 0o600); err != nil {
			return nil, err
		}
	}
	known.Pins = pins
	server, err := mcp.Connect(ctx, known)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	for _, tool := range server.Tools() {
		specs = append(specs, tool.Spec())
	}
	return specs, nil
}

// largerWindow says how an agent of a size gets a larger window of an Ollama, as far as the
// model holds one.
func largerWindow(model *models.Opened, size int) string {
	provider, name, _ := strings.Cut(model.Ref, "/")
	if provider != "ollama" || model.Held > 0 && model.Held <= max(model.Window, size+models.RoomToAnswer-1) {
		return ""
	}
	window, condition := models.WindowFor(size), ", if the model holds it"
	if model.Held > 0 {
		window, condition = min(window, model.Held), ""
	}
	if model.Asked == 0 {
		return fmt.Sprintf("start 'ollama serve' with OLLAMA_CONTEXT_LENGTH=%d%s; or ", window, condition)
	}
	return fmt.Sprintf("ask for a larger window%s: providers.%s.models.%q.window: %d in %s; or ", condition, provider, name, window, config.Name)
}

// sizeOf is about how many tokens an agent's prompt and its tools take.
func (s *stage) sizeOf(id string) (prompt, tools int, err error) {
	given := slices.Concat(s.builtIn(id), s.skillTools(id))
	if s.project.isPlain(id) {
		prompt = bundle.EstimateTokens(s.project.config.Agents[id].Instructions)
		for _, more := range s.project.tell(id) {
			prompt += bundle.EstimateTokens(more.Content)
		}
		for _, tool := range given {
			tools += sizeOfTool(tool.Spec())
		}
		return prompt, tools, nil
	}
	options := s.project.optionsOf(id)
	parts, err := s.project.catalog().PromptWith(id, options)
	if err != nil {
		return 0, 0, err
	}
	for _, part := range parts {
		prompt += part.Tokens
	}
	options.Tools = given
	specs, err := s.project.catalog().Tools(id, options)
	for _, spec := range specs {
		isOwn := !slices.ContainsFunc(given, func(tool troupe.Tool) bool { return tool.Spec().Name == spec.Name })
		if wanted := s.wanted(id); isOwn && wanted != nil && !slices.ContainsFunc(wanted, func(pattern string) bool { return pattern == ofTheBundle || fits(pattern, spec.Name) }) {
			continue
		}
		tools += sizeOfTool(spec)
	}
	return prompt, tools, err
}

// builtIn makes those of an agent's tools that Troupe has itself.
func (s *stage) builtIn(id string) (tools []troupe.Tool) {
	ready := s.ready(id)
	for name, open := range ready {
		if !slices.ContainsFunc(s.wanted(id), func(pattern string) bool { return fits(pattern, name) }) {
			continue
		}
		if tool, err := open(); err == nil {
			tools = append(tools, tool)
		}
	}
	return tools
}

func sizeOfTool(spec troupe.ToolSpec) int {
	return bundle.EstimateTokens(spec.Name + spec.Description + string(spec.Input))
}
