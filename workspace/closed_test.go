package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestClosedPlacesAreOpenToNoRoot(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"data/db": "secret", "data/mine/a.md": "mine", "data/theirs/a.md": "secret", "troupe.yaml": "model: x", "docs/a.md": "a", "Data2/x.md": "x", "data2/x.md": "secret",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("../data", filepath.Join(dir, "docs/in")), os.Symlink("troupe.yaml", filepath.Join(dir, "cfg")), os.Symlink("data", filepath.Join(dir, "way"))); err != nil {
		t.Fatal(err)
	}
	closed := []Closed{{filepath.Join(dir, "data"), NoAccess}, {filepath.Join(dir, "troupe.yaml"), ReadOnly}, {filepath.Join(dir, "new"), ReadOnly}, {filepath.Join(dir, "data2"), NoAccess}}
	ws := openWith(t, Config{Closed: closed, Roots: []Root{
		{Name: "all", Dir: dir, Access: ReadWrite},
		{Name: "inside", Dir: filepath.Join(dir, "data/theirs"), Access: ReadWrite},
		{Name: "linked", Dir: filepath.Join(dir, "way"), Access: ReadWrite},
		{Name: SessionFolder, Dir: filepath.Join(dir, "data/mine"), Access: ReadWrite, Opens: true},
	}})
	read := func(name string) error {
		loc, err := ws.Resolve(name)
		if err == nil {
			_, err = ws.ReadFile(loc)
		}
		return err
	}
	write := func(name string) error {
		loc, _, err := ws.ResolveOutput(name)
		if err == nil {
			err = ws.Write(loc, []byte("new"))
		}
		return err
	}
	for _, name := range []string{"{all}/data/db", "{all}/docs/in/db", "{all}/docs/../data/./db", "{inside}/a.md", "{linked}/db", "{linked}/theirs/a.md", "{all}/way/theirs/a.md"} {
		if err := read(name); !errors.Is(err, ErrDenied) {
			t.Errorf("reading %s: %v", name, err)
		}
	}
	for _, name := range []string{
		"{all}/data/db", "{all}/DATA/db", "{all}/data/new/x", "{all}/troupe.yaml", "{all}/Troupe.YAML", "{all}/cfg", "{all}/new", "{all}/new/x", "{all}/NEW/x", "{inside}/b.md", "{linked}/theirs/b.md",
	} {
		// A workspace without documents moves what it may not write into the session folder.
		loc, moved, err := ws.ResolveOutput(name)
		if err == nil && !moved {
			err = ws.Write(loc, []byte("new"))
		}
		if err == nil && loc.Root() != SessionFolder {
			t.Errorf("%s was written at %s", name, loc)
		}
	}
	for _, name := range []string{"{all}/docs/a.md", "{all}/troupe.yaml", "{all}/cfg", "{all}/data/mine/a.md", "{session-folder}/a.md", "{all}/Data2/x.md"} {
		if err := read(name); err != nil {
			t.Errorf("reading %s: %v", name, err)
		}
	}
	for _, name := range []string{"{all}/docs/b.md", "{all}/data/mine/b.md", "{session-folder}/c.md", "{all}/database/x.md"} {
		if err := write(name); err != nil {
			t.Errorf("writing %s: %v", name, err)
		}
	}
	for name, content := range map[string]string{"data/db": "secret", "data/theirs/a.md": "secret", "troupe.yaml": "model: x"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	loc, err := ws.Resolve("{all}")
	if err != nil {
		t.Fatal(err)
	}
	listing, err := ws.List(loc, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range listing.Entries {
		if e.Path == "data" || e.Path == "data/db" || e.Path == "data/theirs" {
			t.Errorf("%s is listed", e.Path)
		}
	}
}
