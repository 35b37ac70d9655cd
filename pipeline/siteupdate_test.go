package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/git"
)

// A delivery may be taken while one of its tools is at work, which has read the site long before: what
// the tool puts on file then is its own, and the take stays there.
func TestATakeDuringAToolStaysOnFile(t *testing.T) {
	for name, work := range map[string]func(*openSite, state) error{
		"checks that a person agreed to": func(o *openSite, _ state) error {
			return o.adoptChecks([]checks.Check{{Name: "mine"}})
		},
		"checks that were found": func(o *openSite, at state) error {
			o.Own = true
			_, err := o.findNewChecks(t.Context(), at)
			return err
		},
		"a setup": func(o *openSite, at state) error {
			out, err := o.setUpAgain(t.Context(), setupRequest{state: at, At: time.Now()})
			if !out.OK {
				err = errors.Join(err, fmt.Errorf("%+v", out))
			}
			return err
		},
		"a delivery that goes on": func(o *openSite, _ state) error {
			o.refuse = errors.New("no sandbox")
			_, err := o.prepared(t.Context(), time.Now())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, at := filled(t, map[string]string{"go.mod": "module x\n\ngo 1.24\n", "a.go": "package x\n", "requirements.txt": "one\n"}, Repository{})
			write(t, o.Worktree, map[string]string{"requirements.txt": "one\ntwo\n"})
			var err error
			if at.Tree, err = o.worktree.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := *o.Site
			want, err := ReadSite(o.folder)
			if err != nil {
				t.Fatal(err)
			}
			want.Brought, want.Into, want.Takes = []git.Part{{Before: "b", After: "a", Tip: "t"}}, []string{"main"}, []Take{{Back: true}}
			if err := want.Save(o.folder); err != nil {
				t.Fatal(err)
			}
			if err := work(o, at); err != nil {
				t.Fatal(err)
			}
			got, err := ReadSite(o.folder)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual([]any{got.Brought, got.Into, got.Takes}, []any{want.Brought, want.Into, want.Takes}) {
				t.Errorf("on file are %+v, %q and %v", got.Brought, got.Into, got.Takes)
			}
			if reflect.DeepEqual([]any{before.Checks, before.SetupTrees, before.Sandbox}, []any{got.Checks, got.SetupTrees, got.Sandbox}) {
				t.Errorf("the tool's own is not on file: %+v", got)
			}
			if !reflect.DeepEqual(o.Site, got) {
				t.Errorf("the tool has %+v, and on file is %+v", o.Site, got)
			}
		})
	}
}

// What somebody takes back while the result is about to be shown is not shown again.
func TestWhatIsTakenBackMeanwhileIsNotShown(t *testing.T) {
	o, _ := filled(t, map[string]string{"a.go": "package x\n"}, Repository{})
	if err := o.update(func(s *Site) { s.Own = true }); err != nil {
		t.Fatal(err)
	}
	now := *o.Site
	now.Takes = []Take{{Back: true}}
	if err := now.Save(o.folder); err != nil {
		t.Fatal(err)
	}
	if out, err := o.publish(t.Context()); err != nil || out != (publication{}) {
		t.Errorf("%+v, %v", out, err)
	}
	if got, err := ReadSite(o.folder); err != nil || !reflect.DeepEqual(got.Takes, now.Takes) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Whoever changes what is on file of a delivery keeps others from it meanwhile.
func TestChangesOfASiteAreMadeOneAfterTheOther(t *testing.T) {
	data := t.TempDir()
	folder := filepath.Join(data, "session")
	open := func() *openSite { return &openSite{Site: &Site{ID: "x"}, folder: folder} }
	if err := open().update(func(*Site) { t.Error("it is changed") }); err == nil || !strings.Contains(err.Error(), "there is no delivery x any more") {
		t.Error(err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a delivery that is gone has a folder again")
	}
	if err := (&Site{ID: "x"}).Save(folder); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if err := open().update(func(s *Site) {
				s.SetupTrees = append(s.SetupTrees, fmt.Sprint(n))
				// The file by which commands keep others from taking and dropping deliveries.
				if isFree, err := flock.New(filepath.Join(data, "lock")).TryLock(); isFree || err != nil {
					t.Errorf("others may change it, too: %v", err)
				}
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s, err := ReadSite(folder); err != nil || len(s.SetupTrees) != 20 {
		t.Errorf("%+v, %v", s, err)
	}
}
