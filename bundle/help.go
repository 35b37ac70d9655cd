package bundle

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/workspace"
)

// A Task is a piece of work that the method's catalogue of help offers.
type Task struct {
	Module string `json:"module"`
	// Skill is what carries it out: a skill, or the file of a workflow.
	Skill       string `json:"skill"`
	Name        string `json:"name"`
	Code        string `json:"code"`
	Description string `json:"description"`
	// Phase is when it is done: 1-analysis, or anytime.
	Phase    string `json:"phase"`
	Required bool   `json:"required"`
	// Agent is who does it, where the catalogue says so.
	Agent string `json:"agent,omitempty"`
	// After are the tasks that come before it.
	After []string `json:"after,omitempty"`
	// Outputs are what it leaves, in words, in the folders of Locations.
	Locations []string `json:"locations,omitempty"`
	Outputs   string   `json:"outputs,omitempty"`
	// Found are the documents there are that look like its outputs. They prove that it
	// was begun, not that it is done.
	Found []string `json:"found"`
}

// helpPhase is what the phase of a task looks like.
var helpPhase = regexp.MustCompile(`^(?:anytime|plan|ship|\d+-[\w-]+)$`)

// Help returns what the installations of the project say can be done, by phase and in
// their order, and what of it has been begun as far as the options let documents be read.
func (c *Catalog) Help(o Options) ([]Task, error) {
	var tasks []Task
	seen := map[string]bool{}
	for _, b := range c.bundles {
		if b.tree == "" || seen[b.tree] {
			continue
		}
		seen[b.tree] = true
		ws, err := b.open(o, c.sessionsOf(&Definition{bundle: b}, o).documentsThere(), noSession())
		if err != nil {
			return nil, err
		}
		for _, t := range b.helpTasks(ws) {
			t.Found = b.outputsOf(ws, t)
			tasks = append(tasks, t)
		}
		if err := ws.Close(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(tasks, func(a, b Task) int { return strings.Compare(a.Phase, b.Phase) })
	return tasks, nil
}

// helpTasks reads the catalogues of an installation: those of its modules, whose headers
// are right, or else the one that an installer has put together.
func (b *Bundle) helpTasks(ws *workspace.Workspace) []Task {
	var tasks []Task
	read := func(name string) {
		loc, err := ws.Resolve("{" + bmadRoot + "}/" + name)
		if err != nil {
			return
		}
		src, err := ws.ReadFile(loc)
		if err != nil {
			return
		}
		for _, t := range parseHelp(src) {
			if !slices.ContainsFunc(tasks, func(other Task) bool { return other.Name == t.Name && other.Code == t.Code && other.Phase == t.Phase }) {
				tasks = append(tasks, t)
			}
		}
	}
	if root, err := ws.Resolve("{" + bmadRoot + "}"); err == nil {
		if list, err := ws.List(root, 1); err == nil {
			for _, e := range list.Entries {
				if e.IsDir {
					read(e.Path + "/module-help.csv")
				}
			}
		}
	}
	if len(tasks) == 0 {
		read("_config/bmad-help.csv")
		read("_cfg/bmad-help.csv")
	}
	return tasks
}

// parseHelp reads a catalogue. Installers have put the header of one version over the
// rows of another, and rows lack fields: so each row is read by what its fields look like.
func parseHelp(src string) []Task {
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(src, "\ufeff")))
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	rows, _ := reader.ReadAll() // what was read before a fault counts
	var tasks []Task
	for i, row := range rows {
		if i == 0 || len(row) < 6 || row[1] == "_meta" {
			continue
		}
		for len(row) < 16 {
			row = append(row, "")
		}
		at := slices.IndexFunc(row[1:], helpPhase.MatchString) + 1
		if named := slices.Index(rows[0], "phase"); named > 1 && helpPhase.MatchString(row[named]) {
			at = named
		}
		if at == 0 {
			continue
		}
		t := Task{Module: row[0], Phase: row[at], Name: row[2], Code: row[3], Found: []string{}}
		if at == 1 { // versions 6.0 and 6.1
			t.Skill, t.Required, t.Agent = row[5], row[7] == "true", row[8]
			t.rest(rows[0], row)
		} else {
			t.Skill, t.Description = row[1], row[4]
			t.following(row[at+1:])
		}
		if t.Name != "" {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// rest takes over what a header names rightly.
func (t *Task) rest(header, row []string) {
	for i, name := range header {
		if i >= len(row) {
			break
		}
		switch name {
		case "description":
			t.Description = row[i]
		case "output-location":
			t.Locations = splitWords(row[i])
		case "outputs":
			t.Outputs = row[i]
		}
	}
}

// following reads what stands behind the phase: before and after, whether it is required,
// where its outputs are, and what they are.
func (t *Task) following(fields []string) {
	at := slices.IndexFunc(fields, func(f string) bool { return f == "true" || f == "false" })
	if at < 0 {
		return
	}
	if at > 0 {
		t.After = splitWords(fields[0])
	}
	t.Required = fields[at] == "true"
	if at+2 < len(fields) {
		t.Locations, t.Outputs = splitWords(fields[at+1]), fields[at+2]
	}
}

func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' || r == ';' || r == ' ' })
}

// outputsOf finds the documents that look like the outputs of a task: named for the first
// word of what it leaves, or in a folder that is, in capitals or not; a product brief is
// also called brief.
func (b *Bundle) outputsOf(ws *workspace.Workspace, t Task) []string {
	words := strings.Fields(strings.ToLower(t.Outputs))
	found := []string{}
	if len(words) == 0 || len(words[0]) < 2 || words[0] == "*" {
		return found
	}
	names := words[:1]
	if last := words[len(words)-1]; last == "brief" {
		names = []string{words[0], last}
	}
	for _, location := range t.Locations {
		folder := location
		if !strings.Contains(location, "{") {
			folder = "{" + strings.ReplaceAll(location, "-", "_") + "}"
		}
		home, err := ws.Resolve(folder)
		if err != nil {
			continue
		}
		matches, err := ws.Glob(folder + "/**/*")
		if err != nil {
			continue
		}
		for _, loc := range matches {
			name := loc.String()
			if len(found) < maxInputs && !slices.Contains(found, name) && isNamedFor(strings.TrimPrefix(name, home.String()+"/"), names) {
				found = append(found, name)
			}
		}
	}
	return found
}

// isNamedFor says whether a file has one of the words in its name, or is in a folder that
// begins with it.
func isNamedFor(file string, words []string) bool {
	segments := strings.Split(strings.ToLower(file), "/")
	for i, segment := range segments {
		for _, word := range words {
			if i == len(segments)-1 && strings.Contains(segment, word) || i < len(segments)-1 && strings.HasPrefix(segment, word) {
				return true
			}
		}
	}
	return false
}
