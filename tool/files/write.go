package files

import (
	"context"
	_ "embed"
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

//go:embed write.md
var writeDescription string

// Write returns the tool write_file, for agents that are not of a bundle. It is
// save_output under the name and with the arguments that models expect, and says
// whether the file is new.
func Write(find Finder) troupe.Tool { return writeAt(ofSession(find)) }

func writeAt(at place) troupe.Tool {
	return newTool("write_file", described(writeDescription, at.names.writing()), at, write, troupe.RepeatSafe())
}

type writeRequest struct {
	FilePath string `json:"file_path" jsonschema:"where to write; directories are created"`
	Content  string `json:"content" jsonschema:"the whole content of the file"`
}

func (r writeRequest) asked() string { return r.FilePath }

type writeResult struct {
	saveResult
	Created bool `json:"created" jsonschema:"whether there was no such file before"`
}

func write(ctx context.Context, v view, run *troupe.Run, in writeRequest) (writeResult, error) {
	loc, _, _, err := v.resolveOutput(in.FilePath)
	if err != nil {
		return writeResult{}, err
	}
	_, missing := v.Stat(loc)
	saved, err := save(ctx, v, run, saveRequest(in))
	return writeResult{saved, errors.Is(missing, workspace.ErrNotFound)}, err
}
