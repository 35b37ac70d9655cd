// Package edit applies edits to a text: each must mean exactly the places it says, and
// either all of them are made or none. What does not fit is answered with the lines of
// the text that come nearest.
package edit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An Edit replaces a text that occurs in a file.
type Edit struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
	// Count is how often Search occurs: once by default. All means every place.
	Count int  `json:"count,omitempty"`
	All   bool `json:"all,omitempty"`
}

// UnmarshalJSON takes the names that other tools have taught models, too.
func (e *Edit) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	text := func(into *string, names ...string) error {
		for _, name := range names {
			if raw, ok := fields[name]; ok {
				if err := json.Unmarshal(raw, into); err != nil {
					return fmt.Errorf("%s: a text is expected", name)
				}
				return nil
			}
		}
		return fmt.Errorf("%s is missing", names[0])
	}
	if err := text(&e.Search, "search", "old_string", "old", "find", "old_str"); err != nil {
		return err
	}
	if err := text(&e.Replace, "replace", "new_string", "new", "replacement", "new_str"); err != nil {
		return err
	}
	for name, into := range map[string]any{"count": &e.Count, "all": &e.All, "replace_all": &e.All} {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, into) != nil {
			return fmt.Errorf("%s: %s is not expected", name, raw)
		}
	}
	if e.Count < 0 {
		return fmt.Errorf("count: %d is negative", e.Count)
	}
	return nil
}

// A Misfit says why an edit cannot be made: Message to whoever wrote it, Plain to a
// person who did not.
type Misfit struct {
	// Edit counts from 1.
	Edit    int    `json:"edit"`
	Message string `json:"message"`
	Plain   string `json:"plain,omitempty"`
}

// span is a place in a text and what comes there.
type span struct {
	start, end int
	text       string
	edit       int
}

// Apply makes all edits, or none: then the text comes back as it was, with what does
// not fit. All edits are looked up in the text as it is given, so that their order
// does not matter. Notes say what was made that was not written exactly like the text.
func Apply(text string, edits []Edit) (result string, notes []string, misfits []Misfit) {
	var spans []span
	for i, e := range edits {
		found, note, misfit := e.find(text)
		if misfit != nil {
			misfit.Edit = i + 1
			misfits = append(misfits, *misfit)
			continue
		}
		if note != "" {
			notes = append(notes, fmt.Sprintf("edit %d: %s", i+1, note))
		}
		for _, s := range found {
			s.edit = i + 1
			spans = append(spans, s)
		}
	}
	misfits = append(misfits, overlaps(text, spans)...)
	if misfits != nil {
		return text, nil, misfits
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.start])
		b.WriteString(s.text)
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String(), notes, nil
}

// overlaps sorts spans and returns those edits that want the same bytes.
func overlaps(text string, spans []span) (misfits []Misfit) {
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	for i := 1; i < len(spans); i++ {
		a, b := spans[i-1], spans[i]
		if b.start < a.end || a.start == b.start {
			misfits = append(misfits, Misfit{b.edit, fmt.Sprintf("it overlaps with edit %d (line %d). Make one edit of the two.", a.edit, lineAt(text, b.start)),
				fmt.Sprintf("line %d was to be changed in two ways at once", lineAt(text, b.start))})
		}
	}
	return misfits
}

// find returns the places that an edit means, and how they were found where that was
// not exact.
func (e *Edit) find(text string) (found []span, note string, misfit *Misfit) {
	switch {
	case e.Search == e.Replace:
		return nil, "search and replace are the same: skipped", nil
	case e.Search == "" && text != "":
		return nil, "", &Misfit{Message: "the search text is empty, and the file is not. Say which lines are to be replaced.", Plain: "it was not said which lines were to be replaced"}
	case e.Search == "":
		return []span{{text: e.Replace}}, "", nil
	}
	for _, level := range []func(*Edit, string) ([]span, string){(*Edit).exact, (*Edit).loose, (*Edit).shifted} {
		found, note = level(e, text)
		if len(found) > 0 {
			break
		}
	}
	want := max(e.Count, 1)
	switch {
	case len(found) == 0:
		return nil, "", &Misfit{Message: nearest(text, e.Search), Plain: "the text that was to be replaced is not in it"}
	case e.All || len(found) == want:
		return found, note, nil
	}
	var lines []string
	for _, s := range found[:min(len(found), 10)] {
		lines = append(lines, fmt.Sprint(lineAt(text, s.start)))
	}
	advice := fmt.Sprintf(`Add lines around it until it occurs once, or say "count": %d.`, len(found))
	if e.Count > 1 {
		advice = fmt.Sprintf("You said %d.", e.Count)
	}
	return nil, "", &Misfit{
		Message: fmt.Sprintf("the search text occurs %s (lines %s). %s", times(len(found)), strings.Join(lines, ", "), advice),
		Plain:   fmt.Sprintf("the text that was to be replaced is in it %s (lines %s), and it was not clear which was meant", times(len(found)), strings.Join(lines, ", ")),
	}
}

func times(n int) string {
	if n == 1 {
		return "1 time"
	}
	return fmt.Sprintf("%d times", n)
}

func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// exact finds the very bytes.
func (e *Edit) exact(text string) (found []span, _ string) {
	replacement := withLineEnds(e.Replace, text)
	for at := 0; ; {
		i := strings.Index(text[at:], e.Search)
		if i < 0 {
			return found, ""
		}
		found = append(found, span{start: at + i, end: at + i + len(e.Search), text: replacement})
		at += i + len(e.Search)
	}
}

// withLineEnds gives what is put into a file the line ends of the file, where those
// are all alike.
func withLineEnds(replacement, file string) string {
	crlf := strings.Count(file, "\r\n")
	if crlf == 0 || crlf != strings.Count(file, "\n") {
		return replacement
	}
	return strings.ReplaceAll(strings.ReplaceAll(replacement, "\r\n", "\n"), "\n", "\r\n")
}
