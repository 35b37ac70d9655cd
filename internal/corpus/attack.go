package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// AttackNames returns n names that must not lead out of an agent's directories:
// those that others attack file servers with, and then generated ones, the same
// every time, most of which lead to a canary if any one part of them is misread.
// The directories given are written into some as they are on the host. Tests put
// links named link-out, link-canary and link-up where the names expect them.
func AttackNames(tb testing.TB, n int, dirs ...string) []string {
	tb.Helper()
	names := traversalNames(tb)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(parts ...string) string { return parts[random.IntN(len(parts))] }
	starts := []string{"", "", "", "/", "//", "./", "\\", "file://", "~/", "C:\\", "\\\\?\\", "{bundle-root}", "{bundle-root}/", "{bundle-root}-evil/",
		"{session-folder}/", "{project-root}/", "{core-root}/", "{output_folder}/", "{config_source}:dotdot/", "{outside}/"}
	for _, dir := range dirs {
		starts = append(starts, dir+"/")
	}
	for len(names) < n {
		up := pick("../", "../", "..\\", "%2e%2e/", "%2e%2e%2f", "..%2f", "%252e%252e%252f", "....//", ".../", "..;/", "..%c0%af", "\u2025/",
			"\uff0e\uff0e/", "./../", "x/../../", "..//", "../\x00/", "link-out/../", "{nothing}../", "{dotdot}/", "{{dotdot}}/")
		names = append(names, pick(starts...)+
			pick("", "a/", "workflows/", "workflows/intake/", "templates/", "link-out/", "link-up/", "config.yaml/", "notes.md/", "{date}/", ".git/")+
			strings.Repeat(up, random.IntN(9))+
			pick("outside/canary.txt", "canary.txt", "demo-evil/canary.txt", ".env", "project/.env", "two/canary.txt", "link-out/canary.txt", "link-canary",
				"link-up/outside/canary.txt", "link-dot", "deploy/server.pem", "data/agent-outputs/two/canary.txt", "etc/passwd", "new.txt", "outside/new.txt",
				"config.yaml", "notes.md", "bmad/core/tasks/workflow.md", "")+
			pick("", "", "", "/", "/.", "/..", "\x00.md", "%00", " ", ".", "?x", "#x", "::$DATA"))
	}
	return names
}

// traversalNames returns the names of the corpus, nil where that is absent.
func traversalNames(tb testing.TB) []string {
	tb.Helper()
	file := find(tb, "attacks/path-traversal.jsonl")
	if file == "" {
		tb.Log("without the corpus of attacks, only generated names are tried")
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for line := range bytes.Lines(data) {
		var attack struct{ Payload string }
		if err := json.Unmarshal(line, &attack); err != nil {
			tb.Fatal(err)
		}
		names = append(names, attack.Payload)
	}
	return names
}

// Snapshot describes everything below dir, except what is below a skipped
// directory, so that two of them can be compared.
func Snapshot(tb testing.TB, dir string, skip ...string) map[string]string {
	tb.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(skip, path) {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[path] += fmt.Sprintf(" %x", sha256.Sum256(content))
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}
