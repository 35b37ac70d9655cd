// Package sprint reads what a project keeps of its epics and stories, as people write it:
// several files, states in words and languages of their own, files that are no YAML.
// Nothing is ever written.
package sprint

import (
	"cmp"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// An Item is an epic, a story or a retrospective.
type Item struct {
	// Key is what the project calls it: 1-2-login, epic-1.
	Key string `json:"key"`
	// Kind is epic, story or retrospective.
	Kind string `json:"kind"`
	// State is as it is written, and Phase what that means, empty if nobody knows.
	State string `json:"state"`
	Phase Phase  `json:"phase"`
	// File and Line are where the state is.
	File string `json:"file"`
	Line int    `json:"line"`
	// Document is the story's own file, and DocumentState what that says of itself.
	Document      string `json:"document,omitempty"`
	DocumentState string `json:"document_state,omitempty"`
}

// A Board is all that is known of a project's work.
type Board struct {
	// Files are those that were read, and Items what they hold, in their order.
	Files []string `json:"files"`
	Items []Item   `json:"items"`
	// Notes say what does not fit together.
	Notes []string `json:"notes"`
}

// What a board is read from. Real projects stay below.
const (
	maxDepth = 6
	maxFiles = 5_000
	maxBytes = 4 << 20
)

var (
	statusFile = regexp.MustCompile(`(?i)sprint.*\.ya?ml$|^(?:story|stories|epic)[\w-]*status[\w-]*\.ya?ml$|^stories\.ya?ml$`)
	storyFile  = regexp.MustCompile(`(?i)^(?:story[-_. ]?)?(\d+)[-._](\d+[a-z]?)(?:[-._ ].*)?\.md$`)
	storyKey   = regexp.MustCompile(`(?i)^(?:story[-_. ]?|us[-_]?)?(\d+)[-._](\d+[a-z]?)(?:[-._ ].*)?$`)
	epicKey    = regexp.MustCompile(`(?i)^(?:epic|épica?|epopeya|эпик|史诗)[-_. ]?\S*`)
	retroKey   = regexp.MustCompile(`(?i)retro`)
	// statusKey names a state, holdsItems a map or list of what has states.
	statusKey  = regexp.MustCompile(`(?i)^(?:status|state|statut|état|estado|situação|статус|состояние|状态|zustand)$`)
	holdsItems = regexp.MustCompile(`(?i)status|stories|story|epics|sprint|items|tasks|histo|estado|истори|эпик|故事`)
	nameKeys   = []string{"key", "id", "story", "story_key", "name", "epic", "title", "slug"}
	keyValue   = regexp.MustCompile(`^\s*(?:-\s+)?["']?([\w.][\w. -]*?)["']?\s*:\s+["']?([^"'#]+?)["']?\s*(?:#.*)?$`)
	storyState = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:status|state|statut|estado|situação|статус|состояние|状态|zustand)\s*\**\s*[:：]\s*\**\s*(.+?)\s*\**\s*$`)
	stateBelow = regexp.MustCompile(`(?im)^#{1,4}\s*(?:status|statut|estado|статус|状态)\s*$\s*^[\s*_-]*(\S.*?)[\s*_]*$`)
)

// Read reads the work of a project from folders in it. A folder that is not there holds
// nothing; what cannot be read is noted.
func Read(project fs.FS, folders ...string) Board {
	b := Board{Files: []string{}, Items: []Item{}, Notes: []string{}}
	seen := map[string]bool{}
	var stories []string
	for _, folder := range folders {
		_ = fs.WalkDir(project, path.Clean(folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || len(seen) > maxFiles {
				return fs.SkipDir
			}
			if d.IsDir() && (strings.Count(name, "/") > maxDepth || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".troupe")) {
				return fs.SkipDir
			}
			if d.IsDir() || seen[name] {
				return nil
			}
			seen[name] = true
			switch {
			case statusFile.MatchString(d.Name()):
				b.readStatus(project, name)
			case storyFile.MatchString(d.Name()):
				stories = append(stories, name)
			}
			return nil
		})
	}
	slices.Sort(stories)
	for _, name := range stories {
		b.readStory(project, name)
	}
	return b
}

// text reads a file that is not too large.
func (b *Board) text(project fs.FS, name string) (string, bool) {
	info, err := fs.Stat(project, name)
	if err == nil && info.Size() > maxBytes {
		b.Notes = append(b.Notes, name+" is too large to be read")
		return "", false
	}
	data, err := fs.ReadFile(project, name)
	if err != nil {
		b.Notes = append(b.Notes, name+" cannot be read")
		return "", false
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), "\ufeff"), true
}

// readStatus reads a file with states.
func (b *Board) readStatus(project fs.FS, name string) {
	text, ok := b.text(project, name)
	if !ok {
		return
	}
	before := len(b.Items)
	root, _, err := laxyaml.Parse(1, []byte(text))
	if err != nil {
		b.Notes = append(b.Notes, name+" is no YAML; it is read line by line: "+err.Error())
		b.readLines(name, text)
	} else {
		b.collect(name, root, false)
	}
	if len(b.Items) > before || strings.Contains(path.Base(name), "status") {
		b.Files = append(b.Files, name)
	}
}

