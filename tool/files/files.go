// Package files gives agents tools that work with files: read_file, list_files and
// search_files read, write_file, edit_file and make_directory write. save_output is
// write_file under the name that bundles know.
//
// [Dir] gives an agent one directory, [Roots] several; the agent names files by
// plain relative paths. Where every session has files of its own, make each tool
// with a [Finder] of the session's workspace: [Read], [List], [Search], [Write],
// [Edit], [MakeDir], [Save]. Those name files as the workspace does, such as
// {session-folder}/notes.md.
//
// The tools name files and a [workspace.Workspace] opens them: what an agent may
// read and where it may write is the workspace's to say, and no path of the host
// is in any result. Every result is a JSON object with the field success; what
// could not be done is {success: false, error, path}.
package files

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// A Finder returns the workspace of a session. It is called once per tool call,
// concurrently; the workspace must stay open until the call has returned.
type Finder func(session string) (*workspace.Workspace, error)

// A place is where the tools of one agent work.
type place struct {
	find  Finder
	names naming
}

// ofSession is the place of an agent whose sessions have workspaces of their own.
func ofSession(find Finder) place { return place{find, variables{}} }

// A request is the arguments of one tool.
type request interface {
	// asked is the path that the model wrote.
	asked() string
}

// newTool makes a tool of a function that works in the caller's workspace.
func newTool[In request, Out any](
	name, description string, at place,
	act func(context.Context, view, *troupe.Run, In) (Out, error),
	options ...troupe.ToolOption,
) troupe.Tool {
	return troupe.NewToolWithCall(name, description, func(ctx context.Context, call *troupe.Invocation, in In) (out Out, err error) {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		ws, err := at.find(call.Run.Session())
		if err != nil {
			return out, unavailable(fmt.Errorf("open workspace: %w", err))
		}
		if out, err = act(ctx, view{ws, at.names}, call.Run, in); err != nil {
			return out, failure(at.names.explain(err, in.asked()), in.asked())
		}
		return out, nil
	}, options...)
}
