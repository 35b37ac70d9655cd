package bundle

import (
	"errors"
	"fmt"
	"maps"
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
	// lenient loads are steps of an activation: its author has said there what is to be
	// done if the file is missing.
	lenient bool
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
	// many says that the path is a pattern, and all files that it matches are meant.
	many bool
}

// loading recognises an action that loads a file: an optional CRITICAL: or STEP 3:,
// then Load, then at once a path with an extension. "Load the fragments from x/" or
// "Consult x.csv and load what is needed" are for the model to carry out.
var loading = regexp.MustCompile("(?is)^(?:(?:critical|step \\d+):\\s*)*load(?:\\s+into memory|\\s+(?:the )?complete file|\\s+and read)?\\s+[`'\"]?([^\\s`'\"]+)[`'\"]?(.*)$")

// loadingNow recognises the line with which an installer makes agents load their
// config: "- Load and read {project-root}/bmad/bmm/config.yaml NOW".
var loadingNow = regexp.MustCompile("(?im)^\\s*-? *load and read +[`'\"]?([^\\s`'\"]+)[`'\"]? +now\\b")

// loadingSoon recognises a step that loads the config among other things.
var loadingSoon = regexp.MustCompile("(?is)\\bload(?:\\s+and\\s+read)?\\s+[`'\"]?(\\S+config\\.ya?ml)\\b")

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
	return strings.Contains(text, "from this current") || strings.Contains(text, "this entire file")
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
	// Missing is the file that is not there, as its author names it; empty where something
	// else is wrong.
	Missing string
}

// Error begins with the words that scripts and people look for.
func (e *CriticalError) Error() string {
	instruction, _, _ := strings.Cut(strings.TrimSpace(e.Instruction), "\n")
	if _, rest, ok := strings.Cut(e.Instruction, "Load "); ok && instruction != e.Instruction {
		rest, _, _ = strings.Cut(rest, "\n")
		instruction = "Load " + rest // the line of many that says what
	}
	return fmt.Sprintf("Critical action failed: %s: %v", instruction, e.Err)
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
	seen := map[string]bool{} // files that were told of
	size := 0
	for _, action := range d.Critical {
		instruction := action.Text
		if action.Load != nil {
			loaded, texts, err := d.carryOut(ws, action)
			switch {
			case err == nil:
				ws = loaded
				for _, m := range texts {
					if !seen[m.source] {
						told = append(told, m)
					}
					seen[m.source] = true
				}
			case d.canDoWithout(action, err):
				instruction += " (It is not available.)"
				switch {
				case isMemory(action.Load.Path):
					told = append(told, message{"critical instruction", "[Critical Action] Nothing is written in " + action.Load.Path + " yet. It is yours to write."})
				case action.lenient && !action.Load.Optional:
					told = append(told, message{"critical instruction", "[Critical Action] Not available: " + action.Load.Path + ". Do with it what your activation says, and ask the user for what you need of it."})
				}
			default:
				if isAbsent(err) && action.lenient {
					err = fmt.Errorf("%w; install BMAD again, or write the file with user_name, communication_language and output_folder", err)
				}
				failure := &CriticalError{Instruction: action.Text, Err: err}
				if isAbsent(err) {
					failure.Missing = action.Load.Path
				}
				return nil, nil, failure
			}
			if action.implied || action.lenient || action.Load.many || isMemory(action.Load.Path) || err == nil && !action.Load.more {
				continue
			}
		}
		text, _, err := ws.Vars().Expand(d.bundle.here(instruction))
		if size += len(text); err == nil && size > maxCritical {
			err = fmt.Errorf("more than %d bytes of instructions: %w", maxCritical, workspace.ErrTooLarge)
		}
		if err != nil {
			return nil, nil, &CriticalError{Instruction: action.Text, Err: err}
		}
		told = append(told, message{"critical instruction", "[Critical Instruction] " + text})
	}
	return ws, told, nil
}

// canDoWithout says whether an agent starts without the file of an action. A config that
// an activation insists on is not one, unless the agent is of a version that knows what
// to do without, or is all that an editor has of an installation that is gone.
func (d *Definition) canDoWithout(action CriticalAction, err error) bool {
	switch {
	case !isAbsent(err):
		return false
	case action.Load.many || isMemory(action.Load.Path):
		return true
	case action.lenient:
		return action.Load.Optional || !isConfig(action.Load.Path) || d.Format == FormatV4 || d.IsForEditor()
	}
	return action.Load.Optional && errors.Is(err, workspace.ErrNotFound)
}

// isAbsent says whether a file is not there, or lies in a project that is not granted.
func isAbsent(err error) bool {
	return errors.Is(err, workspace.ErrNotFound) || errors.Is(err, workspace.ErrDenied)
}

