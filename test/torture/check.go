//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// inspect looks at all that a command has left behind, as others would see it.
func (l *lane) inspect(ctx context.Context, w *work, o *outcome) error {
	if err := l.manifests(); err != nil {
		return err
	}
	if !o.killed {
		if err := l.leftovers(); err != nil {
			return err
		}
	}
	var acknowledged map[string]map[int64]string
	var answers map[string]string
	if w.batch != "" {
		answers = l.results(o)
	} else {
		acknowledged = l.acknowledge(o.lines())
	}
	list, err := l.list(ctx)
	if err != nil {
		return err
	}
	w.sessions = w.sessions[:0]
	for _, listed := range list {
		if !w.has(listed.Summary) {
			continue
		}
		w.sessions = append(w.sessions, listed.ID)
		s, err := l.show(ctx, listed.ID, acknowledged[listed.ID])
		if err != nil {
			return err
		}
		l.compare(listed, s, o.killed)
		if want, said := answers[listed.ID]; said && s.answer != want {
			l.problem("session %s: the answer was printed as %q, and is %q", listed.ID, want, s.answer)
		}
	}
	if w.batch == "" && len(w.sessions) > 1 {
		l.problem("there are %d sessions of %s", len(w.sessions), w.messages[0])
	}
	for id := range acknowledged {
		if !slices.Contains(w.sessions, id) {
			l.problem("session %s was shown, and is not listed", id)
		}
	}
	for id := range answers {
		if !slices.Contains(w.sessions, id) {
			l.problem("session %s was answered, and is not listed", id)
		}
	}
	return nil
}

// manifests looks at every manifest there is, whoever was killed: it is never half
// of one.
func (p *project) manifests() error {
	files, err := filepath.Glob(filepath.Join(p.folders(), "*", "manifest.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var m listing
		if err := json.Unmarshal(data, &m); err != nil || m.ID != filepath.Base(filepath.Dir(file)) {
			p.problem("%s is no manifest: %v: %.200s", file, err, data)
		}
	}
	return err
}

// show has troupe print a session's log, and compares it with what is known of it.
func (p *project) show(ctx context.Context, id string, acknowledged map[int64]string) (*session, error) {
	o, err := p.do(ctx, command{args: []string{"--json", "sessions", "show", "--events", id}})
	if err != nil {
		return nil, err
	}
	before := p.seen[id]
	if before == nil {
		before = &session{}
	}
	if o.code != 0 {
		p.problem("session %s cannot be shown: exit code %d: %s", id, o.code, o.err)
		return before, nil
	}
	now := p.read(id, o.lines())
	p.seen[id] = now
	for i, line := range before.lines {
		p.mustHave(now, int64(i+1), line)
	}
	for seq, line := range acknowledged {
		p.mustHave(now, seq, line)
	}
	p.world.report.add(eventChecks, len(before.lines)+len(acknowledged))
	return now, p.checkFiles(id, now)
}

// mustHave looks for an event that was shown, byte for byte.
func (p *project) mustHave(s *session, seq int64, line string) {
	if seq > int64(len(s.lines)) {
		p.problem("session %s: event %d is lost: %.300s", s.info.ID, seq, line)
		return
	}
	now := s.lines[seq-1]
	if now == line {
		return
	}
	same := 0
	for same < min(len(line), len(now)) && line[same] == now[same] {
		same++
	}
	from := max(same-60, 0)
	p.problem("session %s: event %d was shown as ...%.100s and is ...%.100s", s.info.ID, seq, line[from:], now[from:])
}

// read reads a log. Its numbers have no gaps, and nothing has happened twice.
func (p *project) read(id string, lines []string) *session {
	s := &session{lines: lines, events: make([]troupe.Event, len(lines))}
	happened := map[string]bool{}
	for i, line := range lines {
		e := &s.events[i]
		if err := json.Unmarshal([]byte(line), e); err != nil || e.Seq != int64(i+1) || e.Session != id {
			p.problem("session %s: event %d is %.300s: %v", id, i+1, line, err)
			continue
		}
		s.info.Note(e)
		switch b := e.Body.(type) {
		case *troupe.ModelReplied:
			name, _, _ := strings.Cut(b.Message.Text, ":")
			p.world.model.record(name)
		case *troupe.RunStarted, *troupe.ToolReturned, *troupe.ArtifactSaved:
		case *troupe.RunFinished:
			if e.Parent == "" {
				s.answer = b.Output.Summary
			}
			continue
		case *troupe.RunFailed:
			if strings.HasPrefix(b.Error, "given up: ") {
				continue // it was killed too often at the same place
			}
			p.problem("session %s: a run failed: %s", id, b.Error)
			continue
		default:
			continue
		}
		key := fmt.Sprintf("%s at step %s of run %s", e.Kind(), e.Step, e.Run)
		if happened[key] {
			p.problem("session %s: %s is there twice", id, key)
		}
		happened[key] = true
	}
	return s
}

// compare compares how a session is listed, and what its manifest says, with its log.
func (p *project) compare(listed listing, s *session, killed bool) {
	status := s.info.Status
	if status == "running" {
		status = "interrupted" // for nobody is running now
	}
	if listed.Execution.Status != status || listed.Agent.Name != s.info.Agent {
		p.problem("session %s is listed as %s of %s, and is %s of %s", listed.ID, listed.Execution.Status, listed.Agent.Name, status, s.info.Agent)
	}
	if killed {
		return // the manifest is put right at the next start
	}
	data, err := os.ReadFile(filepath.Join(p.folders(), listed.ID, "manifest.json"))
	var m listing
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		p.problem("session %s: its manifest: %v", listed.ID, err)
		return
	}
	var files, messages = []string{}, 0
	for i := range s.events {
		switch b := s.events[i].Body.(type) {
		case *troupe.ArtifactSaved:
			if file := inFolder(b.Path); !slices.Contains(files, file) {
				files = append(files, file)
			}
		case *troupe.UserSaid, *troupe.RunFinished:
			if s.events[i].Parent == "" {
				messages++
			}
		}
	}
	var outputs []string
	for _, output := range m.Outputs {
		outputs = append(outputs, output.File)
	}
	if m.Execution.Status != s.info.Status || !slices.Equal(outputs, files) || m.Messages != messages {
		p.problem("session %s: the manifest has %s, %d messages and %q; the log has %s, %d and %q",
			listed.ID, m.Execution.Status, m.Messages, outputs, s.info.Status, messages, files)
	}
}

