package web_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/web"
)

// mostBytes is how much the page may send, compressed, before it is there.
const mostBytes = 100 << 10

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(web.Page(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	reference = regexp.MustCompile(`(?:href|src)="/([^"]*)"`)
	imported  = regexp.MustCompile(`(?m)(?:from\s*|^import\s*)"([^"]+)"`)
)

// loaded returns the files that a browser fetches to show the page.
func loaded(t *testing.T) map[string]bool {
	t.Helper()
	files := map[string]bool{"index.html": true}
	for _, m := range reference.FindAllStringSubmatch(read(t, "index.html"), -1) {
		files[m[1]] = true
	}
	return files
}

func TestEveryFileThatThePageNeedsIsThereAndAskedForAtOnce(t *testing.T) {
	files := loaded(t)
	if len(files) < 10 {
		t.Fatalf("index.html names only %d files", len(files))
	}
	for name := range files {
		text := read(t, name)
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			if module := path.Join(path.Dir(name), m[1]); !strings.HasPrefix(m[1], "./") || !files[module] {
				t.Errorf("%s imports %s, which index.html does not preload", name, m[1])
			}
		}
	}
	scripts, err := fs.Glob(web.Page(), "*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		if !files[name] {
			t.Errorf("nothing uses %s", name)
		}
	}
}

func TestTheFirstLoadIsSmall(t *testing.T) {
	total := 0
	for name := range loaded(t) {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write([]byte(read(t, name)))
		w.Close()
		total += packed.Len()
	}
	if total > mostBytes {
		t.Errorf("the first load is %d bytes, compressed; at most %d are allowed", total, mostBytes)
	}
	t.Logf("the first load is %d bytes, compressed", total)
}

// The server's policy allows neither inline scripts and styles nor code made of text.
func TestThePageKeepsToItsPolicy(t *testing.T) {
	inline := regexp.MustCompile(`<script>|<style|\son\w+=|\sstyle=|https?://`)
	if found := inline.FindString(read(t, "index.html")); found != "" {
		t.Errorf("index.html has %q", found)
	}
	unsafe := regexp.MustCompile(`innerHTML\s*=|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|style="`)
	scripts, err := fs.Glob(web.Page(), "*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		if found := unsafe.FindString(read(t, name)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

func TestTheModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	files, err := filepath.Glob("testdata/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests of the modules: %v", err)
	}
	run := func(t *testing.T, env ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node, append([]string{"--test", "--test-timeout=60000"}, files...)...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	t.Run("plain", func(t *testing.T) { run(t) })
	t.Run("corpus", func(t *testing.T) { run(t, "NAUGHTY_STRINGS="+corpus.Path(t, "attacks/naughty-strings.txt")) })
}
