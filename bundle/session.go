package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/workspace"
)

// maxIdle is how many sessions of an agent are kept open after their last use.
// Opening one again takes less than a millisecond.
const maxIdle = 64

// sessions are the open conversations of one agent, each with its own workspace.
type sessions struct {
	agent   *Definition
	options Options
	outputs string

	mu   sync.Mutex
	open map[string]*session
	idle []*session // those nobody uses, the longest unused first
}

// A session is a conversation whose files are open and whose critical actions are
// done. It stays open while it is in use.
type session struct {
	id, date string
	// related are the sessions whose files may be read, too.
	related  []string
	users    int  // guarded by sessions
	replaced bool // guarded by sessions: another one has taken its place

	opening sync.Once
	err     error
	files   *workspace.Workspace // to be closed
	told    []message

	mu    sync.Mutex
	base  *workspace.Workspace // with the variables of the agent's config
	flow  *workspace.Vars      // and those of the workflow begun last; nil if there is none
	local map[string]string    // those of the step that was read last
	view  *workspace.Workspace // with all of them
	trail []string             // the files that were read last
	begun note                 // the workflow begun last
	seen  map[string]bool      // checksums of what people wrote and the agent has read
}

// enterLinked is enter for a call of a tool, which is told what other sessions the user
// has linked to this one.
func (s *sessions) enterLinked(ctx context.Context, call *troupe.Invocation) (*session, error) {
	related := slices.DeleteFunc(outputs.RelatedIn(call.Values), func(id string) bool { return !sessionid.Is(id) || id == call.Run.Session() })
	s.mu.Lock()
	if x := s.open[call.Run.Session()]; x != nil && !slices.Equal(x.related, related) {
		s.replace(x)
	}
	s.mu.Unlock()
	return s.enterAs(ctx, call.Run, related)
}

// enter opens a run's session, or finds it open. Every enter is followed by leave.
func (s *sessions) enter(ctx context.Context, run *troupe.Run) (*session, error) {
	return s.enterAs(ctx, run, nil)
}

func (s *sessions) enterAs(ctx context.Context, run *troupe.Run, related []string) (*session, error) {
	x := s.join(run.Session(), run.Now().Format(time.DateOnly), related)
	x.opening.Do(func() { x.err = s.start(ctx, x, run) })
	if x.err != nil {
		s.mu.Lock()
		s.replace(x)
		s.mu.Unlock()
		s.leave(x)
		return nil, x.err
	}
	return x, nil
}

// join returns the session for one more user. One that was opened on another day
// is opened anew, because of what {date} means in it.
func (s *sessions) join(id, date string, related []string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.open[id]
	if x != nil && x.date != date {
		s.replace(x)
		x = nil
	}
	if x == nil {
		x = &session{id: id, date: date, related: related}
		s.open[id] = x
	}
	if x.users++; x.users == 1 {
		s.idle = slices.DeleteFunc(s.idle, func(other *session) bool { return other == x })
	}
	return x
}

// replace makes room for another session in the place of x; s.mu is held.
func (s *sessions) replace(x *session) {
	x.replaced = true
	if s.open[x.id] == x {
		delete(s.open, x.id)
	}
	if x.users == 0 {
		s.idle = slices.DeleteFunc(s.idle, func(other *session) bool { return other == x })
		_ = x.close() // read handles: there is nothing to lose
	}
}

func (s *sessions) leave(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.users--; x.users > 0 {
		return
	}
	if x.replaced {
		_ = x.close()
		return
	}
	s.idle = append(s.idle, x)
	if len(s.idle) > maxIdle {
		s.replace(s.idle[0])
	}
}

func (s *sessions) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, x := range s.open {
		errs = append(errs, x.close())
	}
	s.open, s.idle = make(map[string]*session), nil
	return errors.Join(errs...)
}

