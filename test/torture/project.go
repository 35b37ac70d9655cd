//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A project is a directory in which troupe is run, one process at a time.
type project struct {
	world *world
	dir   string
	// seen is what is known of the sessions, by id.
	seen map[string]*session
}

// A session is the log of one as it was last shown, or printed when it was stored.
type session struct {
	lines  []string // without gaps
	events []troupe.Event
	info   troupe.SessionInfo
	answer string
}

const configuration = `model: local/m
providers: {local: {base_url: %q}}
limits: {model_tries: 1, tool_timeout: 30s}
mcp: {ledger: {command: %q, env: {%s: %q, GOCOVERDIR: %q}}}
agents:
  scribe: {instructions: You are the scribe., skills: false, tools: [write_file, calculator, "ledger__*"]}
  writer: {instructions: You are the writer., skills: false, tools: [write_file]}
  critic: {instructions: You are the critic., skills: false, tools: [calculator, "ledger__*"]}
  editor: {instructions: You are the editor., skills: false, tools: [write_file]}
flows:
  story: {sequence: [scribe, {parallel: [writer, critic]}, editor]}
approve:
  - {tool: write_file, where: {file_path: "*guarded*"}, do: ask}
`

// newProject writes what troupe init writes, with a model and a few more agents.
func (w *world) newProject(ctx context.Context, name string) (*project, error) {
	p := &project{world: w, dir: filepath.Join(w.dir, name), seen: map[string]*session{}}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return nil, err
	}
	o, err := p.do(ctx, command{args: []string{"-q", "init"}})
	if err != nil || o.code != 0 {
		return nil, errors.Join(err, fmt.Errorf("troupe init: exit code %d: %s", o.code, o.err))
	}
	yaml := fmt.Sprintf(configuration, w.model.url, w.ledger(), ledgerFile, p.ledger(), w.dir)
	return p, os.WriteFile(filepath.Join(p.dir, "troupe.yaml"), []byte(yaml), 0o644)
}

func (p *project) ledger() string { return filepath.Join(p.dir, "ledger.txt") }

func (p *project) store() string { return filepath.Join(p.dir, "data", "troupe.db") }

func (p *project) folders() string { return filepath.Join(p.dir, "data", "agent-outputs") }

// isFresh says that there is no store yet.
func (p *project) isFresh() bool {
	_, err := os.Stat(p.store())
	return errors.Is(err, os.ErrNotExist)
}

// A listing is a session as troupe lists it.
type listing struct {
	ID    string `json:"session_id"`
	Agent struct {
		Name string `json:"name"`
	} `json:"agent"`
	Execution struct {
		Status string `json:"status"`
	} `json:"execution"`
	Summary  string `json:"userSummary"`
	Messages int    `json:"messageCount"`
	Outputs  []struct {
		File string `json:"file"`
	} `json:"outputs"`
}

// list returns what troupe lists.
func (p *project) list(ctx context.Context) (list []listing, err error) {
	o, err := p.do(ctx, command{args: []string{"--json", "sessions", "list", "--limit", "0"}})
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		p.problem("sessions list: exit code %d: %s", o.code, o.err)
		return nil, nil
	}
	return list, json.Unmarshal([]byte(o.out), &list)
}

func (p *project) problem(format string, args ...any) {
	p.world.report.problem("%s: %s", p.dir, fmt.Sprintf(format, args...))
}

// acknowledge notes the events that a process printed: they must be in the log from
// then on, just so.
func (p *project) acknowledge(lines []string) (acknowledged map[string]map[int64]string) {
	acknowledged = map[string]map[int64]string{}
	for _, line := range lines {
		var e troupe.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.problem("on standard output: %s: %v", strings.TrimSpace(line), err)
			continue
		}
		if e.Seq == 0 {
			continue // shown, not stored
		}
		if acknowledged[e.Session] == nil {
			acknowledged[e.Session] = map[int64]string{}
		}
		if _, twice := acknowledged[e.Session][e.Seq]; twice {
			p.problem("session %s: event %d was shown twice", e.Session, e.Seq)
		}
		acknowledged[e.Session][e.Seq] = line
	}
	return acknowledged
}