// collect finds what has a state, wherever it is. Inside says that all there is has one.
func (b *Board) collect(file string, n *yaml.Node, inside bool) {
	if n == nil || n.Kind == yaml.SequenceNode {
		for _, item := range laxyaml.Items(n) {
			if item.Kind == yaml.MappingNode {
				b.named(file, item)
				b.collect(file, item, false)
			}
		}
		return
	}
	for k, v := range laxyaml.Fields(n) {
		switch v.Kind {
		case yaml.ScalarNode:
			isKnown := storyKey.MatchString(k.Value) || epicKey.MatchString(k.Value) && PhaseOf(v.Value) != Unknown || retroKey.MatchString(k.Value)
			if (isKnown || inside && !statusKey.MatchString(k.Value)) && laxyaml.Scalar(v) != "" && !slices.Contains(nameKeys, k.Value) {
				b.add(file, k.Value, laxyaml.Scalar(v), k.Line)
			}
		case yaml.MappingNode:
			if state, line := stateOf(v); state != "" {
				b.add(file, k.Value, state, line)
			}
			_, hasState := stateOf(v)
			b.collect(file, v, holdsItems.MatchString(k.Value) && hasState == 0)
		case yaml.SequenceNode:
			b.collect(file, v, false)
		}
	}
}

// named adds an item of a list that says its name and its state.
func (b *Board) named(file string, n *yaml.Node) {
	state, line := stateOf(n)
	if state == "" {
		return
	}
	for _, key := range nameKeys {
		if name := laxyaml.Scalar(laxyaml.Field(n, key)); name != "" {
			b.add(file, name, state, line)
			return
		}
	}
}

// stateOf returns the state that a map has, and its line.
func stateOf(n *yaml.Node) (string, int) {
	for k, v := range laxyaml.Fields(n) {
		if statusKey.MatchString(k.Value) && v.Kind == yaml.ScalarNode {
			return laxyaml.Scalar(v), v.Line
		}
	}
	return "", 0
}

// readLines reads states from a file that is no YAML.
func (b *Board) readLines(file, text string) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		m := keyValue.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m != nil && (storyKey.MatchString(m[1]) || epicKey.MatchString(m[1])) {
			b.add(file, m[1], m[2], number)
		}
	}
}

// add adds an item, or notes that another file says something else of it.
func (b *Board) add(file, key, state string, line int) {
	kind := "story"
	switch {
	case retroKey.MatchString(key):
		kind = "retrospective"
	case epicKey.MatchString(key):
		kind = "epic"
	}
	for i := range b.Items {
		if other := &b.Items[i]; other.Key == key {
			switch {
			case PhaseOf(state) == Unknown && other.File == file:
				return // the same file says something else of it there: a tier, an owner
			case other.Phase == Unknown && other.File == file:
				other.State, other.Phase, other.Line = state, PhaseOf(state), line
				return
			}
			if other.Phase != PhaseOf(state) {
				b.Notes = append(b.Notes, key+" is "+other.State+" in "+at(other.File, other.Line)+" and "+state+" in "+at(file, line))
			}
			return
		}
	}
	b.Items = append(b.Items, Item{Key: key, Kind: kind, State: state, Phase: PhaseOf(state), File: file, Line: line})
}

func at(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// readStory reads what a story's own file says. 1-1 is not 1-10.
func (b *Board) readStory(project fs.FS, name string) {
	text, ok := b.text(project, name)
	if !ok {
		return
	}
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	state, line := "", 1
	for _, pattern := range []*regexp.Regexp{storyState, stateBelow} {
		if m := pattern.FindStringSubmatchIndex(text); m != nil {
			state, line = strings.Trim(text[m[2]:m[3]], "*_`\"' \r"), 1+strings.Count(text[:m[2]], "\n")
			break
		}
	}
	number := func(text string) string {
		if m := storyKey.FindStringSubmatch(text); m != nil {
			return m[1] + "." + m[2]
		}
		return text
	}
	found := -1
	for i := range b.Items {
		switch item := &b.Items[i]; {
		case strings.EqualFold(item.Key, stem):
			found = i
		case item.Kind == "story" && number(item.Key) == number(stem) && found < 0:
			found = i
		}
	}
	if found < 0 {
		b.Items = append(b.Items, Item{Key: stem, Kind: "story", State: state, Phase: PhaseOf(state), File: name, Line: line, Document: name, DocumentState: state})
		return
	}
	item := &b.Items[found]
	item.Document, item.DocumentState = name, state
	if phase := PhaseOf(state); state != "" && phase != item.Phase && item.Phase != Unknown && phase != Unknown {
		b.Notes = append(b.Notes, item.Key+" is "+item.State+" in "+at(item.File, item.Line)+" and "+state+" in "+at(name, line))
	}
}

// Next is the story to go on with: one under review, one in progress, or else the first
// that is ready or in the backlog. It is nil where all are done.
func (b *Board) Next() *Item {
	for _, phase := range []Phase{Review, InProgress, Ready, Draft, Backlog} {
		for i := range b.Items {
			if item := &b.Items[i]; item.Kind == "story" && item.Phase == phase {
				return item
			}
		}
	}
	return nil
}

// Count says how many stories are in each phase, by what is written where that is unknown.
func (b *Board) Count() map[string]int {
	count := map[string]int{}
	for _, item := range b.Items {
		if item.Kind == "story" {
			count[cmp.Or(string(item.Phase), item.State, "without a state")]++
		}
	}
	return count
}
