package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// A FileMap is what an agent gets to see of a directory: which files there are, and
// the beginnings of those that seem to matter most.
type FileMap struct {
	Files    []FileEntry `json:"files"`
	Excerpts []Excerpt   `json:"excerpts,omitempty"`
	// LeftOut says what is there and not shown, and why.
	LeftOut []string `json:"left_out,omitempty"`
}

// A FileEntry is a file and its size in bytes.
type FileEntry struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// An Excerpt is the beginning of a file.
type Excerpt struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// Truncated says that the file goes on.
	Truncated bool `json:"truncated,omitempty"`
}

// projectFiles returns what discovery gets to see, nil if no project was granted.
func (w *work) projectFiles(ctx context.Context) (*FileMap, error) {
	if w.delivery.Project == nil {
		return nil, nil
	}
	return w.files(ctx, gatherRequest{Words: strings.Split(w.at.feature, "-")})
}

// files has the tool gather files. Without them a phase can still do its work, so
// that a failure is a warning.
func (w *work) files(ctx context.Context, in gatherRequest) (*FileMap, error) {
	result, err := w.run.Call(ctx, w.delivery.gather, in)
	if err != nil {
		why, err := isToolFailure(err)
		if err != nil {
			return nil, err
		}
		return nil, w.warn(ctx, "gather_failed", why)
	}
	var files FileMap
	if err := json.Unmarshal([]byte(result.Content), &files); err != nil {
		return nil, fmt.Errorf("%s: %w", toolGather, err)
	}
	return &files, nil
}