// start makes the session folder, opens the workspace and carries out the agent's
// critical actions.
func (s *sessions) start(ctx context.Context, x *session, run *troupe.Run) error {
	if !sessionid.Is(x.id) {
		return fmt.Errorf("session %.64q: the id is not a UUID", x.id)
	}
	folder := filepath.Join(s.outputs, x.id)
	if err := os.MkdirAll(s.outputs, 0o755); err != nil {
		return fmt.Errorf("make outputs directory: %w", causeOf(err))
	}
	if err := os.Mkdir(folder, 0o700); err == nil {
		failpoint.Here(failpoint.FolderMade)
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make session folder: %w", causeOf(err))
	}
	documents, err := s.documentsOf(run)
	if err != nil {
		return err
	}
	roots := []workspace.Root{
		{Name: "agent-outputs", Dir: s.outputs}, // those of other sessions stay closed
		{Name: workspace.SessionFolder, Dir: folder, Access: workspace.ReadWrite, Opens: true},
	}
	for _, id := range x.related {
		if info, err := os.Stat(filepath.Join(s.outputs, id)); err == nil && info.IsDir() {
			roots = append(roots, workspace.Root{Name: "session-" + id, Dir: filepath.Join(s.outputs, id), Access: workspace.ReadOnly, Opens: true})
		}
	}
	values := map[string]string{"session-id": x.id}
	for _, name := range systemGenerated {
		values[name] = x.date
	}
	ws, err := s.agent.bundle.open(s.options, documents, values, roots...)
	if err != nil {
		return err
	}
	x.files = ws
	if ws, x.told, err = s.agent.perform(ws); err != nil {
		return err
	}
	x.base, x.view = ws, ws
	return s.restore(ctx, x)
}

// maxRecalled is how many of the files that were read last give a session that goes on
// its variables: a step, and what was read in the middle of it.
const maxRecalled = 8

// restore takes up the workflow that the session was in when it was last open.
func (s *sessions) restore(ctx context.Context, x *session) error {
	n, err := s.recallNote(ctx, x.id)
	if err != nil {
		return err
	}
	if n.Workflow != "" {
		// One that is gone or broken by now is the model's to notice when it goes on.
		if w, err := s.agent.bundle.workflow(x.on(n.Date), n.Workflow, n.Input); err == nil {
			x.begun, x.flow = n, w.vars
		}
	}
	x.trail = n.Read
	for _, at := range n.Read[max(0, len(n.Read)-maxRecalled):] {
		if loc, err := x.base.Resolve(at); err == nil {
			if src, err := x.base.ReadFile(loc); err == nil {
				x.local = overlaid(x.local, StepValues(x.base, at, src))
			}
		}
	}
	x.see()
	return nil
}

// on returns the session's files on a certain day: what a workflow has fixed stays.
func (x *session) on(date string) *workspace.Workspace {
	if date == "" || date == x.date {
		return x.base
	}
	vars := x.base.Vars()
	for _, name := range systemGenerated {
		vars = vars.WithValue(name, date)
	}
	return x.base.With(vars)
}

// systemGenerated are the variables that have the day as their value. Their authors fix no
// format for any of them.
var systemGenerated = []string{"date", "now", "timestamp"}

// causeOf returns an error without the host's path in it.
func causeOf(err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		return onPath.Err
	}
	return err
}

func (x *session) close() error {
	if x.files == nil {
		return nil
	}
	return x.files.Close()
}

// workspace returns the files as the tools of the session see them now.
func (x *session) workspace() *workspace.Workspace {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.view
}

// follow makes the variables of a workflow known to the tools that come after it.
func (x *session) follow(w *Workflow, input map[string]any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flow, x.local = w.vars, nil
	x.begun = note{Workflow: w.Path, Input: input, Date: x.date}
	x.trail = append(x.trail, w.beside...)
	if over := len(x.trail) - maxTrail; over > 0 {
		x.trail = x.trail[over:]
	}
	x.see()
}

// context is the agent's [troupe.AgentConfig.Context].
func (s *sessions) context(ctx context.Context, run *troupe.Run) ([]troupe.ContextLoaded, error) {
	x, err := s.enter(ctx, run)
	if err != nil {
		return nil, err
	}
	defer s.leave(x)
	parts, err := s.parts(x.id, x.base, x.told)
	if err != nil {
		return nil, err
	}
	var system []string
	var loaded []troupe.ContextLoaded
	for _, p := range parts {
		if p.Name != "critical" {
			system = append(system, p.Text)
			continue
		}
		loaded = append(loaded, troupe.ContextLoaded{Source: p.Source, Role: troupe.RoleSystem, Content: p.Text})
	}
	prompt := troupe.ContextLoaded{
		Source: "instructions", Role: troupe.RoleSystem, Content: strings.Join(system, "\n\n"),
	}
	return slices.Concat([]troupe.ContextLoaded{prompt}, loaded, s.options.told()), nil
}

// told is what an agent is told beside what its bundle says.
func (o *Options) told() []troupe.ContextLoaded {
	if o.Tell == nil {
		return nil
	}
	return o.Tell()
}
