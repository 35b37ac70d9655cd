package files

import (
	"context"
	_ "embed"
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

//go:embed list.md
var listDescription string

// List returns the tool list_files, which lists one directory.
func List(find Finder) troupe.Tool { return listAt(ofSession(find)) }

func listAt(at place) troupe.Tool {
	return newTool("list_files", described(listDescription, at.names.listing()), at, list, troupe.ReadOnly())
}

type listRequest struct {
	Path string `json:"path,omitempty" jsonschema:"the directory, or a pattern such as docs/*prd*.md"`
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

func list(_ context.Context, v view, _ *troupe.Run, in listRequest) (listResult, error) {
	tops := v.names.tops(in.Path)
	if len(tops) > 1 {
		return listFolders(tops), nil
	}
	if workspace.IsPattern(tops[0]) {
		return listMatches(v.Workspace, tops[0])
	}
	loc, path, err := v.resolve(tops[0])
	if err != nil {
		return listResult{}, err
	}
	listing, err := v.List(loc, 1)
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

// listFolders lists the folders of an agent that has several.
func listFolders(names []string) listResult {
	out := listResult{Success: true, Path: ".", Entries: []entry{}}
	for _, name := range names {
		out.Entries = append(out.Entries, entry{Name: name, Type: "directory"})
	}
	return out
}

// listMatches lists the files that a pattern matches, by names that can be read.
func listMatches(ws *workspace.Workspace, pattern string) (listResult, error) {
	found, err := ws.Glob(pattern)
	if errors.Is(err, workspace.ErrNotFound) {
		found, err = nil, nil // where there is no folder nothing matches
	}
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
