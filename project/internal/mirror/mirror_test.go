package mirror

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// memory is blobs in memory.
type memory struct {
	files map[string]map[string]string
	blobs map[string][]byte
	sent  int
	fails error
}

func (m *memory) Files(_ context.Context, space string) (map[string]string, error) {
	return maps.Clone(m.files[space]), m.fails
}

func (m *memory) PutFile(_ context.Context, space, path, hash string, content []byte) error {
	if m.fails != nil {
		return m.fails
	}
	if m.files[space] == nil {
		m.files[space] = map[string]string{}
	}
	m.files[space][path], m.blobs[hash] = hash, content
	m.sent++
	return nil
}

func (m *memory) ReadBlob(_ context.Context, hash string) ([]byte, error) {
	return m.blobs[hash], m.fails
}

func (m *memory) DropFile(_ context.Context, space, path string) error {
	delete(m.files[space], path)
	if path == "" {
		delete(m.files, space)
	}
	return m.fails
}

// A machine has a working copy.
type machine struct {
	*Mirror
	t   *testing.T
	dir string
}

func (m *machine) put(name, content string) {
	m.t.Helper()
	file := filepath.Join(m.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) push() {
	m.t.Helper()
	if err := m.Push(m.t.Context(), "s", m.dir); err != nil {
		m.t.Fatal(err)
	}
}

// pulled brings the copy up to date and returns what is in it.
func (m *machine) pulled() string {
	m.t.Helper()
	if err := m.Pull(m.t.Context(), "s", m.dir); err != nil {
		m.t.Fatal(err)
	}
	var all []string
	filepath.WalkDir(m.dir, func(file string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			content, _ := os.ReadFile(file)
			name, _ := filepath.Rel(m.dir, file)
			all = append(all, fmt.Sprintf("%s=%s", filepath.ToSlash(name), content))
		}
		return nil
	})
	return strings.Join(all, " ")
}

func TestWhatOneMachineSavesAnotherHas(t *testing.T) {
	blobs := &memory{files: map[string]map[string]string{}, blobs: map[string][]byte{}}
	newMachine := func() *machine {
		return &machine{New(blobs, slog.New(slog.DiscardHandler)), t, filepath.Join(t.TempDir(), "folder")}
	}
	a, b := newMachine(), newMachine()
	expect := func(m *machine, want string) {
		t.Helper()
		if got := m.pulled(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	expect(b, "")
	a.put("one.md", "1")
	a.put("sub/two.md", "2")
	a.put(".troupe-tmp-half", "{}")
	a.push()
	expect(b, "one.md=1 sub/two.md=2")
	sent := blobs.sent
	a.push()
	if blobs.sent != sent {
		t.Error("what was not changed was sent again")
	}
	b.put("one.md", "changed")
	b.push()
	expect(a, ".troupe-tmp-half={} one.md=changed sub/two.md=2")
	a.put("one.md", "here alone") // and not pushed
	expect(a, ".troupe-tmp-half={} one.md=here alone sub/two.md=2")
	expect(b, "one.md=here alone sub/two.md=2")
	if err := os.Remove(filepath.Join(a.dir, "sub", "two.md")); err != nil {
		t.Fatal(err)
	}
	a.push()
	expect(b, "one.md=here alone")
	a.put("one.md", "by a")
	a.push()
	b.put("one.md", "by b, late")
	expect(b, "one.md=by a") // what is stored counts
	expect(newMachine(), "one.md=by a")
	if err := a.Forget(t.Context(), "s"); err != nil || len(blobs.files["s"]) != 0 {
		t.Errorf("%v, %v", err, blobs.files)
	}
}

func TestNothingLeavesTheFolder(t *testing.T) {
	blobs := &memory{files: map[string]map[string]string{}, blobs: map[string][]byte{}}
	outside := t.TempDir()
	m := &machine{New(blobs, slog.New(slog.DiscardHandler)), t, t.TempDir()}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(m.dir, "link")); err != nil {
		t.Skip(err)
	}
	m.push()
	if len(blobs.files["s"]) != 0 {
		t.Errorf("a link was followed: %v", blobs.files)
	}
	if err := blobs.PutFile(t.Context(), "s", "../escaped", hashOf([]byte("x")), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := m.Pull(t.Context(), "s", m.dir); err == nil {
		t.Error("a file was written outside")
	}
}
