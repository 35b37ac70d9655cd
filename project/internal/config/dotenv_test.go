package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVariablesAreReadFromDotEnv(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".env", "\ufeff# keys\nA=one\n\nexport B = two # a comment\nC=\"a\\nb # c\"\nD='x\\n'\nE=\nF=a#b\nLONG=\"first\nsecond\"\nSAME=env\nOURS=file\r\n")
	write(".env.local", "SAME=local\n")
	lookup, err := Environment(dir, func(name string) (string, bool) { return "environment", name == "OURS" })
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"A": "one", "B": "two", "C": "a\nb # c", "D": `x\n`, "E": "", "F": "a#b", "LONG": "first\nsecond", "SAME": "local", "OURS": "environment"} {
		if got, ok := lookup(name); !ok || got != want {
			t.Errorf("%s is %q, %v; want %q", name, got, ok, want)
		}
	}
	if _, ok := lookup("NONE"); ok {
		t.Error("NONE is set")
	}
}

func TestBrokenDotEnvIsReportedWithItsLine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("A=1\nsk-canary-1234\nB='canary\n1X=canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Environment(dir, os.LookupEnv)
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Fatalf("error %v", err)
	}
	for _, line := range []string{".env:2", ".env:3", ".env:4"} {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("%s is not in %v", line, err)
		}
	}
}

func TestWithoutDotEnvThereIsTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".env"), 0o700); err != nil { // a Python environment
		t.Fatal(err)
	}
	lookup, err := Environment(dir, func(name string) (string, bool) { return "x", name == "X" })
	if value, ok := lookup("X"); err != nil || !ok || value != "x" {
		t.Errorf("%q, %v, %v", value, ok, err)
	}
}

// Docker Compose hands on what nobody has set as a variable that is empty.
func TestAnEmptyVariableDoesNotHideDotEnv(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("OFFICE_KEY=key\nTROUPE_MODEL=office/large\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := map[string]bool{"OFFICE_KEY": true, "TROUPE_MODEL": true, "OTHER": true}
	lookup, err := Environment(dir, func(name string) (string, bool) { return "", empty[name] })
	if err != nil {
		t.Fatal(err)
	}
	if value, ok := lookup("OFFICE_KEY"); value != "key" || !ok {
		t.Errorf("the key is %q, %t", value, ok)
	}
	if value, ok := lookup("TROUPE_MODEL"); value != "" || !ok {
		t.Errorf("a switch of our own that is off is %q, %t", value, ok)
	}
	if value, ok := lookup("OTHER"); value != "" || !ok {
		t.Errorf("what is in no file is %q, %t", value, ok)
	}
}
