package bundle

// The codes of what [Lint] finds, beside those of loading. docs/lint.md explains
// them all.
const (
	CodeNothing      = "nothing-found"  // nothing to lint
	CodeTooMuch      = "too-many-files" // more than is looked at
	CodeTooLarge     = "too-large"      // a file that no model is shown whole
	CodeNotInstalled = "not-installed"  // what only an installation has

	CodeNoPrompt = "dangling-prompt"
	CodeNoSkill  = "dangling-skill"
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
	useTask      Use = "task"
	useStep      Use = "step"
	useChecklist Use = "checklist"
)

// dangling are the codes of references that lead nowhere.
var dangling = map[Use]string{
	UseAgent:      "dangling-agent",
	UseCritical:   "dangling-critical-action",
	UseWorkflow:   "dangling-workflow",
	UseValidate:   "dangling-workflow",
	UseExec:       "dangling-exec",
	UseTemplate:   "dangling-template",
	UseData:       "dangling-data",
	UseDependency: "dangling-dependency",
	UseConfig:     "dangling-config",
	UseInstruct:   "dangling-instructions",
	UseInput:      "dangling-file",
	useTask:       "dangling-task",
	useStep:       "dangling-step",
	useChecklist:  "dangling-checklist",
}
