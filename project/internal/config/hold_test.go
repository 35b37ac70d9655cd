package config

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// leftIn are the files of a directory beside those that belong there.
func leftIn(t *testing.T, dir string, own ...string) (left []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(own, e.Name()) {
			left = append(left, e.Name())
		}
	}
	return left
}

// changeMany sets limits of agents and variables, all at the same time.
func changeMany(dir, who string) error {
	var wg sync.WaitGroup
	errs := make([]error, 40)
	for i := range errs {
		wg.Go(func() {
			name := fmt.Sprintf("%s%d", who, i)
			if errs[i] = Change(dir, map[string]string{"agents." + name + ".model": "stub/" + name}, none); errs[i] == nil {
				errs[i] = SetVariable(dir, strings.ToUpper(name), "set")
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

const changesIn = "TROUPE_TEST_CHANGES_IN"

// Of changes that are made at the same time, here and in other processes, none is lost, and
// nothing is left behind.
func TestChangesAtTheSameTimeAreAllMade(t *testing.T) {
	if dir := os.Getenv(changesIn); dir != "" {
		if err := changeMany(dir, os.Getenv("TROUPE_TEST_WHO")); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Name), []byte("# Ours.\nproviders: {stub: {base_url: \"http://127.0.0.1:1/v1\"}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	people := []string{"ann", "bob", "here"}
	var wg sync.WaitGroup
	for _, who := range people[:2] {
		wg.Go(func() {
			c := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$")
			c.Env = append(os.Environ(), changesIn+"="+dir, "TROUPE_TEST_WHO="+who)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", who, err, out)
			}
		})
	}
	if err := changeMany(dir, people[2]); err != nil {
		t.Error(err)
	}
	wg.Wait()
	c, err := Load(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	lookup, err := Environment(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range people {
		for i := range 40 {
			name := fmt.Sprintf("%s%d", who, i)
			if got := c.Agents[name].Model; len(got) != 1 || got[0] != "stub/"+name {
				t.Errorf("the model of %s is %v", name, got)
			}
			if value, _ := lookup(strings.ToUpper(name)); value != "set" {
				t.Errorf("the variable of %s is %q", name, value)
			}
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, Name)); !strings.HasPrefix(string(text), "# Ours.\n") {
		t.Errorf("the comment is gone:\n%.100s", text)
	}
	if left := leftIn(t, dir, Name, ".env"); left != nil {
		t.Errorf("there is %v", left)
	}
}

// A file that may not be written is said in words that a page can show.
func TestAConfigurationThatMayNotBeWrittenIsSaidPlainly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everything")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	for file, err := range map[string]error{Name: Change(dir, map[string]string{"model": "stub/a"}, none), ".env": SetVariable(dir, "A", "b")} {
		if err == nil || err.Error() != "nothing was changed: Troupe may not write "+file+" or its directory" {
			t.Errorf("%s: %v", file, err)
		}
	}
}
