package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/knowledge"
)

func openWith(t *testing.T, yaml string) *stage {
	t.Helper()
	return openIn(t, t.TempDir(), yaml)
}

// openIn opens a project in a directory for as long as the test.
func openIn(t *testing.T, dir, yaml string) *stage {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, Name), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(dir, Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := p.stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKnowledgeBelongsToAUserUnlessItIsShared(t *testing.T) {
	for yaml, shared := range map[string]bool{
		"server: {users: {ann: A, ben: B}}":                              false,
		"server: {users: {ann: A, ben: B}}\nknowledge: {user: team}":     false,
		"server: {users: {ann: A, ben: B}}\nknowledge: {shared: true}\n": true,
		"{}": true, // there is one person
	} {
		of, err := openWith(t, yaml).openKnowledge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := of("ann").Upload(t.Context(), knowledge.Document{Name: "plan.md", Content: "The otter sleeps.", Key: "k"}); err != nil {
			t.Fatal(err)
		}
		for user, want := range map[string]bool{"ann": true, "ben": shared, "": shared, "server:ann": shared, "local": shared} {
			found, err := of(user).Query(t.Context(), "otter", 5)
			if err != nil || (len(found) > 0) != want {
				t.Errorf("%s: %q finds %v, %v", yaml, user, found, err)
			}
		}
	}
	s := openWith(t, "server: {users: {ann: A}}\nmcp: {kb: {command: kb}}\nknowledge: {server: kb}\n")
	if _, err := s.openKnowledge(t.Context()); err == nil || !strings.Contains(err.Error(), "knowledge.shared") {
		t.Errorf("one account for all: %v", err)
	}
}
