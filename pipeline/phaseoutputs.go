package pipeline

// Requirements are the outputs of the phase "requirements".
type Requirements struct {
	UserStories        Items `json:"user_stories" doc:"At least one."`
	AcceptanceCriteria Items `json:"acceptance_criteria"`
	Scope              Item  `json:"scope" doc:"MVP, Full or Enterprise."`
	Constraints        Items `json:"constraints"`
}

// Architecture is the outputs of the phase "architecture".
type Architecture struct {
	Components   Items `json:"components"`
	Technologies Items `json:"technologies"`
	Patterns     Items `json:"patterns"`
	Decisions    Items `json:"decisions" doc:"Each with its rationale."`
}

// Discovery is the outputs of the phase "discovery".
type Discovery struct {
	RelevantFiles   Items `json:"relevant_files" doc:"Each with path, relevance and priority (high, medium or low)."`
	GKChattyContext Items `json:"gkchatty_context" doc:"Documents of the knowledge base, each with its relevance."`
	EntryPoints     Items `json:"entry_points"`
	Dependencies    Items `json:"dependencies"`
}

// Planning is the outputs of the phase "planning". The plan itself is an artifact.
type Planning struct {
	TotalSteps    Item `json:"total_steps" doc:"The number of steps of the plan, which is an artifact."`
	EstimatedTime Item `json:"estimated_time"`
	Complexity    Item `json:"complexity" doc:"low, medium or high."`
	RiskLevel     Item `json:"risk_level" doc:"low, medium or high."`
	// Steps are the plan as data, in a repository: see [PlanStep].
	Steps Items `json:"steps,omitempty" doc:"The plan as data: each step with id, title, goal, files, depends_on and acceptance."`
}

// Implementation is the outputs of the phase "implementation". The files that are
// written or changed are artifacts; here they are named.
type Implementation struct {
	StepsCompleted Items `json:"steps_completed" doc:"Steps of the plan that are done."`
	StepsRemaining Items `json:"steps_remaining"`
	FilesChanged   Items `json:"files_changed" doc:"Paths of the files that are written or changed; their content is an artifact each."`
	Notes          Items `json:"notes"`
	Step           Item  `json:"step,omitempty" doc:"The id of the step that was carried out."`
	Summary        Item  `json:"summary,omitempty" doc:"What was done, for the commit."`
	Done           Item  `json:"done,omitempty" doc:"true or false."`
	More           Item  `json:"more,omitempty" doc:"true if the rest of the change comes in the next answer."`
}

// QA is the outputs of the phase "qa".
type QA struct {
	TestsPassed         Item  `json:"tests_passed" doc:"true or false."`
	CodeQuality         Item  `json:"code_quality" doc:"A grade from A to F."`
	SecurityIssues      Items `json:"security_issues"`
	PerformanceConcerns Items `json:"performance_concerns"`
	Recommendations     Items `json:"recommendations"`
	Verdict             Item  `json:"verdict,omitempty" doc:"accept or changes_required."`
	Criteria            Items `json:"criteria,omitempty" doc:"Each acceptance criterion with id, state (met, not_met or unproven) and evidence."`
	Findings            Items `json:"findings,omitempty" doc:"Each with id, severity (blocker, major or minor), path, line, problem, fix and, if it can be shown, reproduce: artifacts of a test that fails because of it."`
}
