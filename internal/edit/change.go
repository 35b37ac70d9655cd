package edit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The kinds of changes.
const (
	TypeEdit   = "edit"
	TypeFile   = "file"
	TypeDelete = "delete"
	TypeRename = "rename"
)

// What an answer may hold.
const (
	MaxFile  = 1 << 20 // bytes of a file
	MaxFiles = 200     // files of an answer
)

// A Change is what an agent wants done to one file.
type Change struct {
	Name    string `json:"name,omitempty"`
	Path    string `json:"path"`
	Type    string `json:"type"`
	To      string `json:"to,omitempty"`
	Content string `json:"content,omitempty"`
	Mode    string `json:"mode,omitempty"`
	Edits   []Edit `json:"edits,omitempty"`
	// Reason is why, where the rules ask for one.
	Reason string `json:"reason,omitempty"`
	// Broken says what of the change could not be read.
	Broken string `json:"broken,omitempty"`
}

// UnmarshalJSON reads a change as an agent writes it. What cannot be read is told in
// Broken, so that the others are not lost.
func (c *Change) UnmarshalJSON(data []byte) error {
	var raw struct {
		Name, Path, Type, To, Mode, Reason, Broken string
		Content                                    json.RawMessage
		Edits                                      []json.RawMessage
		Metadata                                   struct{ Reason string }
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		c.Broken = "not an artifact: " + err.Error()
		return nil
	}
	*c = Change{Name: raw.Name, Path: raw.Path, Type: strings.ToLower(raw.Type), To: raw.To, Mode: raw.Mode, Reason: raw.Reason, Broken: raw.Broken}
	if c.Reason == "" {
		c.Reason = raw.Metadata.Reason
	}
	if raw.Content != nil && json.Unmarshal(raw.Content, &c.Content) != nil {
		c.Broken = "content is not a text"
	}
	for i, one := range raw.Edits {
		var e Edit
		if err := json.Unmarshal(one, &e); err != nil {
			c.Broken = fmt.Sprintf("edit %d: %v", i+1, err)
			break
		}
		c.Edits = append(c.Edits, e)
	}
	switch {
	case c.Type == "" && c.Edits != nil:
		c.Type = TypeEdit
	case c.Type == "":
		c.Type = TypeFile
	}
	return nil
}

// A File is a file as it is before the changes.
type File struct {
	Content string
	Mode    string // "100644", "100755" or "120000"
}

// A Tree is what the changes are made to.
type Tree interface {
	// File returns a file, and false where there is none.
	File(path string) (File, bool, error)
	// Ignored reports whether the repository ignores a path that it does not hold.
	Ignored(path string) (bool, error)
	// Paths are those of all files.
	Paths() []string
}

// A Write is what becomes of one path.
type Write struct {
	Path    string
	Content string
	Mode    string
	Delete  bool
}

// Rules are what a change must keep to.
type Rules struct {
	// Protected are patterns of paths that no agent may change.
	Protected []string
	// Shown reports whether the agent knows the whole of a file as it is.
	Shown func(path, content string) bool
	// Made are files that the agent itself made in this piece of work: a test among them
	// is not one that was there.
	Made []string
}

// A Plan is what changes come to.
type Plan struct {
	Writes   []Write
	Notes    []string
	Problems []Problem
	// Fits are the paths of the changes that could be made.
	Fits []string
	// Sensitive are changes to tests that were there and to what defines the checks,
	// with their reasons.
	Sensitive []string
}

// Make works out what changes come to. It touches nothing: whoever calls it writes
// all of it, or nothing where there are problems.
func Make(tree Tree, changes []Change, rules Rules) (*Plan, error) {
	m := &making{tree: tree, rules: rules, Plan: &Plan{}}
	if len(changes) > MaxFiles {
		m.Problems = append(m.Problems, Problem{"the answer", fmt.Sprintf("it changes %d files; %d are allowed. Set outputs.more to true and send the rest next.", len(changes), MaxFiles),
			fmt.Sprintf("it changes %d files at once; %d are allowed", len(changes), MaxFiles)})
		return m.Plan, nil
	}
	taken := map[string]bool{}
	changes, edits := ofRenamed(changes)
	for _, c := range changes {
		if taken[c.Path] {
			m.explain(c.Path, "it is there twice. Put all edits of a file into one artifact.", "it was changed twice at once")
			continue
		}
		taken[c.Path] = true
		before := len(m.Problems)
		if err := m.change(c); err != nil {
			return nil, err
		}
		if len(m.Problems) == before {
			m.Fits = append(m.Fits, c.Path)
		}
		for _, e := range edits[c.Path] {
			m.editRenamed(c, e)
		}
	}
	m.twins()
	return m.Plan, nil
}

