// Package files gives agents the tools read_file, save_output and list_files, which
// bundles know, and write_file and make_directory for agents of other makes.
//
// The tools name files and a [workspace.Workspace] opens them: what an agent may
// read and where it may write is the workspace's to say, and no path of the host
// is in any result. Every result is a JSON object with the field success; a
// failure is {success: false, error, path}.
package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// A Finder returns the workspace of a session. It is called once per tool call,
// concurrently; the workspace must stay open until the call has returned.
type Finder func(session string) (*workspace.Workspace, error)

// A request is the arguments of one tool.
type request interface {
	// asked is the path that the model wrote.
	asked() string
}

// newTool makes a tool of a function that works in the caller's workspace.
//
// All of these tools are safe to repeat: some only read, and the others leave the
// same files behind when they are called a second time with the same arguments.
func newTool[In request, Out any](
	name, description string, find Finder,
	act func(context.Context, *workspace.Workspace, *troupe.Run, In) (Out, error),
) troupe.Tool {
	return troupe.NewToolWithCall(name, description, func(ctx context.Context, call *troupe.Invocation, in In) (out Out, err error) {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		ws, err := find(call.Run.Session())
		if err != nil {
			return out, unavailable(fmt.Errorf("open workspace: %w", err))
		}
		if out, err = act(ctx, ws, call.Run, in); err != nil {
			return out, failure(err, in.asked())
		}
		return out, nil
	}, troupe.RepeatSafe())
}

// failed is what the model is told of a failure.
type failed struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Path    string `json:"path,omitempty"`
}

// maxPath is the longest path that is told back. A workspace takes none that is
// longer.
const maxPath = 4 << 10

// failure tells the model what a workspace says of a path, whose errors are made
// to be shown. Whatever else went wrong is none of the model's business.
func failure(err error, path string) error {
	_, ofFile := errors.AsType[*workspace.Error](err)
	_, ofVariable := errors.AsType[*workspace.UnknownVariable](err)
	_, ofCycle := errors.AsType[*workspace.Cycle](err)
	if !ofFile && !ofVariable && !ofCycle && !errors.Is(err, workspace.ErrTooLarge) {
		return unavailable(err)
	}
	class := troupe.ClassFailed
	switch {
	case errors.Is(err, workspace.ErrDenied):
		class = troupe.ClassUnauthorized
	case ofVariable || ofCycle || errors.Is(err, workspace.ErrBadName):
		class = troupe.ClassInvalidArguments
	}
	if len(path) > maxPath {
		path = ""
	}
	return Failure(class, err, err.Error(), path)
}

// Failure makes an error that is told to the model in the form that bundles know:
// what it is told, and the path where that is known.
func Failure(class troupe.Class, err error, told, path string) error {
	return &troupe.ToolError{Class: class, Err: err, Content: encode(failed{Error: told, Path: path})}
}

// unavailable keeps the cause for the log: it may name directories of the host.
func unavailable(err error) error {
	return Failure(troupe.ClassFailed, err, "the files of this session are not available at the moment", "")
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
