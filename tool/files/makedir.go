package files

import (
	"context"
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

//go:embed makedir.md
var makeDirDescription string

// MakeDir returns the tool make_directory, which makes a directory and those on
// the way to it. It succeeds where the directory exists.
func MakeDir(find Finder) troupe.Tool {
	return newTool("make_directory", strings.TrimSpace(makeDirDescription), find, makeDir)
}

type makeDirRequest struct {
	Path string `json:"path" jsonschema:"the directory, such as {session-folder}/chapters"`
}

func (r makeDirRequest) asked() string { return r.Path }

type makeDirResult struct {
	Success bool   `json:"success"`
	Path    string `json:"path"`
	Note    string `json:"note,omitempty"`
}

func makeDir(_ context.Context, ws *workspace.Workspace, _ *troupe.Run, in makeDirRequest) (makeDirResult, error) {
	loc, moved, err := ws.ResolveOutput(in.Path)
	if err != nil {
		return makeDirResult{}, err
	}
	if err := ws.MakeDir(loc); err != nil {
		return makeDirResult{}, err
	}
	if moved {
		return makeDirResult{true, loc.String(), "you may not write to the place you named; the directory was made here instead"}, nil
	}
	return makeDirResult{Success: true, Path: in.Path}, nil
}
