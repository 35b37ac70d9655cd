package server

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// A searchResult is what was found of each kind, the best first.
type searchResult struct {
	Sessions []foundSession `json:"sessions"`
	Files    []libraryFile  `json:"files"`
	Tasks    []taskFound    `json:"tasks"`
}

// A foundSession is a session that has the words in its title, or in what was said in it.
type foundSession struct {
	sessionView
	// Found is the line of what was said in which the words stand, if it is not the title.
	Found string `json:"found,omitempty"`
}

// A taskFound is something that an agent can do, or an agent itself.
type taskFound struct {
	Agent   string `json:"agent"`
	Name    string `json:"name"`
	Label   string `json:"label"`
	Trigger string `json:"trigger,omitempty"`
}

const (
	// mostFound is how many of each kind are returned.
	mostFound = 8
	// mostHeard is among how many hits a line to quote is looked for.
	mostHeard = 200
)

func (s *Server) search(c *call) (searchResult, error) {
	words := strings.ToLower(strings.TrimSpace(c.r.URL.Query().Get("q")))
	found := searchResult{Files: []libraryFile{}, Tasks: []taskFound{}}
	var err error
	if found.Sessions, err = s.findSessions(c, words); err != nil {
		return found, err
	}
	for _, agent := range s.config.Cast.Agents() {
		agent = completed(agent)
		if agent.Broken == "" && strings.Contains(strings.ToLower(agent.Name+" "+agent.Title), words) {
			found.Tasks = append(found.Tasks, taskFound{agent.ID, agent.Name, agent.Title, ""})
		}
		for _, command := range agent.Commands {
			if words != "" && !command.Hidden && strings.Contains(strings.ToLower(command.Label+" "+command.Cmd), words) {
				found.Tasks = append(found.Tasks, taskFound{agent.ID, agent.Name, command.Label, command.Trigger})
			}
		}
	}
	found.Tasks = found.Tasks[:min(len(found.Tasks), mostFound)]
	if words == "" {
		return found, nil
	}
	for _, list := range []func(*call) (libraryList, error){s.listDocuments, s.listLibrary} {
		files, err := list(c)
		if err != nil {
			return found, err
		}
		found.Files = append(found.Files, files.Files...)
	}
	found.Files = found.Files[:min(len(found.Files), mostFound)]
	return found, nil
}

// findSessions returns the sessions that have the words in their title, and then those in
// which they were said.
func (s *Server) findSessions(c *call, words string) ([]foundSession, error) {
	var sessions []troupe.SessionInfo
	for info, err := range s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{User: c.user, Limit: mostSessions}) {
		if err != nil {
			return nil, err
		}
		if strings.Contains(strings.ToLower(info.Title), words) {
			if sessions = append(sessions, info); len(sessions) == mostFound {
				break
			}
		}
	}
	said := map[string]string{}
	if words != "" && s.config.Logs != nil {
		var err error
		if sessions, err = s.hear(c, words, sessions, said); err != nil {
			return nil, err
		}
	}
	views, err := s.views(c.r.Context(), sessions)
	if err != nil {
		return nil, err
	}
	list := make([]foundSession, len(views))
	for i, v := range views {
		list[i] = foundSession{v, said[v.ID]}
	}
	return list, nil
}

