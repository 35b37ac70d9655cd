package files

import (
	"context"
	_ "embed"

	"github.com/troupe-dev/troupe"
)

//go:embed save.md
var saveDescription string

// Save returns the tool save_output, which writes whole files and records each
// with a [troupe.ArtifactSaved] event. Of several writers of one file each
// replaces it as a whole.
func Save(find Finder) troupe.Tool {
	return newTool("save_output", described(saveDescription, ""), ofSession(find), save, troupe.RepeatSafe())
}

type saveRequest struct {
	FilePath string `json:"file_path" jsonschema:"where to save, such as {session-folder}/requirements.md; directories are created"`
	Content  string `json:"content" jsonschema:"the whole content of the file"`
}

func (r saveRequest) asked() string { return r.FilePath }

type saveResult struct {
	Success bool   `json:"success"`
	Path    string `json:"path"`
	Size    int64  `json:"size" jsonschema:"in bytes"`
	Note    string `json:"note,omitempty"`
}

func save(ctx context.Context, v view, run *troupe.Run, in saveRequest) (saveResult, error) {
	loc, name, moved, err := v.resolveOutput(in.FilePath)
	if err != nil {
		return saveResult{}, err
	}
	defer hold(loc).Unlock()
	if err := v.put(ctx, run, loc, in.Content); err != nil {
		return saveResult{}, err
	}
	out := saveResult{Success: true, Path: name, Size: int64(len(in.Content))}
	if moved {
		out.Path = v.names.show(loc)
		out.Note = "you may not write to the place you named; the file was saved here instead"
	}
	return out, nil
}
