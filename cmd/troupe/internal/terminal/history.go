package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// What is kept of earlier messages.
const (
	maxHistory      = 500
	maxHistoryBytes = 1 << 20
)

// A history is what the user said before, also in earlier conversations. It is kept
// in a file with one JSON string per line, because a message may have several.
type history struct {
	file    string // empty for one that is not kept
	entries []string
	at      int    // the entry shown, len(entries) for the draft
	draft   string // what was being written before going back
}

// openHistory reads a file that need not exist.
func openHistory(file string) (*history, error) {
	h := &history{file: file}
	if file == "" {
		return h, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		h.file = ""
		return h, errors.Join(err, fmt.Errorf("read history: %s is not a regular file", file))
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxHistoryBytes), maxHistoryBytes))
	if err != nil {
		return h, fmt.Errorf("read history: %w", err)
	}
	for line := range bytes.Lines(data) {
		var text string
		if json.Unmarshal(line, &text) == nil && text != "" { // a line cut at the front is left out
			h.entries = append(h.entries, text)
		}
	}
	if drop := len(h.entries) - maxHistory; drop > 0 {
		h.entries = h.entries[drop:]
		err = h.rewrite()
	}
	h.at = len(h.entries)
	return h, err
}

// add remembers what was said last. Its error is that of the file.
func (h *history) add(text string) error {
	h.draft = ""
	isRepeated := len(h.entries) > 0 && h.entries[len(h.entries)-1] == text
	if !isRepeated {
		h.entries = append(h.entries, text)
	}
	h.at = len(h.entries)
	if h.file == "" || isRepeated {
		return nil
	}
	line, err := json.Marshal(text)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// rewrite replaces the file by what is remembered.
func (h *history) rewrite() error {
	var b bytes.Buffer
	for _, text := range h.entries {
		line, err := json.Marshal(text)
		if err != nil {
			return fmt.Errorf("write history: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	f, err := os.CreateTemp(filepath.Dir(h.file), ".history-*")
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	_, err = f.Write(b.Bytes())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), h.file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write history: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// older goes back by one entry from what is being written. It reports false at the end.
func (h *history) older(current string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = current
	}
	h.at--
	return h.entries[h.at], true
}

// newer goes forward by one entry, at last to what was being written.
func (h *history) newer() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	if h.at++; h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}
