package knowledge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// GKChatty is the [Mapping] for GKChatty, for servers of [NewServer] and for others
// alike. Its fields name their tools; the defaults are those of GKChatty.
//
// A server that takes contents is sent them. To one that takes only paths a file is
// given, in a directory of our own that only this user can read, and whose name has
// the content's hash: GKChatty shows nothing else by which a document could be
// recognized.
type GKChatty struct {
	SwitchUser, Upload, Search, Query string
}

func (g GKChatty) switchUser() string { return cmp.Or(g.SwitchUser, "switch_user") }
func (g GKChatty) upload() string     { return cmp.Or(g.Upload, "upload_to_gkchatty") }
func (g GKChatty) search() string     { return cmp.Or(g.Search, "search_gkchatty") }
func (g GKChatty) query() string      { return cmp.Or(g.Query, "query_gkchatty") }

func (g GKChatty) fits(l *link) bool {
	return l.offers(g.upload(), "file_path") && l.offers(g.search(), "query")
}

// signIn takes nothing but a success for one: else documents would end up with
// somebody else.
func (g GKChatty) signIn(ctx context.Context, l *link, username string, password Secret) error {
	a, err := l.call(ctx, g.switchUser(), map[string]any{"username": username, "password": string(password)})
	if err == nil && !strings.HasPrefix(strings.TrimSpace(a.text), "✅") {
		err = refusal(g.switchUser(), cmp.Or(firstLine(a.text), "it does not say why"))
	}
	return err
}

func (g GKChatty) keep(ctx context.Context, l *link, d Document, hash string) error {
	arguments := map[string]any{"file_path": d.Name}
	about := map[string]any{"description": d.Description, "tags": append([]string{}, d.Tags...), "key": d.Key}
	if l.offers(g.upload(), "content") {
		arguments["content"] = d.Content
	} else {
		dir, err := os.MkdirTemp("", "troupe-upload-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, fileName(d.Name, hash))
		if err := os.WriteFile(file, []byte(d.Content), 0o600); err != nil {
			return err
		}
		arguments["file_path"] = file
		about["description"] = strings.TrimSpace(d.Description + " sha256:" + hash)
	}
	for name, value := range about {
		if l.offers(g.upload(), name) {
			arguments[name] = value
		}
	}
	a, err := l.call(ctx, g.upload(), arguments)
	if err == nil {
		if complaint := complaintIn(a.text); complaint != "" {
			err = refusal(g.upload(), complaint)
		}
	}
	return err
}

// has looks for a document by all that a server may know of it: those that compare
// meanings know no hash, but how the document begins.
func (g GKChatty) has(ctx context.Context, l *link, d Document, hash string) (bool, error) {
	file := fileName(d.Name, hash)
	for _, query := range []string{hash + " " + d.Name, d.Name, preview(d.Content)} {
		if query == "" {
			continue
		}
		a, err := l.call(ctx, g.search(), map[string]any{"query": query})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(entriesOf(a), func(e entry) bool {
			return e.name == file || e.name == d.Name && (e.hash == hash || strings.Contains(e.text, "sha256:"+hash))
		}) {
			return true, nil
		}
	}
	return false, nil
}

func (g GKChatty) ask(ctx context.Context, l *link, question string, limit int) ([]Passage, error) {
	if !l.offers(g.query(), "query") {
		a, err := l.call(ctx, g.search(), map[string]any{"query": question})
		var list []Passage
		for _, e := range entriesOf(a) {
			list = append(list, Passage{Document: documentName(e.name), Text: e.text, Score: e.score})
		}
		return list, err
	}
	arguments := map[string]any{"query": question}
	if l.offers(g.query(), "limit") {
		arguments["limit"] = limit
	}
	a, err := l.call(ctx, g.query(), arguments)
	if err != nil {
		return nil, err
	}
	var data queryData
	if json.Unmarshal(a.data, &data) == nil && data.Passages != nil {
		return data.Passages, nil
	}
	// It is the words of a model, made of what it found.
	_, text, found := strings.Cut(a.text, "GKChatty Response:")
	if !found {
		text = a.text
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	return []Passage{{Text: text, Score: 1}}, nil
}

// An entry is one document of a search.
type entry struct {
	name, hash, text string
	score            float64
}

// number begins an entry in a text.
var number = regexp.MustCompile(`(?m)^\d+\. `)

// entriesOf reads what was found from an answer's data, or else from its text. What
// is before the first entry is not looked at: it repeats the query.
func entriesOf(a answer) []entry {
	var list []entry
	var data searchData
	if json.Unmarshal(a.data, &data) == nil && data.Documents != nil {
		for _, h := range data.Documents {
			list = append(list, entry{h.Name, h.SHA256, h.Preview, h.Score})
		}
		return list
	}
	starts := number.FindAllStringIndex(a.text, -1)
	for i, start := range starts {
		end := len(a.text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		name, rest, _ := strings.Cut(a.text[start[1]:end], "\n")
		e := entry{name: strings.TrimSpace(name)}
		var lines []string
		for line := range strings.Lines(rest) {
			line = strings.TrimSpace(line)
			if score, ok := strings.CutPrefix(line, "Score: "); ok && len(lines) == 0 {
				e.score, _ = strconv.ParseFloat(score, 64) // GKChatty also says N/A
			} else if line != "" {
				lines = append(lines, line)
			}
		}
		e.text = strings.Join(lines, "\n")
		list = append(list, e)
	}
	return list
}

const hashMark = ".sha256-"

// fileName returns the name of a file for a document, with the hash of its content.
func fileName(name, hash string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	extension := path.Ext(base)
	if len(extension) > 16 {
		extension = ""
	}
	stem := strings.TrimSuffix(base, extension)
	stem = strings.ToValidUTF8(stem[:min(len(stem), 150)], "")
	return fmt.Sprintf("%s%s%s%s", stem, hashMark, hash, extension)
}

// documentName returns the name that a file was made of.
func documentName(file string) string {
	stem, rest, found := strings.Cut(file, hashMark)
	if !found || len(rest) < 64 {
		return file
	}
	return stem + rest[64:]
}
