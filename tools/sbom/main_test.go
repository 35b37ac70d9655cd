package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// This test is a program that says what it is built of, too.
func TestAProgramIsDescribed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "sbom.json")
	if err := write(self, name); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var got document
	if err := json.Unmarshal(text, &got); err != nil || got.Format != "CycloneDX" || len(got.Components) == 0 || got.Components[0].Name != "stdlib" || got.Components[0].Version == "" {
		t.Errorf("%v: %s", err, text)
	}
	if err := write(name, name); err == nil {
		t.Error("a file that is no program is described")
	}
}
