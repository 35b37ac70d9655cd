package eval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/project"
)

// Whoever stops a suite waits for nothing more, and is told of no run that was not made.
func TestASuiteThatIsStoppedStops(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "suite.yaml")
	if err := os.WriteFile(file, []byte("agent: mira\nparallel: 1\nrepeats: 5\nmodels: [rehearsal]\ncases: [{name: greets, messages: [hello], checks: [{stop: answered}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	suite, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	var told []Played
	begun := 0
	_, err = Run(ctx, suite, Options{Project: dir, Begun: func(of int) { begun = of }, Done: func(p Played, n, of int) {
		told = append(told, p)
		if n != 1 || of != 5 || begun != 5 {
			t.Errorf("this is run %d of %d, and %d were begun", n, of, begun)
		}
		stop(enough)
	}})
	if !errors.Is(err, enough) || len(told) != 1 || !told[0].Passed() {
		t.Errorf("%v, and was told of %+v", err, told)
	}
}
