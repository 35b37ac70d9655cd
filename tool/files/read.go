package files

import (
	"context"
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
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
	Line     int    `json:"line,omitempty" jsonschema:"line to start at, counted from 1, instead of offset"`
	Lines    int    `json:"lines,omitempty" jsonschema:"how many lines to read at most"`
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
	if in.Line > 0 || in.Lines > 0 {
		if in, err = v.byLines(loc, in); err != nil {
			return readResult{}, err
		}
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
	if excess := text.Next - text.Offset - in.Limit; in.Lines > 0 && excess > 0 && !text.Binary && !text.Repaired {
		// A workspace reads at least a few bytes, which can be more than a short line.
		text.Content, text.Next = text.Content[:in.Limit], text.Next-excess
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
	case in.Offset > text.Size || in.Line > 0 && in.Offset == text.Size && text.Size > 0:
		out.Note = "the file ends before this place"
	}
	return out, nil
}

// byLines turns a request for lines into one for bytes. Lines that are not there
// are the end of the file.
func (v view) byLines(loc workspace.Location, in readRequest) (readRequest, error) {
	text, err := v.ReadCurrent(loc)
	if err != nil {
		return in, err
	}
	if in.Line > 0 {
		in.Offset = int64(lineStart(text, in.Line-1))
	}
	if in.Lines > 0 && in.Offset >= 0 && in.Offset < int64(len(text)) {
		length := int64(lineStart(text[in.Offset:], in.Lines))
		if in.Limit <= 0 || length < in.Limit {
			in.Limit = length
		}
	}
	return in, nil
}

// lineStart returns where the line after n others begins; the end of a text that
// has fewer.
func lineStart(text string, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return len(text)
		}
		at += end + 1
	}
	return at
}
