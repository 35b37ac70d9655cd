package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// A Severity says how bad a [Finding] is.
type Severity string

// An error keeps something from working, or breaks a rule of the standard; a
// warning is read in spite of itself.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// The codes of findings.
const (
	CodeUnreadable   = "unreadable"     // a file or root that cannot be opened, or is no text
	CodeTooMuch      = "too-many-files" // more than is looked at
	CodeYAML         = "invalid-yaml"   // not YAML, even read leniently
	CodeUnquoted     = "unquoted-yaml"  // a value that YAML wants in quotes
	CodeRefusedYAML  = "refused-yaml"   // aliases, custom tags, more than the limits allow
	CodeDuplicateKey = "duplicate-key"  // the last one counts

	CodeFrontMatter = "skill-front-matter" // nothing at the top says what the skill is
	CodeName        = "skill-name"
	CodeDescription = "skill-description"
	CodeKey         = "skill-key"  // a key that the standard does not know, or that holds too much
	CodeTool        = "skill-tool" // a tool that agents do not have

	CodeStale     = "stale-skill" // an earlier version than that of the file is in use
	CodeDuplicate = "duplicate-skill"
	CodeNoSkill   = "dangling-skill"
	CodeNoFile    = "dangling-file"
	CodeCycle     = "cycle"
)

// A Finding is something in a skill that a person should look at.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	// File is the root as it was given and the name in it, with slashes.
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func problem(code, file string, line int, format string, args ...any) Finding {
	return Finding{Error, code, file, line, fmt.Sprintf(format, args...)}
}

func warning(code, file string, line int, format string, args ...any) Finding {
	return Finding{Warning, code, file, line, fmt.Sprintf(format, args...)}
}

func sortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code))
	})
}

// causeOf returns an error without the host's path in it.
func causeOf(err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		return onPath.Err
	}
	return err
}
