package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func listed(t *testing.T, ws *Workspace, name string, depth int) (paths []string, truncated bool) {
	t.Helper()
	loc, err := ws.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ws.List(loc, depth)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Entries {
		path := e.Path
		if e.IsDir {
			path += "/"
		}
		if e.IsLink {
			path += "@"
		}
		paths = append(paths, path)
	}
	return paths, l.Truncated
}

func TestListShowsADirectoryInOrderAndFollowsNoLink(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	link(t, "workflows", w.bundle, "inside")
	link(t, w.outside, w.bundle, "outside")
	for _, c := range []struct {
		name  string
		depth int
		want  string
	}{
		{"{bundle-root}", 1, "config.yaml inside@ outside@ workflows/"},
		{"{bundle-root}/workflows", 3, "intake/ intake/steps/ intake/steps/step-01.md intake/workflow.yaml"},
		{"{bundle-root}/inside", 2, "intake/ intake/steps/ intake/workflow.yaml"},
		{"{project-root}/bmad/core", 2, "tasks/ tasks/workflow.md"},
		{".", 1, "notes.md"},
	} {
		got, truncated := listed(t, ws, c.name, c.depth)
		if strings.Join(got, " ") != c.want || truncated {
			t.Errorf("list %s = %v, %v; want %s", c.name, got, truncated, c.want)
		}
	}
	loc, _ := ws.Resolve("{bundle-root}")
	l, err := ws.List(loc, 1)
	if err != nil || l.Entries[0].Size != int64(len("user_name: Ada\n")) || l.Entries[0].Modified.IsZero() {
		t.Errorf("the first entry is %+v, %v", l.Entries, err)
	}
	_, err = ws.List(Location{loc.root, "missing"}, 1)
	wantRefusal(t, err, ErrNotFound, w.dir)
}

func TestListStopsAtItsLimitsAndSaysSo(t *testing.T) {
	w := newWorld(t)
	for i := range 1200 {
		put(t, w.session, fmt.Sprintf("many/file-%04d", i), "")
	}
	deep := w.session + "/deep"
	for range 40 {
		deep += "/d"
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	ws := openWith(t, Config{
		Roots:  []Root{{Name: SessionFolder, Dir: w.session, Access: ReadWrite}},
		Limits: Limits{Entries: 1000},
	})
	if got, truncated := listed(t, ws, "{session-folder}/many", 1); len(got) != 1000 || !truncated {
		t.Errorf("%d entries, %v", len(got), truncated)
	}
	if got, truncated := listed(t, ws, "{session-folder}", 3); len(got) > 1000 || !truncated {
		t.Errorf("%d entries, %v", len(got), truncated)
	}
	if got, truncated := listed(t, ws, "{session-folder}/deep", 1000); len(got) != 32 || !truncated {
		t.Errorf("%d levels, %v", len(got), truncated)
	}
	if got, truncated := listed(t, ws, "{session-folder}/deep", 3); len(got) != 3 || truncated {
		t.Errorf("%d levels, %v", len(got), truncated)
	}
}

func TestADirectoryThatWasReplacedIsNotEntered(t *testing.T) {
	w := newWorld(t)
	root, err := os.OpenRoot(w.bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	info, err := root.Lstat("workflows")
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Rename("workflows", "moved"); err != nil {
		t.Fatal(err)
	}
	put(t, w.bundle, "other/x", "x")
	link(t, "other", w.bundle, "workflows")
	_, err = openSame(root, info)
	wantRefusal(t, err, ErrDenied, w.dir)
}

func TestATreeDeeperThanAnyPathIsListedAndRemoved(t *testing.T) {
	w := newWorld(t)
	root, err := os.OpenRoot(w.session)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	element := strings.Repeat("d", 100)
	dir, err := root.OpenRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	for range 60 { // 6,000 bytes in all
		if err := dir.Mkdir(element, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := dir.OpenRoot(element)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		dir = below
	}
	dir.Close()
	ws := w.open(t)
	if got, truncated := listed(t, ws, "{session-folder}", 1000); len(got) != 33 || !truncated {
		t.Errorf("%d entries, %v", len(got), truncated)
	}
	if err := RemoveAll(root, element); err != nil {
		t.Fatal(err)
	}
	wantOnly(t, w.session, "notes.md")
	if _, err := os.Stat(filepath.Join(w.session, "notes.md")); err != nil {
		t.Error(err)
	}
}
