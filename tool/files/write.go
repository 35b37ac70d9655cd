package files

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

//go:embed write.md
var writeDescription string

// Write returns the tool write_file, for agents that are not of a bundle. It is
// save_output under the name and with the arguments that models expect, and says
// whether the file is new.
func Write(find Finder) troupe.Tool {
	return newTool("write_file", strings.TrimSpace(writeDescription), find, write)
}

type writeRequest struct {
	FilePath string `json:"file_path" jsonschema:"where to write, such as {session-folder}/src/main.go; directories are created"`
	Content  string `json:"content" jsonschema:"the whole content of the file"`
}

func (r writeRequest) asked() string { return r.FilePath }

type writeResult struct {
	saveResult
	Created bool `json:"created" jsonschema:"whether there was no such file before"`
}

func write(ctx context.Context, ws *workspace.Workspace, run *troupe.Run, in writeRequest) (writeResult, error) {
	loc, _, err := ws.ResolveOutput(in.FilePath)
	if err != nil {
		return writeResult{}, err
	}
	_, missing := ws.Stat(loc)
	saved, err := save(ctx, ws, run, saveRequest(in))
	return writeResult{saved, errors.Is(missing, workspace.ErrNotFound)}, err
}
