package acp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
)

// The options of a session that a person may choose in the editor. The agent is one of
// them beside being the session's mode: editors that show options do not show modes.
const (
	agentOption = "agent"
	modelOption = "model"
)

// options are what the person may choose, and what is chosen.
func (s *session) options() []acp.SessionConfigOption {
	var agents acp.SessionConfigSelectOptionsUngrouped
	modes := s.modes()
	for _, m := range modes.AvailableModes {
		agents = append(agents, acp.SessionConfigSelectOption{Name: m.Name, Description: m.Description, Value: acp.SessionConfigValueId(m.Id)})
	}
	var models acp.SessionConfigSelectOptionsUngrouped
	for _, m := range s.choices {
		models = append(models, acp.SessionConfigSelectOption{Name: m.Ref, Description: optional(aboutModel(m)), Value: acp.SessionConfigValueId(m.Ref)})
	}
	choose := func(id, name string, category acp.SessionConfigOptionCategory, current string, options acp.SessionConfigSelectOptionsUngrouped) acp.SessionConfigOption {
		return acp.SessionConfigOption{Select: &acp.SessionConfigOptionSelect{
			Type: "select", Id: acp.SessionConfigId(id), Name: name, Category: &category, CurrentValue: acp.SessionConfigValueId(current),
			Options: acp.SessionConfigSelectOptions{Ungrouped: &options},
		}}
	}
	return []acp.SessionConfigOption{
		choose(agentOption, "Agent", acp.SessionConfigOptionCategoryMode, string(modes.CurrentModeId), agents),
		choose(modelOption, "Model", acp.SessionConfigOptionCategoryModel, s.currentModel(), models),
	}
}

// aboutModel says what a person chooses models by.
func aboutModel(m project.Model) string {
	var about []string
	if m.Window > 0 {
		about = append(about, fmt.Sprintf("holds %d tokens", m.Window))
	}
	if m.In != nil && m.Out != nil {
		about = append(about, fmt.Sprintf("%s in, %s out per million tokens", words.Dollars(*m.In), words.Dollars(*m.Out)))
	}
	return strings.Join(about, ", ")
}

// models are the same choice for editors that know no options yet.
func (s *session) models() *acp.SessionModelState {
	state := &acp.SessionModelState{CurrentModelId: acp.ModelId(s.currentModel())}
	for _, m := range s.choices {
		state.AvailableModels = append(state.AvailableModels, acp.ModelInfo{ModelId: acp.ModelId(m.Ref), Name: m.Ref, Description: optional(aboutModel(m))})
	}
	return state
}

// currentModel is what answers: what the person has chosen, or what the project says.
func (s *session) currentModel() string {
	if s.model != "" {
		return s.model
	}
	if ref := s.conversation.Model(); ref != "" {
		return ref
	}
	ref, _ := s.project.Model(s.conversation.Agent)
	return ref
}

// lookForModels finds what models there are to choose from.
func (s *session) lookForModels(ctx context.Context) {
	s.choices = s.project.ModelChoices(ctx)
	current := s.currentModel()
	if !slices.ContainsFunc(s.choices, func(m project.Model) bool { return m.Ref == current }) {
		s.choices = append([]project.Model{{Ref: current}}, s.choices...)
	}
}

// switchTo has another agent or flow go on with the conversation.
func (s *session) switchTo(ctx context.Context, name string) ([]acp.SessionConfigOption, error) {
	s.prompting.Lock()
	defer s.prompting.Unlock()
	if name != s.conversation.Agent {
		if err := s.conversation.Use(ctx, name, s.model, s.extras); err != nil {
			return nil, failure(err)
		}
		s.plan = newPlan(s.project, s.conversation.Agent)
		s.announceCommands(ctx)
	}
	return s.options(), nil
}

// switchModel has another model answer from then on.
func (s *session) switchModel(ctx context.Context, ref string) ([]acp.SessionConfigOption, error) {
	s.prompting.Lock()
	defer s.prompting.Unlock()
	if err := s.conversation.Use(ctx, s.conversation.Agent, ref, s.extras); err != nil {
		return nil, failure(err)
	}
	s.model = ref
	return s.options(), nil
}

// SetSessionConfigOption implements [acp.Agent].
func (a *agent) SetSessionConfigOption(ctx context.Context, r acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	var none acp.SetSessionConfigOptionResponse
	if r.ValueId == nil {
		return none, acp.NewInvalidParams(map[string]any{"error": "the options of a session are chosen by a value's id"})
	}
	s, err := a.find(r.ValueId.SessionId)
	if err != nil {
		return none, err
	}
	var now []acp.SessionConfigOption
	switch r.ValueId.ConfigId {
	case agentOption:
		now, err = s.switchTo(ctx, string(r.ValueId.Value))
	case modelOption:
		now, err = s.switchModel(ctx, string(r.ValueId.Value))
	default:
		err = acp.NewInvalidParams(map[string]any{"error": fmt.Sprintf("there is no option %.64q; there are %s and %s", string(r.ValueId.ConfigId), agentOption, modelOption)})
	}
	if err != nil {
		return none, err
	}
	return acp.SetSessionConfigOptionResponse{ConfigOptions: now}, nil
}

// UnstableSetSessionModel is how editors that know no options choose a model.
func (a *agent) UnstableSetSessionModel(ctx context.Context, r acp.UnstableSetSessionModelRequest) (acp.UnstableSetSessionModelResponse, error) {
	s, err := a.find(r.SessionId)
	if err != nil {
		return acp.UnstableSetSessionModelResponse{}, err
	}
	_, err = s.switchModel(ctx, string(r.ModelId))
	return acp.UnstableSetSessionModelResponse{}, err
}

// SetSessionMode implements [acp.Agent]: another agent has the conversation from then on.
func (a *agent) SetSessionMode(ctx context.Context, r acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	s, err := a.find(r.SessionId)
	if err != nil {
		return acp.SetSessionModeResponse{}, err
	}
	_, err = s.switchTo(ctx, string(r.ModeId))
	return acp.SetSessionModeResponse{}, err
}
