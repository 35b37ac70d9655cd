package files

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

//go:embed save.md
var saveDescription string

// Save returns the tool save_output, which writes whole files and records each
// with a [troupe.ArtifactSaved] event. Of several writers of one file each
// replaces it as a whole.
func Save(find Finder) troupe.Tool {
	return newTool("save_output", strings.TrimSpace(saveDescription), find, save)
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

func save(ctx context.Context, ws *workspace.Workspace, run *troupe.Run, in saveRequest) (saveResult, error) {
	loc, moved, err := ws.ResolveOutput(in.FilePath)
	if err != nil {
		return saveResult{}, err
	}
	content := []byte(in.Content)
	if err := ws.Write(loc, content); err != nil {
		return saveResult{}, err
	}
	sum := sha256.Sum256(content)
	size := int64(len(content))
	// The file is there, so it goes on record even if the run was stopped meanwhile.
	err = run.Emit(context.WithoutCancel(ctx), &troupe.ArtifactSaved{
		Path:        loc.String(),
		Size:        size,
		SHA256:      hex.EncodeToString(sum[:]),
		Type:        artifactType(loc.Name()),
		Description: describe(loc.Name(), in.Content),
	})
	if err != nil {
		return saveResult{}, err
	}
	out := saveResult{Success: true, Path: in.FilePath, Size: size}
	if moved {
		out.Path = loc.String()
		out.Note = "you may not write to the place you named; the file was saved here instead"
	}
	return out, nil
}
