// Package worktest has work for workers that tests kill: runs of several kinds, on record in
// a store, that lose nothing and do nothing twice however often that happens.
package worktest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
)

// The kinds of work.
const (
	// Chore has branches that go on at the same time.
	Chore = "chore"
	// Question asks somebody in the middle.
	Question = "question"
	// Delivery changes a repository.
	Delivery = "delivery"
)

const branches, rounds = 3, 3

// takes is how long it takes to enter something.
func takes() time.Duration {
	if isLong() {
		return 500 * time.Millisecond
	}
	return 50 * time.Millisecond
}

// A Place is a directory that all workers share, with a ledger and a repository in it.
type Place string

// New makes a place for as long as the test.
func New(tb testing.TB) Place {
	tb.Helper()
	p := Place(tb.TempDir())
	err := os.Mkdir(p.repository(), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.repository(), "README.md"), []byte("# Todo\n"), 0o644)
	}
	if err != nil {
		tb.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-qm", "begin"}} {
		c := exec.CommandContext(tb.Context(), "git", args...)
		c.Dir = p.repository()
		if out, err := c.CombinedOutput(); err != nil {
			tb.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	return p
}

func (p Place) repository() string { return filepath.Join(string(p), "repository") }
func (p Place) ledger() string     { return filepath.Join(string(p), "ledger") }

// Kind returns what the nth of all runs is.
func Kind(n int) string {
	switch n % 12 {
	case 2, 5, 8, 11:
		return Question
	case 6:
		return Delivery
	}
	return Chore
}

// Upload implements [pipeline.Knowledge].
func (p Place) Upload(_ context.Context, d knowledge.Document) error {
	dir := filepath.Join(string(p), "knowledge")
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, url.PathEscape(d.Key)), []byte(d.Content), 0o644))
}

// Query implements [pipeline.Knowledge].
func (p Place) Query(context.Context, string, int) ([]knowledge.Passage, error) { return nil, nil }

type entry struct{ Branch, Round int }

// enter is a tool that must not be called again where nobody knows what came of it.
func (p Place) enter() troupe.Tool {
	return troupe.NewToolWithCall("enter", "Enters something into the ledger.", func(ctx context.Context, call *troupe.Invocation, _ entry) (string, error) {
		file, err := os.OpenFile(p.ledger(), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(file, call.ID)
		select {
		case <-time.After(takes()):
		case <-ctx.Done():
		}
		return "entered " + call.ID, errors.Join(err, file.Close())
	})
}

// Entries returns what is in the ledger.
func (p Place) Entries(tb testing.TB) []string {
	tb.Helper()
	data, err := os.ReadFile(p.ledger())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		tb.Fatal(err)
	}
	return strings.Fields(string(data))
}

// EntriesOf is how many entries a kind of work makes.
func EntriesOf(kind string) int {
	switch kind {
	case Chore:
		return branches * rounds
	case Question:
		return 2 * rounds
	}
	return 0
}
