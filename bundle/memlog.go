package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/workspace"
)

// memlogFile is where a skill of later versions writes down how its work went.
const memlogFile = ".memlog.md"

type memlogRequest struct {
	Action    string            `json:"action" jsonschema:"init, append or set"`
	Workspace string            `json:"workspace" jsonschema:"the folder of the run, such as {planning_artifacts}/prds/prd-x"`
	Fields    map[string]string `json:"fields,omitempty" jsonschema:"for init: what stands at the top"`
	Type      string            `json:"type,omitempty" jsonschema:"for append: decision, event, assumption and the like"`
	By        string            `json:"by,omitempty" jsonschema:"for append: who said it"`
	Text      string            `json:"text,omitempty" jsonschema:"for append: the entry"`
	Key       string            `json:"key,omitempty" jsonschema:"for set: the field"`
	Value     string            `json:"value,omitempty" jsonschema:"for set: what it is"`
}

const memlogDescription = `Keeps the .memlog.md of a run's folder, as the script memlog.py does: init begins it with fields, append adds one line to its end, set changes a field. Where instructions say to run memlog.py, call this.`

// memlog returns the tool of that name.
func (s *sessions) memlog(save troupe.Tool) troupe.Tool {
	return newTool("memlog", memlogDescription, func(ctx context.Context, call *troupe.Invocation, in memlogRequest) (any, error) {
		x, err := s.enterLinked(ctx, call)
		if err != nil {
			return nil, failure(err, "")
		}
		defer s.leave(x)
		name := path.Join(s.agent.bundle.herePath(strings.TrimSpace(in.Workspace)), memlogFile)
		old, isThere := x.textOf(name)
		l, err := changeMemlog(old, isThere, in, time.Now())
		if err != nil {
			return nil, files.Failure("invalid_arguments", err, err.Error(), name)
		}
		arguments, err := json.Marshal(map[string]string{"file_path": name, "content": l.String()})
		if err != nil {
			return nil, err
		}
		x.hasRead(arguments)
		saving := *call
		saving.Arguments = arguments
		if _, err := save.Call(ctx, &saving); err != nil {
			return nil, err
		}
		return map[string]any{"ok": true, "memlog": name, "entries": len(l.entries)}, nil
	}, troupe.Sequential())
}

// textOf reads a document, if there is one.
func (x *session) textOf(name string) (string, bool) {
	ws := x.workspace()
	loc, err := ws.Resolve(name)
	if err != nil {
		return "", false
	}
	text, err := ws.ReadFile(loc)
	return text, err == nil || !errors.Is(err, workspace.ErrNotFound)
}

// A memlog is the log of a run: fields, then one line for each entry.
type memlog struct {
	keys, values []string
	entries      []string
}

// changeMemlog returns the log after what was asked for.
func changeMemlog(old string, isThere bool, in memlogRequest, now time.Time) (*memlog, error) {
	if strings.TrimSpace(in.Workspace) == "" {
		return nil, errors.New("workspace is needed: the folder of the run")
	}
	l := readMemlog(old)
	switch in.Action {
	case "init":
		if isThere {
			return nil, errors.New("it already exists; use append or set to update it")
		}
		for _, key := range sortedKeys(in.Fields) {
			l.set(key, in.Fields[key])
		}
	case "append":
		if strings.TrimSpace(in.Text) == "" {
			return nil, errors.New("text is needed: the entry")
		}
		// The same again is the same call, made once more after a crash.
		if entry := entryOf(in); len(l.entries) == 0 || l.entries[len(l.entries)-1] != entry {
			l.entries = append(l.entries, entry)
		}
	case "set":
		if strings.TrimSpace(in.Key) == "" {
			return nil, errors.New("key is needed: the field")
		}
		l.set(in.Key, in.Value)
	default:
		return nil, fmt.Errorf("action is init, append or set, not %.20q", in.Action)
	}
	l.set("updated", now.Format("2006-01-02T15:04"))
	return l, nil
}

// entryOf is an entry on one line: (decision by user) text.
func entryOf(in memlogRequest) string {
	text := oneLine(in.Text)
	kind, by := oneLine(in.Type), oneLine(in.By)
	switch {
	case kind != "" && by != "":
		return "(" + kind + " by " + by + ") " + text
	case kind != "":
		return "(" + kind + ") " + text
	case by != "":
		return "(by " + by + ") " + text
	}
	return text
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// readMemlog reads a log. What is not an entry stays where it is.
func readMemlog(text string) *memlog {
	l := &memlog{}
	rest, ok := strings.CutPrefix(text, "---\n")
	if top, body, found := strings.Cut(rest, "\n---"); ok && found {
		for line := range strings.Lines(top) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				l.set(key, strings.TrimSpace(value))
			}
		}
		text = strings.TrimPrefix(body, "\n")
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			l.entries = append(l.entries, strings.TrimPrefix(line, "- "))
		}
	}
	return l
}

// set gives a field a value; when it was last updated stays last.
func (l *memlog) set(key, value string) {
	key, value = oneLine(key), oneLine(value)
	if i := slices.Index(l.keys, key); i >= 0 {
		l.values[i] = value
		return
	}
	at := len(l.keys)
	if at > 0 && l.keys[at-1] == "updated" {
		at--
	}
	l.keys, l.values = slices.Insert(l.keys, at, key), slices.Insert(l.values, at, value)
}

func (l *memlog) String() string {
	var b strings.Builder
	b.WriteString("---\n")
	for i, key := range l.keys {
		fmt.Fprintf(&b, "%s: %s\n", key, l.values[i])
	}
	b.WriteString("---\n")
	for i, entry := range l.entries {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString("- " + entry + "\n")
	}
	return b.String()
}
