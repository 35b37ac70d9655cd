package files

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

//go:embed edit.md
var editDescription string

// Edit returns the tool edit_file, which replaces pieces of a text file: all of
// them, each found exactly once, or none. It is not safe to repeat: a text that was
// put beside the one it was found by would be put there twice.
func Edit(find Finder) troupe.Tool { return editAt(ofSession(find)) }

func editAt(at place) troupe.Tool {
	return newTool("edit_file", described(editDescription, at.names.writing()), at, edit)
}

type editRequest struct {
	FilePath string        `json:"file_path" jsonschema:"the file to change"`
	Edits    []replacement `json:"edits" jsonschema:"what to replace, in this order"`
}

type replacement struct {
	Search  string `json:"search" jsonschema:"the text to replace, exactly as it is in the file, and there only once"`
	Replace string `json:"replace" jsonschema:"what to put there instead; empty to delete"`
}

func (r editRequest) asked() string { return r.FilePath }

type editResult struct {
	Success bool   `json:"success"`
	Path    string `json:"path"`
	Size    int64  `json:"size" jsonschema:"of the changed file, in bytes"`
	Lines   []int  `json:"lines" jsonschema:"the line that each edit begins at"`
	Note    string `json:"note,omitempty"`
}

func edit(ctx context.Context, v view, run *troupe.Run, in editRequest) (editResult, error) {
	loc, name, moved, err := v.resolveOutput(in.FilePath)
	if err != nil {
		return editResult{}, err
	}
	defer hold(loc).Unlock()
	text, err := v.editable(loc)
	if errors.Is(err, workspace.ErrNotFound) {
		return editResult{}, v.elsewhere(in.FilePath, loc, err)
	}
	if err != nil {
		return editResult{}, err
	}
	changed, lines, err := apply(text, in.Edits)
	if err != nil {
		return editResult{}, err
	}
	if err := v.put(ctx, run, loc, changed); err != nil {
		return editResult{}, err
	}
	out := editResult{Success: true, Path: name, Size: int64(len(changed)), Lines: lines}
	if moved {
		out.Path, out.Note = v.names.show(loc), "you may not write to the place you named; what you saved under that name earlier was changed here"
	}
	return out, nil
}

// editable returns the whole of a text file.
func (v view) editable(loc workspace.Location) (string, error) {
	beginning, err := v.ReadText(loc, 0, 1)
	if err != nil {
		return "", err
	}
	if beginning.Binary {
		return "", &mismatch{text: "this is a binary file; it cannot be edited"}
	}
	return v.ReadCurrent(loc)
}

// elsewhere says of a file that is not where it could be written whether it is
// there to be read.
func (v view) elsewhere(name string, output workspace.Location, missing error) error {
	loc, _, err := v.resolve(name)
	if err != nil || loc == output || !v.exists(loc) {
		return missing
	}
	return &workspace.Error{Op: "edit", Path: loc.String(), Err: workspace.ErrDenied,
		Reason: "writing to {" + loc.Root() + "} is not granted; save a changed copy instead"}
}

// Edited is a text after a call of edit_file with these arguments, and whether they are such a call's
// and fit: for whoever has a text and what is on record of its change.
func Edited(text string, arguments json.RawMessage) (string, bool) {
	var in editRequest
	if json.Unmarshal(arguments, &in) != nil {
		return "", false
	}
	changed, _, err := apply(text, in.Edits)
	return changed, err == nil
}

// A mismatch is a text that an edit does not fit.
type mismatch struct {
	text    string
	lines   []int
	nearest []string
}

func (m *mismatch) Error() string { return m.text }

const (
	// mostEdits bounds the edits of one call: each takes a copy of the file.
	mostEdits = 100
	// mostPlaces bounds how many places are told where a text occurs.
	mostPlaces = 20
)

// apply returns the text after all edits, and the line that each was found at.
func apply(text string, edits []replacement) (changed string, lines []int, err error) {
	switch {
	case len(edits) == 0:
		return "", nil, &mismatch{text: "there is no edit in this call"}
	case len(edits) > mostEdits:
		return "", nil, &mismatch{text: fmt.Sprintf("at most %d edits are made in one call; nothing was changed", mostEdits)}
	}
	changed = text
	for i, e := range edits {
		at, wrong := e.find(changed)
		if wrong != nil {
			return "", nil, wrong.of(i, edits, changed != text)
		}
		e = e.withLineEndsOf(changed)
		lines = append(lines, 1+strings.Count(changed[:at], "\n"))
		changed = changed[:at] + e.Replace + changed[at+len(e.Search):]
	}
	return changed, lines, nil
}

// of says which edit it was.
func (m *mismatch) of(i int, edits []replacement, changed bool) *mismatch {
	if len(edits) > 1 {
		m.text = fmt.Sprintf("edit %d of %d: %s", i+1, len(edits), m.text)
	}
	if changed && (m.lines != nil || m.nearest != nil) {
		m.text += " (lines as they would be after the edits before it)"
	}
	m.text += "; nothing was changed"
	return m
}

// find returns where the only place of the search text is.
func (e replacement) find(text string) (int, *mismatch) {
	switch {
	case e.Search == "":
		return 0, &mismatch{text: "the search text is empty"}
	case e.Search == e.Replace:
		return 0, &mismatch{text: "search and replace are the same text"}
	}
	search := e.withLineEndsOf(text).Search
	places := occurrences(text, search)
	switch len(places) {
	case 1:
		return places[0], nil
	case 0:
		return 0, notFound(text, search)
	}
	wrong := &mismatch{lines: linesOf(text, places)}
	wrong.text = fmt.Sprintf("the search text occurs %d times; add lines around it until it can mean only one place", len(places))
	if len(places) == mostPlaces {
		wrong.text = fmt.Sprintf("the search text occurs %d times or more; add lines around it until it can mean only one place", len(places))
	}
	return 0, wrong
}

// withLineEndsOf gives an edit the line ends of a file that was written on
// Windows: models see and write plain ones.
func (e replacement) withLineEndsOf(text string) replacement {
	ends := strings.Count(text, "\n")
	if ends == 0 || ends != strings.Count(text, "\r\n") || strings.Contains(e.Search+e.Replace, "\r") {
		return e
	}
	return replacement{strings.ReplaceAll(e.Search, "\n", "\r\n"), strings.ReplaceAll(e.Replace, "\n", "\r\n")}
}

// occurrences returns where search is in text, also where two overlap; mostPlaces
// of them at most.
func occurrences(text, search string) (places []int) {
	for from := 0; len(places) < mostPlaces; {
		i := strings.Index(text[from:], search)
		if i < 0 {
			break
		}
		places = append(places, from+i)
		from += i + 1
	}
	return places
}

// linesOf returns the numbers of the lines that places, in order, are in.
func linesOf(text string, places []int) (lines []int) {
	line, from := 1, 0
	for _, at := range places {
		line += strings.Count(text[from:at], "\n")
		from = at
		lines = append(lines, line)
	}
	return lines
}