// ofRenamed takes the edits of files that are renamed out of changes, by the path of the rename. They
// may name such a file as it was called or as it is called then.
func ofRenamed(changes []Change) (others []Change, edits map[string][]Change) {
	renames := map[string]string{}
	for _, c := range changes {
		if c.Type == TypeRename && c.Broken == "" && c.Path != c.To {
			renames[c.Path], renames[c.To] = c.Path, c.Path
		}
	}
	edits = map[string][]Change{}
	for _, c := range changes {
		if rename, ok := renames[c.Path]; ok && c.Type == TypeEdit && c.Broken == "" {
			edits[rename] = append(edits[rename], c)
		} else {
			others = append(others, c)
		}
	}
	return others, edits
}

// editRenamed changes a file further that is renamed, if it can be.
func (m *making) editRenamed(rename, c Change) {
	i := slices.IndexFunc(m.Writes, func(w Write) bool { return w.Path == rename.To })
	if i < 0 {
		return
	}
	before := len(m.Problems)
	if m.hasEdits(c) {
		if text, ok := m.edited(c, m.Writes[i].Content); ok && m.mayHold(c.Path, text) {
			m.Writes[i].Content, m.Writes[i].Mode = text, modeOf(c.Mode, m.Writes[i].Mode)
		}
	}
	fits, hasOldName := len(m.Problems) == before, c.Path == rename.Path
	switch {
	case fits && !hasOldName:
		m.Fits = append(m.Fits, c.Path)
	case !fits && hasOldName: // the two have one path, by which neither is held alone
		m.Fits = slices.DeleteFunc(m.Fits, func(path string) bool { return path == c.Path })
		m.Problems[len(m.Problems)-1].Message += fmt.Sprintf("\nSend the rename to %s again with its edits.", rename.To)
	}
}

// making is a plan in the making.
type making struct {
	tree  Tree
	rules Rules
	*Plan
}

// refuse notes a problem that agents and people are told in the same words.
func (m *making) refuse(path, message string) {
	m.explain(path, message, strings.TrimSuffix(message, "."))
}

// explain notes a problem in the words for the agent and in those for people.
func (m *making) explain(path, message, plain string) {
	m.Problems = append(m.Problems, Problem{path, message, plain})
}

func (m *making) change(c Change) error {
	if c.Broken != "" {
		m.explain(c.Path, c.Broken+".", "the change could not be read")
		return nil
	}
	targets := []string{c.Path}
	if c.Type == TypeRename {
		targets = append(targets, c.To)
	}
	for _, target := range targets {
		if ok, err := m.mayChange(target); !ok || err != nil {
			return err
		}
	}
	old, exists, err := m.tree.File(c.Path)
	if err != nil {
		return err
	}
	if exists && old.Mode == "120000" && c.Type != TypeDelete {
		m.refuse(c.Path, "it is a symbolic link, which is not followed.")
		return nil
	}
	if exists && old.Mode == "160000" {
		m.refuse(c.Path, "it is a submodule, which is left as it is.")
		return nil
	}
	switch c.Type {
	case TypeEdit:
		m.edit(c, old, exists)
	case TypeFile:
		m.file(c, old, exists)
	case TypeDelete:
		m.remove(c, old, exists)
	case TypeRename:
		return m.rename(c, old, exists)
	default:
		m.explain(c.Path, fmt.Sprintf("type %.40q is none of edit, file, delete and rename.", c.Type), "it is not clear what was to be done with it")
	}
	return nil
}

func (m *making) missing(c Change) {
	near := Nearest(m.tree.Paths(), c.Path)
	text := "there is no such file."
	if len(near) > 0 {
		text += " Nearest: " + strings.Join(near, ", ") + "."
	}
	if c.Type == TypeEdit {
		text += ` A new file has the type "file" and its whole content.`
	}
	m.explain(c.Path, text, "there is no such file")
}

func (m *making) edit(c Change, old File, exists bool) {
	switch {
	case !exists:
		m.missing(c)
		return
	case !m.hasEdits(c):
		return
	case !IsText(old.Content):
		m.refuse(c.Path, "it is binary.")
		return
	}
	if text, ok := m.edited(c, old.Content); ok && (onlyDependencies(c.Path, old.Content, text) || m.sensitive(c)) {
		m.write(c.Path, text, modeOf(c.Mode, old.Mode))
	}
}

func (m *making) hasEdits(c Change) bool {
	if len(c.Edits) == 0 {
		m.explain(c.Path, `an artifact of the type "edit" needs edits.`, "it was not said what to change in it")
	}
	return len(c.Edits) > 0
}

// edited is what edits make of a text, where all of them fit.
func (m *making) edited(c Change, text string) (string, bool) {
	text, notes, misfits := Apply(text, c.Edits)
	for _, misfit := range misfits {
		m.explain(c.Path, fmt.Sprintf("edit %d: %s", misfit.Edit, misfit.Message), misfit.Plain)
	}
	if misfits != nil {
		return "", false
	}
	for _, note := range notes {
		m.Notes = append(m.Notes, c.Path+", "+note)
	}
	return text, true
}

