package rehearse

import (
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
)

// The results of a play.
const (
	Complete = "complete"
	DeadEnd  = "dead_end"
	Unbegun  = "not_written" // the bundle says that the command is yet to be written
	Early    = "ended_early" // it ended before its last step, or before its first step file
)

// A Report says how a command went.
type Report struct {
	Agent     string `json:"agent"`
	Command   string `json:"command"`
	Result    string `json:"result"`
	Steps     int    `json:"steps"`
	Questions int    `json:"questions"`
	// Read are the files that were loaded, Written those that were saved.
	Read    []string `json:"files_read"`
	Written []string `json:"files_written"`
	Tokens  Tokens   `json:"tokens"`
	// Why says how a command ended early.
	Why string `json:"why,omitempty"`
	// DeadEnds say what leads nowhere.
	DeadEnds []string `json:"dead_ends"`
	// Unreached are files that the command names and no step loaded.
	Unreached []string `json:"unreached"`
}

// Tokens are how large the context was, estimated.
type Tokens struct {
	// Start is what the first request held, End what the last one did.
	Start int `json:"start"`
	End   int `json:"end"`
	// UpFront is what the first request would hold if all files that the agent's
	// commands name, or were seen to load, came with it: see [Theatre.Settle].
	UpFront int `json:"up_front"`
	// Files are what each file, or workflow with what comes with it, has added, in the
	// order they were loaded.
	Files []FileTokens `json:"files"`
}

// FileTokens are what loading a file has added to the context.
type FileTokens struct {
	File string `json:"file"`
	// Added is how much the context grew with it, Context how large it was then.
	Added   int `json:"added"`
	Context int `json:"context"`
}

func newReport(agent string, c bundle.Command) Report {
	r := Report{Agent: agent, Command: c.Cmd, Result: Complete, Read: []string{}, Written: []string{}, DeadEnds: []string{}, Unreached: []string{}, Tokens: Tokens{Files: []FileTokens{}}}
	if c.Target == "todo" {
		r.Result = Unbegun
	}
	return r
}

// A play is a report in the making.
type play struct {
	Report
	definition *bundle.Definition
	command    bundle.Command
	files      *library
	asked      map[string]request // tool calls that have not returned, by id
	unsaved    map[string]string  // files that could not be saved, and why
	isDone     bool               // a workflow has said that it is complete
	loaded     string             // the file that was loaded since the model last replied
}

// A request is what a tool was asked for.
type request struct{ tool, path string }

func (p *play) dead(format string, args ...any) {
	p.Result = DeadEnd
	if text := strings.TrimSpace(fmt.Sprintf(format, args...)); !slices.Contains(p.DeadEnds, text) {
		p.DeadEnds = append(p.DeadEnds, text)
	}
}

// say follows one run and notes what it does.
func (p *play) say(events iter.Seq2[troupe.Event, error]) (end *troupe.RunFinished, session string, err error) {
	for e, err := range events {
		if err != nil {
			return nil, session, err
		}
		session = e.Session
		p.note(&e)
		if b, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
			end = b
		}
	}
	return end, session, nil
}

func (p *play) note(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.ContextLoaded:
		if file, ok := p.files.find(b.Source); ok {
			p.read(file)
		}
	case *troupe.ModelReplied:
		if p.Tokens.Start == 0 {
			p.Tokens.Start = b.Context.Total()
		}
		if p.loaded != "" {
			p.Tokens.Files = append(p.Tokens.Files, FileTokens{p.loaded, b.Context.Total() - p.Tokens.End, b.Context.Total()})
			p.loaded = ""
		}
		p.Tokens.End = b.Context.Total()
		if strings.Contains(b.Message.Text, "Not recognized:") && p.Questions == 0 {
			p.dead("the agent does not know its own command %s", p.Command)
		}
	case *troupe.ToolCalled:
		p.call(b)
	case *troupe.ToolReturned:
		p.outcome(b)
	case *troupe.ArtifactSaved:
		if !slices.Contains(p.Written, b.Path) {
			p.Written = append(p.Written, b.Path)
		}
	}
}

func (p *play) call(b *troupe.ToolCalled) {
	var paths struct {
		File     string `json:"file_path"`
		Workflow string `json:"workflow_path"`
	}
	_ = json.Unmarshal([]byte(b.Arguments), &paths) // other tools have other arguments
	if p.asked == nil {
		p.asked, p.unsaved = map[string]request{}, map[string]string{}
	}
	p.asked[b.CallID] = request{b.Tool, paths.File + paths.Workflow}
}

