package wiretest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// ChatRecordings are those of chat completions, whose facts nobody has written down.
func ChatRecordings(t *testing.T) []*Recording {
	t.Helper()
	dir := corpus.Path(t, "cassettes")
	all := recordingLines(t, filepath.Join(dir, "exchanges.jsonl"))
	all = append(all, recordingLines(t, filepath.Join(dir, "llama-server.jsonl"))...)
	return append(all, chatFixtures(t, filepath.Join(dir, "vercel-ai"))...)
}

// recordingLines reads a file with a recording to a line.
func recordingLines(t *testing.T, file string) (all []*Recording) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		r := &Recording{Name: fmt.Sprintf("%s:%d", filepath.Base(file), n)}
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// chatFixtures reads bodies without their exchange: .json is a whole answer, .sse a
// stream, and .chunks.txt has one event's data per line.
func chatFixtures(t *testing.T, dir string) (all []*Recording) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		r := &Recording{Name: name}
		r.Request.Method, r.Request.URL = "POST", "https://fixture.test/v1/chat/completions"
		r.Response.Status, r.Response.Body = 200, string(data)
		r.Response.Headers = map[string]string{"content-type": "text/event-stream"}
		switch {
		case strings.HasSuffix(path, ".json"):
			r.Response.Headers["content-type"] = "application/json"
			if strings.Contains(name, "error") {
				r.Response.Status = 400
			}
		case strings.HasSuffix(path, ".chunks.txt"):
			r.Response.Body = ""
			for line := range strings.Lines(string(data)) {
				r.Response.Body += "data: " + strings.TrimSpace(line) + "\n\n"
			}
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// NotAChat says why a recording cannot be replayed as a chat completion, or nothing.
func NotAChat(r *Recording) string {
	switch {
	case !strings.EqualFold(r.Request.Method, "POST"):
		return "a download by one of the client's tools"
	case strings.Contains(r.Request.URL, ":generateContent"):
		return "another API"
	case !strings.Contains(r.Request.URL, "/chat/completions") && r.Response.Status < 400:
		return "another endpoint"
	}
	return ""
}

// IsStream reports whether the recorded answer is a stream of events.
func (r *Recording) IsStream() bool {
	for name, value := range r.Response.Headers {
		if strings.EqualFold(name, "Content-Type") {
			return strings.HasPrefix(value, "text/event-stream")
		}
	}
	return strings.HasPrefix(r.Response.Body, "data:") || strings.HasPrefix(r.Response.Body, "event:")
}