// hear adds the sessions in which words were found to those that are known, up to mostFound,
// and notes by its id for each of them the line in which they were said last, or else were
// written.
func (s *Server) hear(c *call, words string, sessions []troupe.SessionInfo, said map[string]string) ([]troupe.SessionInfo, error) {
	hits, written := 0, map[string]string{}
	for hit, err := range s.ownHits(c, LogQuery{Text: begun(words)}) {
		if err != nil {
			return nil, err
		}
		if hits++; hits > mostHits || len(sessions) == mostFound && (hits > mostHeard || len(said) == mostFound) {
			break
		}
		id := hit.Event.Session
		at := slices.IndexFunc(sessions, func(o troupe.SessionInfo) bool { return o.ID == id })
		if at < 0 && len(sessions) < mostFound {
			one, err := collect(s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{ID: id, User: c.user}), 1)
			if err != nil {
				return nil, err
			}
			at, sessions = len(sessions), append(sessions, one...)
		}
		if at < 0 || at >= len(sessions) || said[id] != "" {
			continue
		}
		title := strings.TrimSuffix(sessions[at].Title, "…")
		quotes, texts := said, textsIn(saidIn(hit.Event.Body))
		if !slices.ContainsFunc(texts, func(text string) bool { return quoted(text, words) != "" }) {
			quotes, texts = written, writtenIn(hit.Event.Body)
		}
		for _, text := range texts {
			if line := quoted(text, words); quotes[id] == "" && (title == "" || !strings.Contains(line, title)) {
				quotes[id] = line
			}
		}
	}
	for id, line := range written {
		said[id] = cmp.Or(said[id], line)
	}
	return sessions, nil
}

// begun has the last of the words found as the beginning of one: whoever looks is still typing.
func begun(words string) string {
	if last, _ := utf8.DecodeLastRuneInString(words); strings.Contains(words, `"`) || !unicode.IsLetter(last) && !unicode.IsDigit(last) {
		return words
	}
	return words + "*"
}

// saidIn is what somebody, or an agent, said.
func saidIn(body troupe.Body) string {
	switch b := body.(type) {
	case *troupe.UserSaid:
		return b.Text
	case *troupe.ModelReplied:
		return b.Message.Text
	case *troupe.InputRequested:
		if !b.Approval { // else it is all that the tool is called with
			return b.Question
		}
	}
	return ""
}

// writtenIn is the texts that a tool is called with, such as what is to be saved, and what it
// returned. Files are in it by their names alone.
func writtenIn(body troupe.Body) []string {
	switch b := body.(type) {
	case *troupe.InputRequested:
		return textsIn(string(b.Arguments))
	case *troupe.ToolCalled:
		return textsIn(string(b.Arguments))
	case *troupe.ToolReturned:
		return textsIn(b.Content)
	}
	return nil
}

var (
	looksLikeJSON = regexp.MustCompile(`^\s*[\[{]\s*["\[{]`)
	// literal is a string of JSON, and the colon behind it where it is a key.
	literal = regexp.MustCompile(`("(?:[^"\\]|\\.)*")(\s*:)?`)
	fenced  = regexp.MustCompile("(?s)```(?:json)?[ \t]*\n(.*?)(?:```|$)")
)

// textsIn is what people read in a text. Of JSON, which may be cut or fenced, that is its values and
// what is in those, and at the end the names of files.
func textsIn(text string) []string {
	if !looksLikeJSON.MatchString(text) {
		at := fenced.FindStringSubmatchIndex(text)
		if at == nil || !looksLikeJSON.MatchString(text[at[2]:at[3]]) {
			return []string{text}
		}
		return slices.Concat([]string{text[:at[0]]}, textsIn(text[at[2]:at[3]]), textsIn(text[at[1]:]))
	}
	var texts, files []string
	key := ""
	for _, m := range literal.FindAllStringSubmatch(text, -1) {
		var value string
		if json.Unmarshal([]byte(m[1]), &value) != nil {
			continue
		}
		switch {
		case m[2] != "":
			key = value
		case strings.HasSuffix(key, "path"):
			files = append(files, path.Base(value))
		default:
			texts = append(texts, textsIn(value)...)
		}
	}
	return append(texts, files...)
}

// quoted is the line of a text in which the words stand: all of them as they stand, or else one.
func quoted(text, words string) string {
	for _, one := range append([]string{words}, strings.FieldsFunc(words, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...) {
		if line := excerpt(text, one); line != "" {
			return line
		}
	}
	return ""
}