func inFolder(path string) string { return strings.TrimPrefix(path, "{session-folder}/") }

// checkFiles compares the files of a session with the calls that wrote them: each is
// what one call wrote, all of it, and not older than the last call that returned.
func (p *project) checkFiles(id string, s *session) error {
	type version struct{ call, content string }
	written, returned := map[string][]version{}, map[string]bool{}
	for i := range s.events {
		switch b := s.events[i].Body.(type) {
		case *troupe.ToolCalled:
			var arguments struct {
				FilePath string `json:"file_path"`
				Content  string `json:"content"`
			}
			if err := json.Unmarshal([]byte(b.Arguments), &arguments); err != nil {
				p.problem("session %s: the arguments %s: %v", id, b.Arguments, err)
			}
			if file := inFolder(arguments.FilePath); file != "" {
				written[file] = append(written[file], version{b.CallID, arguments.Content})
			}
		case *troupe.ToolReturned:
			returned[b.CallID] = b.Class == ""
		}
	}
	for file, versions := range written {
		last := -1
		for i, v := range versions {
			if returned[v.call] {
				last = i
			}
		}
		p.world.report.add(fileChecks, 1)
		content, err := os.ReadFile(filepath.Join(p.folders(), id, file))
		if last < 0 && os.IsNotExist(err) {
			continue
		}
		if err != nil || !slices.ContainsFunc(versions[max(last, 0):], func(v version) bool { return v.content == string(content) }) {
			p.problem("session %s: %s has %d bytes, which no call wrote that counts: %v", id, file, len(content), err)
		}
	}
	return p.strangers(id, func(name string) bool { return written[name] != nil })
}

// strangers looks for files in a session's folder that no call has written.
func (p *project) strangers(id string, isKnown func(string) bool) error {
	found, err := os.ReadDir(filepath.Join(p.folders(), id))
	if os.IsNotExist(err) {
		return nil
	}
	for _, entry := range found {
		name := entry.Name()
		if name != "manifest.json" && !strings.HasPrefix(name, ".troupe-tmp-") && !isKnown(name) {
			p.problem("session %s: nobody wrote %s", id, name)
		}
	}
	return err
}
