package observe

import "github.com/troupe-dev/troupe"

// A Summary is what metrics come to, for people and scripts. Shares are between 0
// and 1, and missing where there is nothing to have a share of.
type Summary struct {
	// Runs are those that callers started; nested ones are in Agents only.
	Runs      RunSummary              `json:"runs"`
	Agents    map[string]AgentSummary `json:"agents"`
	Models    map[string]ModelSummary `json:"models"`
	Tools     map[string]ToolSummary  `json:"tools"`
	Phases    PhaseSummary            `json:"phases"`
	Artifacts ArtifactSummary         `json:"artifacts"`
	Handoffs  int                     `json:"handoffs"`
	// Errors and Warnings are by type and code.
	Errors   map[string]int `json:"errors"`
	Warnings map[string]int `json:"warnings"`
}

// A RunSummary counts runs by their latest end.
type RunSummary struct {
	Started   int `json:"started"`
	Success   int `json:"success"`
	Partial   int `json:"partial"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	// Waiting runs ended with a question. They do not count as ended.
	Waiting int `json:"waiting"`
	// Completion is the share of success in the runs that have ended.
	Completion *float64 `json:"completion_rate,omitempty"`
}

// An AgentSummary is what one agent did, nested runs of its own included and those
// of other agents not.
type AgentSummary struct {
	Runs          RunSummary     `json:"runs"`
	TurnsPerRun   *float64       `json:"turns_per_run,omitempty"`
	ToolCalls     map[string]int `json:"tool_calls"`
	ToolErrors    int            `json:"tool_errors"`
	Spent         Spending       `json:"spent"`
	Context       ContextSummary `json:"context"`
	InputRequests int            `json:"input_requests"`
}

// A ContextSummary is how full an agent's context was.
type ContextSummary struct {
	// Tokens are those of the latest request, by part.
	Tokens map[string]int `json:"tokens"`
	// Mean and Max are shares of the window, where that is known.
	Mean        *float64 `json:"window_share_mean,omitempty"`
	Max         *float64 `json:"window_share_max,omitempty"`
	Compactions int      `json:"compactions"`
}

// Spending is tokens and money.
type Spending struct {
	troupe.Usage
	Cost float64 `json:"cost"`
}

// A ModelSummary is what one model was asked for, by all agents.
type ModelSummary struct {
	Replies    int      `json:"replies"`
	Spent      Spending `json:"spent"`
	Latency    Timing   `json:"latency"`
	FirstToken Timing   `json:"first_token"`
}

// A ToolSummary is how one tool did, for all agents.
type ToolSummary struct {
	Calls  int    `json:"calls"`
	Errors int    `json:"errors"`
	Time   Timing `json:"time"`
}

// Timing is how long something took.
type Timing struct {
	Mean float64 `json:"mean_ms"`
	Max  float64 `json:"max_ms"`
}

// A PhaseSummary is how a pipeline's phases ended.
type PhaseSummary struct {
	Success *float64 `json:"success_rate,omitempty"`
	// Compliance is the share of replies that were JSON as asked for.
	Compliance *float64                  `json:"json_compliance,omitempty"`
	ByPhase    map[string]map[string]int `json:"by_phase"`
	JSON       map[string]int            `json:"json"`
}

// An ArtifactSummary counts files that were to be written for users.
type ArtifactSummary struct {
	Saved   int      `json:"saved"`
	Failed  int      `json:"failed"`
	Success *float64 `json:"success_rate,omitempty"`
}

// Summary returns what the metrics come to now.
func (m *Metrics) Summary() Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved, lost := m.artifactsSaved.total(), m.artifactsFailed.total()
	s := Summary{
		Runs:      m.runSummary("", "false"),
		Agents:    map[string]AgentSummary{},
		Models:    map[string]ModelSummary{},
		Tools:     map[string]ToolSummary{},
		Phases:    m.phaseSummary(),
		Artifacts: ArtifactSummary{int(saved), int(lost), share(saved, saved+lost)},
		Handoffs:  int(m.handoffs.total()),
		Errors:    m.errors.by(0),
		Warnings:  m.warnings.by(0),
	}
	for agent := range m.known["agent"] {
		s.Agents[agent] = m.agentSummary(agent)
	}
	for model := range m.known["model"] {
		s.Models[model] = ModelSummary{
			Replies: int(m.replies.total("", model)), Spent: m.spending("", model),
			Latency: m.latency.timing(model), FirstToken: m.firstToken.timing(model),
		}
	}
	for tool := range m.known["tool"] {
		s.Tools[tool] = ToolSummary{int(m.toolCalls.total("", tool)), int(m.toolErrors.total("", tool)), m.toolTime.timing(tool)}
	}
	return s
}
