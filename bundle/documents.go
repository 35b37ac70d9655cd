package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// Documents say where the documents of a project are: what its agents name inside the
// project and outside of their sessions. The zero value keeps them in the directory
// documents beside the session folders, the same for everybody.
type Documents struct {
	// Dir is the directory that holds them, or their earlier versions if they are in
	// place.
	Dir string
	// InPlace has documents be the project's own files: those in the folders that the
	// bundle's configuration names, and no others.
	InPlace bool
	// Owner, where set, says whose documents a run sees: each name has documents of its
	// own, and the empty one those of everybody.
	Owner func(*troupe.Run) string
}

// DirOf returns the directory that holds an owner's documents.
func (d Documents) DirOf(owner string) string {
	if owner == "" {
		return d.Dir
	}
	return filepath.Join(d.Dir, ownersDir, safeName(owner))
}

// documentsOf returns the documents of a run, whose directory it makes.
func (s *sessions) documentsOf(run *troupe.Run) (workspace.Documents, error) {
	o := s.options.Documents
	o.Dir = cmp.Or(o.Dir, filepath.Join(filepath.Dir(s.outputs), "documents"))
	dir := o.Dir
	if o.Owner != nil && run != nil {
		dir = o.DirOf(o.Owner(run))
	}
	b := s.agent.bundle
	if rel, err := filepath.Rel(b.catalog.project, b.projectDir()); err == nil && rel != "." && filepath.IsLocal(rel) {
		dir = filepath.Join(dir, rel) // a project inside this one
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return workspace.Documents{}, fmt.Errorf("make documents directory: %w", causeOf(err))
	}
	return workspace.Documents{Dir: dir, InPlace: o.InPlace, Folders: b.DocumentFolders()}, nil
}

// documentsThere returns the documents that everybody has, if there are any yet.
func (s *sessions) documentsThere() workspace.Documents {
	o := s.options.Documents
	dir := cmp.Or(o.Dir, filepath.Join(filepath.Dir(s.outputs), "documents"))
	if !isDir(dir) {
		return workspace.Documents{}
	}
	return workspace.Documents{Dir: dir, InPlace: o.InPlace, Folders: s.agent.bundle.DocumentFolders()}
}

// safeName makes a name of a directory of any text.
func safeName(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// DocumentFolders returns the directories in the project that the configuration names
// for documents, with slashes: docs, _bmad-output/planning-artifacts.
func (b *Bundle) DocumentFolders() []string {
	var folders []string
	ws, err := b.files()
	if err != nil {
		return nil
	}
	settings, _ := b.settings(ws)
	for _, s := range settings {
		value, _, err := ws.Vars().Expand(s.Value)
		if err != nil || strings.ContainsAny(value, "\n*") {
			continue
		}
		folder, inProject := strings.CutPrefix(value, "{"+workspace.ProjectRoot+"}/")
		if !inProject && !namesFolder(s.Name) {
			continue
		}
		folder = strings.TrimPrefix(folder, "./")
		if strings.ContainsAny(folder, "{}") || folder == "" || path.IsAbs(folder) || isSwitch(folder) {
			continue
		}
		if hasExtension(folder) {
			folder = path.Dir(folder)
		}
		folder = path.Clean(folder)
		isInstallation := b.tree != "" && (folder == path.Base(b.tree) || strings.HasPrefix(folder, path.Base(b.tree)+"/"))
		if filepath.IsLocal(folder) && folder != "." && !isInstallation && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	if !slices.Contains(folders, "docs") && (b.Layout == LayoutV4 || len(folders) == 0) {
		folders = append(folders, "docs")
	}
	return folders
}

// isSwitch says whether a value is the answer to a question and names nothing:
// install_user_docs: false.
func isSwitch(value string) bool {
	return slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "none", "null"}, strings.ToLower(value))
}

// namesFolder says whether a setting of that name is a directory, or a file in one, by
// the words that authors use for it.
func namesFolder(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "language") || strings.Contains(name, "format") {
		return false
	}
	for _, word := range []string{"folder", "artifacts", "location", "file", "docs", "knowledge", "output", "directory", "_dir", "_path", "debuglog"} {
		if strings.Contains(name, word) && !strings.Contains(name, "bmad_folder") && !strings.Contains(name, "pattern") {
			return true
		}
	}
	return false
}

// ownersDir has a directory for each owner of documents.
const ownersDir = ".troupe-owners"

// Places returns the directories that documents are in, of everybody.
func (d Documents) Places() ([]string, error) {
	owners, err := os.ReadDir(filepath.Join(d.Dir, ownersDir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	places := []string{d.Dir}
	for _, owner := range owners {
		if owner.IsDir() {
			places = append(places, filepath.Join(d.Dir, ownersDir, owner.Name()))
		}
	}
	return places, err
}
