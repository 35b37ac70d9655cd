package files

import (
	"context"
	_ "embed"

	"github.com/troupe-dev/troupe"
)

//go:embed read.md
var readDescription string

// Read returns the tool read_file, which reads text files piece by piece.
func Read(find Finder) troupe.Tool { return readAt(ofSession(find)) }

func readAt(at place) troupe.Tool {
	return newTool("read_file", described(readDescription, at.names.reading()), at, read, troupe.ReadOnly())
}

type readRequest struct {
	FilePath string `json:"file_path" jsonschema:"path of the file"`
	Offset   int64  `json:"offset,omitempty" jsonschema:"byte to start at; 0 by default"`
	Limit    int64  `json:"limit,omitempty" jsonschema:"how many bytes to read at most; by default the whole file, or as much of it as fits"`
}

func (r readRequest) asked() string { return r.FilePath }

type readResult struct {
	Success bool   `json:"success"`
	Path    string `json:"path"`
	Content string `json:"content"`
	Size    int64  `json:"size" jsonschema:"of the whole file, in bytes"`
	// Truncated says that the file goes on at NextOffset.
	Truncated  bool   `json:"truncated,omitempty"`
	NextOffset int64  `json:"next_offset,omitempty"`
	Note       string `json:"note,omitempty"`
}

func read(_ context.Context, v view, _ *troupe.Run, in readRequest) (readResult, error) {
	loc, name, err := v.resolve(in.FilePath)
	if err != nil {
		return readResult{}, err
	}
	text, err := v.ReadText(loc, in.Offset, in.Limit)
	if err != nil {
		return readResult{}, err
	}
	if n := fitting(text.Content, room); n < len(text.Content) {
		if text, err = v.ReadText(loc, in.Offset, int64(n)); err != nil {
			return readResult{}, err
		}
	}
	out := readResult{Success: true, Path: name, Content: text.Content, Size: text.Size, Truncated: text.Truncated()}
	if out.Truncated {
		out.NextOffset = text.Next
	}
	switch {
	case text.Binary:
		out.Note = "this is a binary file; its content is not shown"
	case text.Repaired:
		out.Note = "some bytes were not UTF-8 and are shown as \ufffd"
	case in.Offset > text.Size:
		out.Note = "the file ends before this offset"
	}
	return out, nil
}
