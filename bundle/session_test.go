package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/workspace"
)

func newSessions(t testing.TB, c *Catalog, id string) *sessions {
	t.Helper()
	s := &sessions{agent: define(t, c, id), outputs: t.TempDir(), open: make(map[string]*session)}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func uuid(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

// use opens a session as a run on that day would, and returns how to leave it.
func (s *sessions) use(t testing.TB, id, date string) (*session, func()) {
	t.Helper()
	x := s.join(id, date, nil)
	x.opening.Do(func() { x.err = s.start(t.Context(), x, nil) })
	if x.err != nil {
		t.Fatal(x.err)
	}
	return x, func() { s.leave(x) }
}

func isOpen(x *session) bool {
	loc, err := x.files.Resolve("{bundle-root}/config.yaml")
	if err == nil {
		_, err = x.files.ReadFile(loc)
	}
	return err == nil
}

func TestSessionsStayOpenWhileInUseAndThenForAWhile(t *testing.T) {
	s := newSessions(t, find(t, project(t), Config{}), "alex")
	busy, leave := s.use(t, uuid(1), "2026-11-15")
	var idle []*session
	for n := range maxIdle + 2 {
		x, leave := s.use(t, uuid(100+n), "2026-11-15")
		leave()
		idle = append(idle, x)
	}
	if !isOpen(busy) {
		t.Error("a session in use was closed")
	}
	for i, x := range idle {
		if isOpen(x) != (i >= 2) {
			t.Errorf("idle session %d is open: %v", i, isOpen(x))
		}
	}
	leave()
	again, leaveAgain := s.use(t, uuid(1), "2026-11-15")
	if again != busy {
		t.Error("an open session was opened again")
	}
	leaveAgain()
}

func TestASessionOfAnotherDayIsOpenedAnew(t *testing.T) {
	s := newSessions(t, find(t, project(t), Config{}), "alex")
	old, leaveOld := s.use(t, uuid(1), "2026-11-15")
	fresh, leaveFresh := s.use(t, uuid(1), "2026-11-16")
	for x, want := range map[*session]string{old: "2026-11-15", fresh: "2026-11-16"} {
		for _, name := range []string{"{date}", "{now}", "{timestamp}"} {
			if got, missing, err := x.workspace().Vars().Expand(name); err != nil || got != want || len(missing) > 0 {
				t.Errorf("%s is %s, %v", name, got, err)
			}
		}
		if !isOpen(x) {
			t.Error("a session in use was closed")
		}
	}
	leaveOld()
	if isOpen(old) || !isOpen(fresh) {
		t.Error("the old session outlives its last user, or the new one does not live")
	}
	leaveFresh()
}

func TestASessionIsOpenedOnceForManyUsers(t *testing.T) {
	s := newSessions(t, find(t, project(t), Config{}), "alex")
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			x := s.join(uuid(n%4), "2026-11-15", nil)
			x.opening.Do(func() { x.err = s.start(t.Context(), x, nil) })
			if x.err != nil || !isOpen(x) {
				t.Errorf("session %d: %v", n%4, x.err)
			}
			s.leave(x)
		})
	}
	wg.Wait()
	if len(s.open) != 4 || len(s.idle) != 4 {
		t.Errorf("%d sessions are open and %d idle", len(s.open), len(s.idle))
	}
}

func TestASessionThatCannotBeOpenedSaysWhy(t *testing.T) {
	dir := project(t)
	c := find(t, dir, Config{})
	s := newSessions(t, c, "alex")
	if err := s.start(t.Context(), &session{id: "../../x", date: "2026-11-15"}, nil); err == nil || !strings.Contains(err.Error(), "not a UUID") {
		t.Errorf("%v", err)
	}
	s.outputs = filepath.Join(dir, "file", "in")
	put(t, dir, "file", "not a directory")
	err := s.start(t.Context(), &session{id: uuid(1), date: "2026-11-15"}, nil)
	if err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}

func TestClosingTheCatalogClosesWhatItsAgentsHold(t *testing.T) {
	before := openFiles(t)
	c, err := Find(project(t), Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSessions(t, c, "alex")
	c.troops = append(c.troops, s)
	_, leave := s.use(t, uuid(1), "2026-11-15")
	leave()
	if openFiles(t) <= before {
		t.Error("nothing is held open")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open before and %d are after", before, after)
	}
}

func TestAWorkflowsVariablesHoldUntilTheNextWorkflow(t *testing.T) {
	s := newSessions(t, find(t, project(t), Config{}), "alex")
	x, leave := s.use(t, uuid(1), "2026-11-15")
	defer leave()
	knows := func(name string) bool {
		_, err := x.workspace().Resolve(name)
		_, unknown := err.(*workspace.UnknownVariable)
		return err == nil && !unknown
	}
	if knows("{validation}") {
		t.Error("a variable is known before its workflow")
	}
	w, err := s.agent.bundle.workflow(x.base, "{bundle-root}/workflows/intake/workflow.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	x.follow(w, nil)
	if !knows("{validation}") {
		t.Error("a variable of the workflow is not known")
	}
	put(t, s.agent.bundle.host, "workflows/other/workflow.yaml", "name: other\ninstructions: |\n  Do\n  it\n")
	if w, err = s.agent.bundle.workflow(x.base, "{bundle-root}/workflows/other/workflow.yaml", nil); err != nil {
		t.Fatal(err)
	}
	x.follow(w, nil)
	if knows("{validation}") {
		t.Error("a variable outlives its workflow")
	}
}

// openFiles counts the file descriptors of the process, where the system shows them.
func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("the system does not show open files: ", err)
	}
	return len(list)
}
