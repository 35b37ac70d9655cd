package project

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// readNotes reads what the page keeps by name in a file. Nothing but what people are shown
// depends on it: one that is not there, or cannot be read, says nothing.
func readNotes[T any](file string) map[string]T {
	known := map[string]T{}
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &known) != nil {
		return map[string]T{}
	}
	return known
}

// writeNotes writes what readNotes reads.
func writeNotes[T any](file string, known map[string]T) error {
	data, err := json.Marshal(known)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	return err
}