func (m *making) file(c Change, old File, exists bool) {
	content := c.Content
	if exists {
		switch {
		case !m.rules.Shown(c.Path, old.Content):
			m.explain(c.Path, `the file exists, and you have not seen all of it as it is now. Read it whole first, or use the type "edit".`, "it was about to be replaced without having been read whole")
			return
		case !onlyDependencies(c.Path, old.Content, content) && !m.sensitive(c):
			return
		case c.Reason == "" && lineCount(content)*2 < lineCount(old.Content):
			m.explain(c.Path, fmt.Sprintf(`it would lose more than half of its %d lines. Use the type "edit", or say why in metadata.reason.`, lineCount(old.Content)),
				fmt.Sprintf("it would have lost more than half of its %d lines, and no reason was given", lineCount(old.Content)))
			return
		}
		content = keepForm(content, old.Content)
	}
	if place := placeholder(content, old.Content); place != "" {
		m.explain(c.Path, fmt.Sprintf(`it leaves something out: %q. Send the whole content, or use the type "edit".`, place), fmt.Sprintf("only a part of it was written: %q", place))
		return
	}
	m.write(c.Path, content, modeOf(c.Mode, old.Mode))
}

func (m *making) remove(c Change, old File, exists bool) {
	if !exists {
		m.missing(c)
		return
	}
	if m.sensitive(c) {
		m.Writes = append(m.Writes, Write{Path: c.Path, Delete: true})
	}
}

func (m *making) rename(c Change, old File, exists bool) error {
	if !exists {
		m.missing(c)
		return nil
	}
	_, taken, err := m.tree.File(c.To)
	if err != nil {
		return err
	}
	if taken {
		m.refuse(c.Path, fmt.Sprintf("%s exists already.", c.To))
		return nil
	}
	if !m.sensitive(c) || !m.sensitive(Change{Path: c.To, Type: c.Type, Reason: c.Reason}) {
		return nil
	}
	text, fits := old.Content, true
	if len(c.Edits) > 0 {
		text, fits = m.edited(c, text)
	}
	if fits {
		m.Writes = append(m.Writes, Write{Path: c.Path, Delete: true})
		m.write(c.To, text, modeOf(c.Mode, old.Mode))
	}
	return nil
}

func (m *making) write(name, content, mode string) {
	switch {
	case !m.mayHold(name, content):
	case slices.ContainsFunc(m.Writes, func(w Write) bool { return w.Path == name && !w.Delete }):
		m.explain(name, "two artifacts write it. Put all that is to become of a file into one.", "it was written twice at once")
	default:
		m.Writes = append(m.Writes, Write{Path: name, Content: content, Mode: mode})
	}
}

// mayHold refuses what no file may be made to hold.
func (m *making) mayHold(name, content string) bool {
	switch {
	case len(content) > MaxFile:
		m.refuse(name, fmt.Sprintf("it would have %d bytes; %d are allowed.", len(content), MaxFile))
	case !IsText(content):
		m.refuse(name, "its content is binary.")
	default:
		return true
	}
	return false
}

// sensitive asks for a reason where a test that was there or what defines the checks
// is changed.
func (m *making) sensitive(c Change) bool {
	_, exists, _ := m.tree.File(c.Path) // it was read before
	what := ""
	switch {
	case exists && IsTest(c.Path) && !slices.Contains(m.rules.Made, c.Path):
		what = "a test that was there"
	case IsCheckConfig(c.Path):
		what = "what defines the checks"
	default:
		return true
	}
	if c.Reason == "" && !m.onlyAdds(c) {
		m.explain(c.Path, fmt.Sprintf("it changes %s. Say why in metadata.reason; a person will see it.", what), fmt.Sprintf("this is %s, and no reason was given for changing it", what))
		return false
	}
	m.Sensitive = append(m.Sensitive, fmt.Sprintf("%s (%s, %s): %s", c.Path, c.Type, what, c.Reason))
	return true
}

// onlyAdds reports whether an edit of a test leaves all that was there in its place.
func (m *making) onlyAdds(c Change) bool {
	if c.Type != TypeEdit || !IsTest(c.Path) {
		return false
	}
	return !slices.ContainsFunc(c.Edits, func(e Edit) bool { return !strings.Contains(e.Replace, strings.TrimRight(e.Search, "\n")) })
}

// twins refuses new files whose names differ from others in case alone.
func (m *making) twins() {
	known := map[string]string{}
	for _, name := range m.tree.Paths() {
		known[strings.ToLower(name)] = name
	}
	for _, w := range m.Writes {
		if w.Delete {
			delete(known, strings.ToLower(w.Path))
		}
	}
	for _, w := range m.Writes {
		lower := strings.ToLower(w.Path)
		if other := known[lower]; !w.Delete && other != "" && other != w.Path {
			if _, isThere, _ := m.tree.File(w.Path); !isThere {
				m.refuse(w.Path, fmt.Sprintf("%s is there already; names that differ in case alone are one file for many.", other))
			}
		}
		if !w.Delete {
			known[lower] = w.Path
		}
	}
}