// isMemory says whether a path is that of something the agent writes down for itself,
// which is not there until it has.
func isMemory(name string) bool {
	return strings.Contains(name, "-sidecar/") || strings.Contains(name, "/_memory/") || strings.Contains(name, "memory/")
}

// maxCritical bounds a file that every conversation begins with, and all the
// instructions together, in bytes.
const maxCritical = 512 << 10

// carryOut loads the file of an action, or those that its pattern matches.
func (d *Definition) carryOut(ws *workspace.Workspace, action CriticalAction) (*workspace.Workspace, []message, error) {
	if action.Load.many {
		return d.loadAll(ws, d.bundle.here(action.Load.Path))
	}
	loc, text, err := d.loadOne(ws, d.bundle.herePath(action.Load.Path))
	if isAbsent(err) {
		if other, found, otherErr := d.instead(ws, action); otherErr == nil {
			loc, text, err = other, found, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if isConfig(loc.Name()) {
		values, _, err := d.bundle.configValues(loc.String(), text)
		if err != nil && !action.lenient && !action.implied {
			return nil, nil, err
		}
		values = maps.Clone(values)
		if err != nil { // the model can make sense of what is no YAML, and lint says what is wrong
			values = map[string]string{}
		}
		// What is laid over the file goes before it.
		settings, _ := d.bundle.settings(ws)
		for _, s := range settings {
			if strings.HasSuffix(s.File, ".toml") || values[s.Name] == projectPrefix+s.Value {
				values[s.Name] = s.Value
			}
		}
		ws = ws.With(ws.Vars().WithConfig(values))
		if action.implied {
			return ws, nil, nil // the prompt says what it sets
		}
	}
	return ws, []message{{loc.String(), "[Critical Action] Loaded file: " + loc.String() + "\n\n" + text}}, nil
}

func (d *Definition) loadOne(ws *workspace.Workspace, name string) (workspace.Location, string, error) {
	loc, err := ws.Resolve(name)
	if err != nil {
		return loc, "", err
	}
	text, err := ws.ReadText(loc, 0, maxCritical)
	if err == nil && text.Truncated() {
		err = fmt.Errorf("read %s: %w", loc, workspace.ErrTooLarge)
	}
	return loc, text.Content, err
}

// instead finds a config file that is not where an agent says: upstream has named its
// folders in different ways, and a module without a config of its own has the core's.
// What an author gave to a memory lies beside the agent, or with the installer's copies.
func (d *Definition) instead(ws *workspace.Workspace, action CriticalAction) (workspace.Location, string, error) {
	name := action.Load.Path
	base := path.Base(name)
	var candidates []string
	switch {
	case isConfig(base) && (action.lenient || action.implied):
		for _, root := range []string{workspace.BundleRoot, "root", workspace.CoreRoot} {
			candidates = append(candidates, "{"+root+"}/"+base)
		}
		candidates = append(candidates, "{"+bmadRoot+"}/bmm/"+base, "{"+bmadRoot+"}/core/"+base)
	case isMemory(name):
		if _, rest, ok := strings.Cut(name, "-sidecar/"); ok {
			folder := path.Base(strings.TrimSuffix(name, "/"+rest)) // x-sidecar
			agent := strings.TrimSuffix(folder, "-sidecar")
			for _, dir := range []string{"agents/" + agent + "/" + folder, "agents/" + folder, folder} {
				candidates = append(candidates, "{"+workspace.BundleRoot+"}/"+dir+"/"+rest)
			}
			for _, config := range []string{"_cfg", "_config"} {
				candidates = append(candidates, "{"+bmadRoot+"}/"+config+"/custom/"+d.bundle.Name+"/agents/"+agent+"/"+folder+"/"+rest)
			}
			candidates = append(candidates, "{"+bmadRoot+"}/_memory/"+folder+"/"+rest)
		}
	}
	for _, candidate := range candidates {
		if loc, text, err := d.loadOne(ws, candidate); err == nil {
			return loc, text, nil
		}
	}
	return workspace.Location{}, "", workspace.ErrNotFound
}

// maxFacts bounds the files that a pattern in an activation loads.
const maxFacts = 20

// loadAll loads the files that a pattern matches. There need not be any.
func (d *Definition) loadAll(ws *workspace.Workspace, pattern string) (*workspace.Workspace, []message, error) {
	found, err := ws.Glob(pattern)
	if err != nil {
		return nil, nil, err
	}
	var told []message
	size := 0
	for _, loc := range found[:min(len(found), maxFacts)] {
		text, err := ws.ReadText(loc, 0, maxCritical)
		if err != nil || text.Binary {
			continue
		}
		if size += len(text.Content); size > maxCritical {
			break
		}
		told = append(told, message{loc.String(), "[Critical Action] Loaded file: " + loc.String() + "\n\n" + text.Content})
	}
	return ws, told, nil
}

// isConfig says whether a file is read for the variables in it.
func isConfig(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, "config.yaml") || strings.HasSuffix(base, "config.yml")
}
