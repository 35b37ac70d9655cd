package files

import (
	"context"
	_ "embed"

	"github.com/troupe-dev/troupe"
)

//go:embed list.md
var listDescription string

// List returns the tool list_files, which lists one directory.
func List(find Finder) troupe.Tool { return listAt(ofSession(find)) }

func listAt(at place) troupe.Tool {
	return newTool("list_files", described(listDescription, at.names.listing()), at, list, troupe.ReadOnly())
}

type listRequest struct {
	Path string `json:"path,omitempty" jsonschema:"the directory"`
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
