package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// counted returns a function that says how many gits something has started.
func counted(t *testing.T) func(do func()) int {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho x >>"+log+"\nexec "+git+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func(do func()) int {
		t.Helper()
		if err := os.WriteFile(log, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		do()
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "x")
	}
}

// How a checkout stands is found out once for its commit and the branch's, and anew for others.
func TestHowACheckoutStandsIsFoundOutOnce(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt; echo B >new.txt")
	k.take("")
	for n := range 10 {
		k.own(fmt.Sprintf("echo %d >>a.txt", n))
	}
	count := counted(t)
	stand := func() { k.stands() }
	first, second := count(stand), count(stand)
	t.Log(first, second)
	if first > 60 || second > 3 {
		t.Errorf("it takes %d gits, and then %d", first, second)
	}
	s := k.stands()
	s.Parts[0].Undone, s.In = "changed", nil
	k.brings(true, false)
	k.build("echo C >c.txt")
	k.brings(true, true)
	sh(t, k.Top, "git reset -q --hard "+k.base)
	k.brings(false, true)
}

// What was undone is brought anew also where git has removed what it comes to.
func TestHowACheckoutStandsIsFoundOutAnewWhereGitHasCleanedUp(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt")
	k.own("echo mine >mine.txt")
	k.take("")
	k.back()
	k.brings(false, true)
	sh(t, k.Top, "git gc -q --prune=now")
	k.brings(false, true)
	k.take("")
	k.has("a.txt A\nmine.txt mine\nsub/b.txt b")
}
