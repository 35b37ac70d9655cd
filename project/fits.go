package project

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// examineRoom says which agents do not fit the window of their model, or barely: their
// prompt and tools are sent in every turn. Tools of MCP servers are not asked for, and not
// counted; what is wrong with a model or an agent is said elsewhere.
func (s *stage) examineRoom(_ context.Context) (checks []doctor.Check) {
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
