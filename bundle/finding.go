package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// A Severity says how bad a [Finding] is.
type Severity string

// An error keeps something from working; a warning is read in spite of itself.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// The codes of what is found while loading. Those of package markup appear too.
const (
	CodeUnreadable   = "unreadable"             // a file is missing, refused or too large
	CodeYAML         = laxyaml.CodeInvalid      // not YAML, even read leniently
	CodeUnquoted     = laxyaml.CodeUnquoted     // a scalar that YAML wants in quotes
	CodeRefusedYAML  = laxyaml.CodeRefused      // aliases, custom tags, more than the limits allow
	CodeDuplicateKey = laxyaml.CodeDuplicateKey // the last one counts
	CodeTOML         = "invalid-toml"           // not TOML, or not that of an agent
	CodeManifest     = "invalid-manifest"       // bundle.yaml lacks something, or has it wrong
	CodeNoManifest   = "missing-manifest"       // a bundle directory without bundle.yaml
	CodeNoAgent      = "no-agent"               // a file that should define an agent does not
	CodeIncomplete   = "incomplete-agent"       // an agent without a name, or a command without a trigger
	CodeLink         = "link-elsewhere"         // a link to a bundle that leads out of the project
	CodeShadowed     = "shadowed-agent"         // another agent of the same name counts
	CodeSchema       = "agent-schema"           // an agent that is written in a way of its own
	CodeMoved        = "wrong-install-path"     // a workflow that is not where it says it is
)

// A Finding is something in a bundle that a person should look at. It is an error
// where it keeps something from being loaded.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	// File is relative to the project, with slashes.
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Error shows the finding on one line, as compilers do.
func (f *Finding) Error() string {
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

func problem(code, file string, line int, format string, args ...any) *Finding {
	return &Finding{Error, code, file, line, fmt.Sprintf(format, args...)}
}

func warning(code, file string, line int, format string, args ...any) Finding {
	return Finding{Warning, code, file, line, fmt.Sprintf(format, args...)}
}

// asFinding returns the finding that err is, or makes it one about file.
func asFinding(err error, file string) Finding {
	if found, ok := errors.AsType[*Finding](err); ok {
		return *found
	}
	return Finding{Error, CodeUnreadable, file, 1, err.Error()}
}

// withAdvice is asFinding, and goes on to say what comes of it.
func withAdvice(err error, file, what string) Finding {
	found := asFinding(err, file)
	found.Message += what
	return found
}

func sortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// A Use says what a [Reference] is for.
type Use string

// The uses of references.
const (
	UseAgent      Use = "agent" // a manifest's agent file
	UseCritical   Use = "critical-action"
	UseWorkflow   Use = "workflow"
	UseValidate   Use = "validate-workflow"
	UseExec       Use = "exec"
	UseTemplate   Use = "template"
	UseData       Use = "data"
	UseDependency Use = "dependency"
	UseConfig     Use = "config"
	UseInstruct   Use = "instructions"
	UseInput      Use = "input" // any other file that a workflow names; it may be yet to be made
)

// A Reference is a file that another file names.
type Reference struct {
	// Path is as written, variables and all.
	Path string
	Use  Use
	// Key is the command or the key of a workflow that names it.
	Key string
	// File and Line say where. File is relative to the project.
	File string
	Line int
	// Optional references may lead nowhere.
	Optional bool
}