func (p *play) outcome(b *troupe.ToolReturned) {
	asked := p.asked[b.CallID]
	delete(p.asked, b.CallID)
	switch {
	case asked.tool == "save_output" && b.Class != "":
		p.unsaved[asked.path] = b.Error
	case asked.tool == "save_output":
		clear(p.unsaved) // it was saved in another place
	case asked.tool == "read_file" && b.Class == "not_found" && p.isDocument(asked.path):
		// nobody has written it yet: the rehearsal says what that means
	case b.Class != "":
		p.dead("%s: %s", asked.tool, b.Error)
	case asked.tool == "execute_workflow":
		for i, file := range p.files.ofWorkflow(asked.path) {
			p.read(file)
			if i == 0 {
				p.loaded = file
			}
		}
	case asked.tool == "read_file":
		p.found(asked.path)
		p.loaded = p.located(asked.path)
		p.read(p.loaded)
	}
}

// isDocument says whether a path is in a folder for documents.
func (p *play) isDocument(name string) bool {
	return slices.ContainsFunc(p.definition.Parent().DocumentFolders(), func(folder string) bool { return strings.HasPrefix(name, folder+"/") })
}

// found takes back that a file leads nowhere: it was found by the name that a text has
// for it.
func (p *play) found(name string) {
	p.DeadEnds = slices.DeleteFunc(p.DeadEnds, func(text string) bool {
		return strings.HasPrefix(text, "read_file: ") && strings.HasSuffix(text, "/"+path.Base(name)+": not found")
	})
	if len(p.DeadEnds) == 0 && p.Result == DeadEnd {
		p.Result = Complete
	}
}

// located returns the file that a path means: by itself, or seen from the files that were
// read before, whose variables it may have and whose neighbour it may be.
func (p *play) located(name string) string {
	if file, ok := p.files.find(name); ok {
		return file
	}
	rest := name
	if strings.HasPrefix(name, "{") {
		_, rest, _ = strings.Cut(name, "/")
	}
	for _, file := range slices.Backward(p.Read) {
		for _, dir := range []string{path.Dir(file), path.Dir(path.Dir(file))} {
			if at := path.Join(dir, rest); p.files.isFile(at) {
				return at
			}
		}
	}
	return name
}

func (p *play) read(file string) {
	if !slices.Contains(p.Read, file) {
		p.Read = append(p.Read, file)
		p.files.add(file)
	}
}

// closing is how a rehearsal says that a workflow was played to its end.
var (
	closing = regexp.MustCompile(`(?m)^\[rehearsal\] .* is complete \(steps: (\d+),`)
	early   = regexp.MustCompile(`(?m)^\[rehearsal\] .* ended early, (.*) \(steps: (\d+),`)
)

// finish judges the play by its last words.
func (p *play) finish(lastWords string) {
	for _, m := range closing.FindAllStringSubmatch(lastWords, -1) {
		p.Steps, _ = strconv.Atoi(m[1]) // digits, few
		p.isDone = true
	}
	for _, m := range early.FindAllStringSubmatch(lastWords, -1) {
		p.Steps, _ = strconv.Atoi(m[2])
		p.isDone = true
		p.Result, p.Why = Early, m[1]
	}
	if p.command.IsWorkflow() && !p.isDone && len(p.DeadEnds) == 0 && p.Result != Unbegun {
		p.dead("it stops without an end")
	}
	for _, why := range p.unsaved {
		p.dead("save_output: %s", why)
	}
	if p.Result == Complete || p.Result == Early {
		p.Unreached = append(p.Unreached, p.files.unreached(p.command, p.Read)...)
	}
	if p.Result == Complete && slices.ContainsFunc(p.Unreached, isStepFile) && !slices.ContainsFunc(p.Read, isStepFile) {
		p.Result, p.Why = Early, "none of its step files was read"
	}
}

func isStepFile(file string) bool { return strings.HasPrefix(path.Base(file), "step-") }

// Failed is the report of an agent that could not even be read.
func Failed(agent string, err error) Report {
	p := play{Report: newReport(agent, bundle.Command{})}
	p.dead("%v", err)
	return p.Report
}
