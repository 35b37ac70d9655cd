package markup

import "strings"

// The sets below hold the names met in published bundles, in lower case. Anything else between angle brackets there is
// a placeholder or an example.

// IsAgentTag tells whether an agent file uses name as a tag. It is meant for [Options.Known].
func IsAgentTag(name string) bool {
	switch strings.ToLower(name) {
	case "agent", "agent-config", "activation", "init", "notice", "steps", "step", "s", "llm", "i", "action",
		"persona", "role", "identity", "communication_style", "principles", "core_principles", "p",
		"critical-actions", "greeting", "message", "memories", "memory", "prompts", "prompt", "content",
		"cmds", "c", "menu", "item", "commands", "command", "input", "extract", "menu-handlers", "handlers", "handler",
		"rules", "rule", "r", "command-resolution", "execution-rules",
		"orchestrator-specific", "agent-transformation", "party-mode", "list-agents":
		return true
	}
	return false
}

// IsInstructionTag tells whether the instructions of a workflow use name as a tag. It is meant for [Options.Known].
func IsInstructionTag(name string) bool {
	switch strings.ToLower(name) {
	case "workflow", "step", "substep", "action", "ask", "check", "critical", "mandate", "output", "template-output",
		"elicit-required", "goto", "anchor", "if", "for-each", "loop", "break", "continue", "param",
		"invoke-workflow", "invoke-task", "invoke-protocol", "websearch",
		"note", "example", "format", "guide", "guideline", "guidelines",
		"facilitation-guidelines", "facilitation-principles", "storytelling-principles", "framework-specific-guidance",
		"energy-check", "energy-checkpoint", "transition-check",
		"question-protocol", "direct-to-user", "rhetorical", "inter-agent", "moderation":
		return true
	}
	return false
}

// IsTaskTag tells whether a task file uses name as a tag: those of instructions, and the tasks' own. It is meant for
// [Options.Known].
func IsTaskTag(name string) bool {
	switch strings.ToLower(name) {
	case "task", "tool", "objective", "llm", "i", "flow", "phase", "iterate", "case", "desc", "title", "usage",
		"inputs", "input", "output-format", "report-format", "commands", "context", "critical-context",
		"workflow-rules", "rule", "critical-rules", "principles", "human-reader-principles", "llm-reader-principles",
		"execute-tags", "supported-tags", "structural", "execution", "tag", "execution-modes", "mode",
		"protocols", "protocol", "strategy", "structure-models", "model",
		"conditional-execution-patterns", "pattern", "use-case", "syntax", "rationale",
		"integration", "csv-structure", "context-analysis", "smart-selection", "response-handling",
		"agent-selection", "for-each-item", "mark-as", "validation", "halt-conditions", "condition":
		return true
	}
	return IsInstructionTag(name)
}

// isVoid tells whether a tag of HTML never has content, so that a missing end tag is no mistake.
func isVoid(name string) bool {
	switch strings.ToLower(name) {
	case "br", "hr", "img":
		return true
	}
	return false
}
