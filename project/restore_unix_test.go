//go:build unix

package project_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
)

// saved returns a backup of a project with one session, and the session's id.
func saved(t *testing.T, yaml string, also func(p *project.Project)) (archive []byte, session string) {
	t.Helper()
	p := open(t, write(t, yaml), project.Options{})
	outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), agent(t, p, "clerk"), troupe.Input{Text: "hello"}))
	if err != nil {
		t.Fatal(err)
	}
	if also != nil {
		also(p)
	}
	var out bytes.Buffer
	if _, err := p.Backup(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), outcome.Session
}

// What root restores belongs to whom the project belongs to, who could not use it otherwise.
func TestWhatIsRestoredBelongsToTheProjectsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to restore for somebody else")
	}
	const yaml = "agents: {clerk: {instructions: You answer.}}\n"
	archive, _ := saved(t, yaml, nil)
	dir := write(t, yaml)
	if err := os.Chown(dir, 65534, 65533); err != nil {
		t.Fatal(err)
	}
	restored := open(t, dir, project.Options{})
	if _, err := restored.Restore(t.Context(), bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := filepath.WalkDir(restored.DataDir(), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 65534 || owner.Gid != 65533 {
			t.Errorf("%s belongs to %d:%d", name, owner.Uid, owner.Gid)
		}
		n++
		return nil
	})
	if err != nil || n < 4 {
		t.Errorf("%d files: %v", n, err)
	}
}

// Folders of sessions that are not in the saved store, as of those that begin while it is
// saved, are not saved, nor are locks; and none is listed that the store does not have.
func TestNoSessionIsSavedOrListedThatTheStoreDoesNotHave(t *testing.T) {
	const ghost = "0b1d0c71-0000-4000-8000-000000000000"
	var copied string
	archive, session := saved(t, "agents: {clerk: {instructions: You answer.}}\n", func(p *project.Project) {
		all := filepath.Join(p.DataDir(), "agent-outputs")
		found, err := p.Sessions(t.Context(), outputs.Filter{})
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		manifest, err := os.ReadFile(filepath.Join(all, found[0].SessionID, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		copied = strings.ReplaceAll(string(manifest), found[0].SessionID, ghost)
		if err := errors.Join(os.Mkdir(filepath.Join(all, ghost), 0o700), os.WriteFile(filepath.Join(all, ghost, "manifest.json"), []byte(copied), 0o600)); err != nil {
			t.Fatal(err)
		}
		if found, err := p.Sessions(t.Context(), outputs.Filter{}); err != nil || len(found) != 1 || found[0].SessionID == ghost {
			t.Errorf("listed are %v, %v", found, err)
		}
	})
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(unpacked); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	list := strings.Join(names, "\n")
	if strings.Contains(list, ghost) || strings.Contains(list, "owner-") || !strings.Contains(list, session+"/manifest.json") || !strings.Contains(list, "troupe.db") {
		t.Errorf("saved are\n%s", list)
	}
}
