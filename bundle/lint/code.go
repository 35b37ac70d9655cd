// Package lint reads a directory of bundles, workflows, tasks and skills and reports
// what would not work and what looks like a mistake, with file and line.
package lint

import "github.com/troupe-dev/troupe/bundle"

// The codes of what [Run] finds, beside those of loading. docs/lint.md explains
// them all.
const (
	CodeNothing      = "nothing-found"  // nothing to lint
	CodeTooMuch      = "too-many-files" // more than is looked at
	CodeTooLarge     = "too-large"      // a file that no model is shown whole
	CodeNotInstalled = "not-installed"  // what only an installation has

	CodeNoPrompt = "dangling-prompt"
	CodeNoSkill  = "dangling-skill"
	CodeNoStep   = "dangling-goto"   // a goto to a step or anchor that is not there
	CodeNoMember = "dangling-member" // a team names an agent that is not there
	CodeDeadRow  = "dead-manifest-row"
	CodeNoKey    = "missing-key"    // configuration that every agent is told to use
	CodeSameStep = "duplicate-step" // two steps of one number
	CodeOutside  = "outside-bundle" // a path that agents may not read

	CodeVariable      = "unresolved-variable"
	CodeVariableCycle = "variable-cycle"
	CodeCycle         = "cycle"

	CodeSameAgent   = "duplicate-agent"
	CodeSameCommand = "duplicate-command"
	CodeSameSkill   = "duplicate-skill"

	CodePersona  = "missing-persona"
	CodeBuiltin  = "missing-command" // *help or *exit
	CodeNoTarget = "command-without-target"
	CodeTodo     = "todo-target"
	CodeTag      = "unknown-tag"
	CodeUnused   = "unreached-files"

	CodeSkillFront       = "skill-front-matter"
	CodeSkillName        = "skill-name"
	CodeSkillDescription = "skill-description"
	CodeSkillKey         = "skill-key"
	CodeSkillTool        = "skill-tool"
)

// The uses of references that only a linter tells apart.
const (
	useTask      bundle.Use = "task"
	useStep      bundle.Use = "step"
	useChecklist bundle.Use = "checklist"
)

// dangling are the codes of references that lead nowhere.
var dangling = map[bundle.Use]string{
	bundle.UseAgent:      "dangling-agent",
	bundle.UseCritical:   "dangling-critical-action",
	bundle.UseWorkflow:   "dangling-workflow",
	bundle.UseValidate:   "dangling-workflow",
	bundle.UseExec:       "dangling-exec",
	bundle.UseTemplate:   "dangling-template",
	bundle.UseData:       "dangling-data",
	bundle.UseDependency: "dangling-dependency",
	bundle.UseConfig:     "dangling-config",
	bundle.UseInstruct:   "dangling-instructions",
	bundle.UseInput:      "dangling-file",
	useTask:              "dangling-task",
	useStep:              "dangling-step",
	useChecklist:         "dangling-checklist",
}
