package bundle

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe/workspace"
)

// A CriticalAction is what an agent must do before the user first speaks: load a
// file, or keep an instruction in mind.
type CriticalAction struct {
	// Text is as written.
	Text string
	Line int
	// Load is nil for an instruction.
	Load *Load

	implied bool // by the format, not written in the file
}

// A Load is the file that a [CriticalAction] loads.
type Load struct {
	Path string
	// Variables are those the action says it sets; a config file sets all it has.
	Variables []string
	// Optional files may be missing: the text says "if available" or the like.
	Optional bool
	// more says that the text goes on to say what to do with the file.
	more bool
}

// loading recognises an action that loads a file: an optional CRITICAL: or STEP 3:,
// then Load, then at once a path with an extension. "Load the fragments from x/" or
// "Consult x.csv and load what is needed" are for the model to carry out.
var loading = regexp.MustCompile("(?is)^(?:(?:critical|step \\d+):\\s*)*load(?:\\s+into memory|\\s+(?:the )?complete file|\\s+and read)?\\s+[`'\"]?([^\\s`'\"]+)[`'\"]?(.*)$")

// loadingNow recognises the line with which an installer makes agents load their
// config: "- Load and read {project-root}/bmad/bmm/config.yaml NOW".
var loadingNow = regexp.MustCompile("(?im)^\\s*-? *load and read +[`'\"]?([^\\s`'\"]+)[`'\"]? +now\\b")

var (
	optional  = regexp.MustCompile(`(?i)\b(?:if|when)(?: it| one)?(?: is)? (?:available|present|exists)\b|\(optional\)`)
	variables = regexp.MustCompile(`(?i)\bset variables?:?\s+(\w+(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)\w+)*)`)
	separator = regexp.MustCompile(`\s*,\s*(?:and\s+)?|\s+and\s+`)
	directive = regexp.MustCompile(`(?i)\b(?:follow|obey|apply|use|treat|adhere)\b`)
)

// newCriticalAction reads an action's text.
func newCriticalAction(text string, line int) CriticalAction {
	action := CriticalAction{Text: text, Line: line}
	if m := loadingNow.FindStringSubmatch(text); m != nil && isLoadable(m[1]) {
		action.Load = &Load{Path: m[1]}
		return action
	}
	m := loading.FindStringSubmatch(text)
	if m == nil {
		return action
	}
	name := strings.TrimRight(m[1], ".,;:")
	if !isLoadable(name) {
		return action
	}
	action.Load = &Load{Path: name, Optional: optional.MatchString(m[2]), more: directive.MatchString(m[2])}
	if set := variables.FindStringSubmatch(m[2]); set != nil {
		action.Load.Variables = separator.Split(set[1], -1)
	}
	return action
}

// isLoadable says whether a word is the path of one file.
func isLoadable(s string) bool {
	return hasExtension(s) && !strings.ContainsAny(s, "*?") && !strings.Contains(s, "://")
}

// isAboutOwnFile recognises the instruction to read the very file it is in, whose
// content the model is told anyway.
func isAboutOwnFile(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "this current agent file") || strings.Contains(text, "this entire file")
}

// moduleConfig is the first action of every agent that an installer would compile.
func moduleConfig() CriticalAction {
	const config = "{" + workspace.BundleRoot + "}/config.yaml"
	return CriticalAction{Text: "Load into memory " + config + " if it exists", Load: &Load{Path: config, Optional: true}, implied: true}
}

// A CriticalError is a critical action that could not be carried out. The agent
// does not start.
type CriticalError struct {
	Instruction string
	Err         error
}

// Error begins with the words that scripts and people look for.
func (e *CriticalError) Error() string {
	return fmt.Sprintf("Critical action failed: %s: %v", e.Instruction, e.Err)
}

func (e *CriticalError) Unwrap() error { return e.Err }

// A message is something the model is told before the user speaks.
type message struct {
	source, text string
}

// perform carries out the critical actions in order. What config files set is in
// the variables of the workspace that it returns, and already in the actions that
// follow. The error is a *CriticalError.
func (d *Definition) perform(ws *workspace.Workspace) (*workspace.Workspace, []message, error) {
	var told []message
	size := 0
	for _, action := range d.Critical {
		instruction := action.Text
		if action.Load != nil {
			loaded, text, err := d.carryOut(ws, action.Load)
			missing := errors.Is(err, workspace.ErrNotFound)
			switch {
			case err == nil:
				ws = loaded
				told = append(told, text)
			case missing && action.Load.Optional:
				instruction += " (It is not available.)"
			default:
				return nil, nil, &CriticalError{action.Text, err}
			}
			if action.implied || err == nil && !action.Load.more {
				continue
			}
		}
		text, _, err := ws.Vars().Expand(d.bundle.here(instruction))
		if size += len(text); err == nil && size > maxCritical {
			err = fmt.Errorf("more than %d bytes of instructions: %w", maxCritical, workspace.ErrTooLarge)
		}
		if err != nil {
			return nil, nil, &CriticalError{action.Text, err}
		}
		told = append(told, message{"critical instruction", "[Critical Instruction] " + text})
	}
	return ws, told, nil
}

// maxCritical bounds a file that every conversation begins with, and all the
// instructions together, in bytes.
const maxCritical = 512 << 10

func (d *Definition) carryOut(ws *workspace.Workspace, load *Load) (*workspace.Workspace, message, error) {
	loc, err := ws.Resolve(d.bundle.here(load.Path))
	if err != nil {
		return nil, message{}, err
	}
	text, err := ws.ReadText(loc, 0, maxCritical)
	if err == nil && text.Truncated() {
		err = fmt.Errorf("read %s: %w", loc, workspace.ErrTooLarge)
	}
	if err != nil {
		return nil, message{}, err
	}
	if isConfig(loc.Name()) {
		values, err := d.bundle.configValues(loc.String(), text.Content)
		if err != nil {
			return nil, message{}, err
		}
		ws = ws.With(ws.Vars().WithConfig(values))
	}
	return ws, message{loc.String(), "[Critical Action] Loaded file: " + loc.String() + "\n\n" + text.Content}, nil
}

// isConfig says whether a file is read for the variables in it.
func isConfig(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, "config.yaml") || strings.HasSuffix(base, "config.yml")
}
