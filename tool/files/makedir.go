package files

import (
	"context"
	_ "embed"

	"github.com/troupe-dev/troupe"
)

//go:embed makedir.md
var makeDirDescription string

// MakeDir returns the tool make_directory, which makes a directory and those on
// the way to it. It succeeds where the directory exists.
func MakeDir(find Finder) troupe.Tool { return makeDirAt(ofSession(find)) }

func makeDirAt(at place) troupe.Tool {
	return newTool("make_directory", described(makeDirDescription, at.names.writing()), at, makeDir, troupe.RepeatSafe())
}

type makeDirRequest struct {
	Path string `json:"path" jsonschema:"the directory"`
}

func (r makeDirRequest) asked() string { return r.Path }

type makeDirResult struct {
	Success bool   `json:"success"`
	Path    string `json:"path"`
	Note    string `json:"note,omitempty"`
}

func makeDir(_ context.Context, v view, _ *troupe.Run, in makeDirRequest) (makeDirResult, error) {
	loc, name, moved, err := v.resolveOutput(in.Path)
	if err != nil {
		return makeDirResult{}, err
	}
	if err := v.MakeDir(loc); err != nil {
		return makeDirResult{}, err
	}
	if moved {
		return makeDirResult{true, v.names.show(loc), "you may not write to the place you named; the directory was made here instead"}, nil
	}
	return makeDirResult{Success: true, Path: name}, nil
}
