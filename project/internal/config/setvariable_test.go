package config

import (
	"os"
	"path/filepath"
	"testing"
)

// removing takes a variable away, and then does something with what would undo that.
func removing(name string, then func(undo func() error) error) func(dir string) error {
	return func(dir string) error {
		return holding(dir, none, Name, func(h *Held) error {
			undo, err := h.RemoveVariable(name)
			if err != nil || then == nil {
				return err
			}
			return then(undo)
		})
	}
}

func TestVariablesAreSetAndRemovedWhereTheyAre(t *testing.T) {
	const local = "# mine\nexport OFFICE=\"two\nlines\" # here\nHOME_KEY=h\n"
	const shared = "A=1\n\n# OFFICE=not this\nOFFICE = 'old'\nOFFICE_TWO=2\nOFFICE=older\nNOTE=\"says\nOFFICE=no\n\"\n"
	for name, test := range map[string]struct {
		change             func(dir string) error
		wantLocal, wantEnv string
	}{
		"set where it is": {func(dir string) error { return SetVariable(dir, "OFFICE", "new") }, "# mine\nOFFICE=new\nHOME_KEY=h\n", shared},
		"set anew":        {func(dir string) error { return SetVariable(dir, "B", "2") }, local, shared + "B=2\n"},
		"removed": {removing("OFFICE", nil),
			"# mine\nHOME_KEY=h\n", "A=1\n\n# OFFICE=not this\nOFFICE_TWO=2\nNOTE=\"says\nOFFICE=no\n\"\n"},
		"removed, and put back": {removing("OFFICE", func(undo func() error) error { return undo() }), local, shared},
		"not there":             {removing("OTHER", nil), local, shared},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{".env.local": local, ".env": shared} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := test.change(dir); err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{".env.local": test.wantLocal, ".env": test.wantEnv} {
				if got, _ := os.ReadFile(filepath.Join(dir, file)); string(got) != want {
					t.Errorf("%s is %q, want %q", file, got, want)
				}
			}
			if left := leftIn(t, dir, ".env", ".env.local"); left != nil {
				t.Errorf("there is %v", left)
			}
		})
	}
}

// Without a file there is one afterwards, which nobody else can read; a link stays one.
func TestTheFileOfVariablesIsNobodyElses(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	if err := SetVariable(dir, "A", "1"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".env")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Rename(file, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Skip("no links here: ", err)
	}
	if err := SetVariable(dir, "B", "2"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(elsewhere); string(got) != "A=1\nB=2\n" {
		t.Errorf("%q", got)
	}
}
