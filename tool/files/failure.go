package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// failed is what the model is told of what could not be done.
type failed struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Path    string `json:"path,omitempty"`
	// Lines are where a text was found that was to occur once.
	Lines []int `json:"found_at_lines,omitempty"`
	// Nearest are numbered lines that look like a text that was not found.
	Nearest []string `json:"nearest_lines,omitempty"`
}

// maxPath is the longest path that is told back. A workspace takes none that is
// longer.
const maxPath = 4 << 10

// failure tells the model what a workspace says of a path, whose errors are made
// to be shown. Whatever else went wrong is none of the model's business.
func failure(err error, path string) error {
	if len(path) > maxPath {
		path = ""
	}
	if wrong, ok := errors.AsType[*mismatch](err); ok {
		content := encode(failed{Error: wrong.text, Path: path, Lines: wrong.lines, Nearest: wrong.nearest})
		return &troupe.ToolError{Class: "not_found", Err: err, Content: content}
	}
	if bad, ok := errors.AsType[*badPattern](err); ok {
		return Failure("invalid_arguments", err, bad.Error(), path)
	}
	problem, ofFile := errors.AsType[*workspace.Error](err)
	_, ofVariable := errors.AsType[*workspace.UnknownVariable](err)
	_, ofCycle := errors.AsType[*workspace.Cycle](err)
	if !ofFile && !ofVariable && !ofCycle && !errors.Is(err, workspace.ErrTooLarge) {
		return unavailable(err)
	}
	class := "failed"
	switch {
	case ofFile && path != "" && isAnswer(problem):
		class = "not_found"
	case errors.Is(err, workspace.ErrDenied):
		class = "unauthorized"
	case ofVariable || ofCycle || errors.Is(err, workspace.ErrBadName):
		class = "invalid_arguments"
	}
	return Failure(class, err, err.Error(), path)
}

// isAnswer says whether an error tells somebody who looked what is there, which is
// no failure of the tool.
func isAnswer(e *workspace.Error) bool {
	return e.Op != "write" &&
		(errors.Is(e, workspace.ErrNotFound) || errors.Is(e, workspace.ErrNotRegular) || errors.Is(e, syscall.ENOTDIR))
}

// Failure makes an error that is told to the model in the form that bundles know:
// what it is told, and the path where that is known.
func Failure(class string, err error, told, path string) error {
	return &troupe.ToolError{Class: class, Err: err, Content: encode(failed{Error: told, Path: path})}
}

// unavailable keeps the cause for the log: it may name directories of the host.
func unavailable(err error) error {
	return Failure("failed", err, "the files of this session are not available at the moment", "")
}

// encode writes JSON without the escaping meant for HTML pages: files are full of
// tags, and models read them better as they are.
func encode(result any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// The results of this package are strings, numbers and lists of them: no
	// value of theirs cannot be encoded.
	_ = enc.Encode(result)
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
