package converse

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/workspace"
)

// HostPath returns where a file is on this machine that an agent has saved under a name
// in a session. It is empty for names that say nothing about that.
func HostPath(p *project.Project, folders *outputs.Folders, session, saved string) string {
	if name, ok := InSession(saved); ok {
		folder, err := folders.Path(session)
		if err != nil {
			return ""
		}
		return filepath.Join(folder, filepath.FromSlash(name))
	}
	if name, ok := strings.CutPrefix(saved, "{"+workspace.ProjectRoot+"}/"); ok {
		for _, dir := range []string{filepath.Join(p.DataDir(), "documents"), p.Dir()} {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Lstat(file); err == nil {
				return file
			}
		}
	}
	return ""
}
