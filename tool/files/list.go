package files

import (
	"cmp"
	"context"
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

//go:embed list.md
var listDescription string

// List returns the tool list_files, which lists one directory.
func List(find Finder) troupe.Tool {
	return newTool("list_files", strings.TrimSpace(listDescription), find, list)
}

type listRequest struct {
	Path string `json:"path,omitempty" jsonschema:"the directory, such as {bundle-root}/workflows, or a pattern such as docs/*prd*.md; {session-folder} by default"`
}

func (r listRequest) asked() string { return r.Path }

type listResult struct {
	Success bool    `json:"success"`
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
	// Truncated says that there are more entries than are listed.
	Truncated bool `json:"truncated,omitempty"`
}

type entry struct {
	Name string `json:"name"`
	Type string `json:"type" jsonschema:"file, directory or link"`
	Size int64  `json:"size" jsonschema:"of a file, in bytes"`
}

// entryOverhead is what an entry takes in a result beside its name.
const entryOverhead = 64

func list(_ context.Context, ws *workspace.Workspace, _ *troupe.Run, in listRequest) (listResult, error) {
	path := cmp.Or(in.Path, "{"+workspace.SessionFolder+"}")
	if workspace.IsPattern(path) {
		return listMatches(ws, path)
	}
	loc, err := ws.Resolve(path)
	if err != nil {
		return listResult{}, err
	}
	listing, err := ws.List(loc, 1)
	if err != nil {
		return listResult{}, err
	}
	out := listResult{Success: true, Path: path, Entries: []entry{}, Truncated: listing.Truncated}
	left := room
	for _, found := range listing.Entries {
		if left -= encodedSize(found.Path) + entryOverhead; left < 0 {
			out.Truncated = true
			break
		}
		e := entry{Name: found.Path, Type: "file", Size: found.Size}
		switch {
		case found.IsDir:
			e.Type, e.Size = "directory", 0
		case found.IsLink:
			e.Type, e.Size = "link", 0
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

// listMatches lists the files that a pattern matches, by names that can be read.
func listMatches(ws *workspace.Workspace, pattern string) (listResult, error) {
	found, err := ws.Glob(pattern)
	if err != nil {
		return listResult{}, err
	}
	out := listResult{Success: true, Path: pattern, Entries: []entry{}}
	left := room
	for _, loc := range found {
		described, err := ws.Stat(loc)
		if err != nil {
			continue // gone since it was listed, or not a file
		}
		if left -= encodedSize(loc.String()) + entryOverhead; left < 0 {
			out.Truncated = true
			break
		}
		out.Entries = append(out.Entries, entry{Name: loc.String(), Type: "file", Size: described.Size})
	}
	return out, nil
}
