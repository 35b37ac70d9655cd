package web_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
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

// mostBytes is how much the page may send, compressed and with its fonts, before it is
// there.
const mostBytes = 120 << 10

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(web.Page(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	imported  = regexp.MustCompile(`(?m)(?:from\s*|^import\s*)"([^"]+)"`)
	onDemand  = regexp.MustCompile(`import\("([^"]+)"\)`)
)

// loaded returns the files that a browser fetches to show the page.
func loaded(t *testing.T) map[string]bool {
	t.Helper()
	files := map[string]bool{"index.html": true}
	for _, m := range reference.FindAllStringSubmatch(read(t, "index.html"), -1) {
		if strings.HasPrefix(m[1], "/") {
			t.Errorf("index.html names %s: under another path it is not there", m[1])
		}
		files[m[1]] = true
	}
	return files
}

func TestEveryFileThatThePageNeedsIsThereAndAskedForAtOnce(t *testing.T) {
	first := loaded(t)
	if len(first) < 20 {
		t.Fatalf("index.html names only %d files", len(first))
	}
	// What is loaded on demand is there with all that it imports.
	all, left := map[string]bool{}, []string{}
	for name := range first {
		left = append(left, name)
	}
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		if all[name] {
			continue
		}
		all[name] = true
		text := read(t, name)
		if path.Ext(name) != ".js" || strings.HasPrefix(name, "lib/") {
			continue
		}
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			module := path.Join(path.Dir(name), m[1])
			if !strings.HasPrefix(m[1], "./") && !strings.HasPrefix(m[1], "../") {
				t.Errorf("%s imports %s", name, m[1])
			}
			if first[name] && !first[module] {
				t.Errorf("%s imports %s, which index.html does not preload", name, m[1])
			}
			left = append(left, module)
		}
		for _, m := range onDemand.FindAllStringSubmatch(text, -1) {
			left = append(left, path.Join(path.Dir(name), m[1]))
		}
	}
	scripts, err := fs.Glob(web.Page(), "*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		if !all[name] {
			t.Errorf("nothing uses %s", name)
		}
	}
}

func packed(t *testing.T, name string) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression) // as the server does
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(read(t, name)))
	w.Close()
	return b.Len()
}

// What is there when the page is opened at home, and at a conversation: each module
// with all that it imports, and what early.js asks for on the way.
func TestTheFirstLoadIsSmall(t *testing.T) {
	for place, more := range map[string][]string{"home.js": {"views.css"}, "room.js": nil} {
		files := loaded(t)
		left := append([]string{place}, more...)
		for _, list := range earlyList.FindAllString(read(t, "early.js"), -1) {
			if !strings.Contains(list, place) {
				continue
			}
			for _, m := range quoted.FindAllStringSubmatch(list, -1) {
				left = append(left, m[1])
			}
		}
		for len(left) > 0 {
			name := left[0]
			left = left[1:]
			if files[name] {
				continue
			}
			files[name] = true
			for _, m := range imported.FindAllStringSubmatch(read(t, name), -1) {
				left = append(left, path.Join(path.Dir(name), m[1]))
			}
		}
		total := 0
		for name := range files {
			total += packed(t, name)
		}
		if total > mostBytes {
			t.Errorf("%s: the first load is %d bytes, compressed; at most %d are allowed", place, total, mostBytes)
		}
		t.Logf("%s: the first load is %d bytes, compressed, of %d", place, total, mostBytes)
	}
}

var (
	earlyList = regexp.MustCompile(`= \[[^\]]*\]`)
	quoted    = regexp.MustCompile(`"([^"]+)"`)
)

// What is left out before a module is sent is comments alone: each stands between
// statements, never in the middle of a text.
func TestOnlyCommentsAreLeftOut(t *testing.T) {
	scripts, err := filepath.Glob("page/*.js")
	if err != nil || len(scripts) < 40 {
		t.Fatalf("there are %d modules, %v", len(scripts), err)
	}
	shorter := 0
	for _, name := range scripts {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sent := read(t, filepath.Base(name))
		shorter += len(source) - len(sent)
		if strings.HasPrefix(sent, "// ") || strings.Contains(sent, "\n// ") {
			t.Errorf("%s is sent with comments", name)
		}
		before := ""
		for i, line := range strings.Split(string(source), "\n") {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "// ") {
				if before != "" && !strings.ContainsAny(before[len(before)-1:], ";{},([:?|&=>") || strings.HasSuffix(before, "/>") || strings.Contains(before, "</") {
					t.Errorf("%s:%d: a comment after %q", name, i+1, before)
				}
				continue
			}
			before = line
			// What is left out behind a statement does not go on with it, nor stand in a text.
			if code, _, has := strings.Cut(line, " // "); has && !strings.Contains(sent, line) && strings.Count(code, "`")%2 != 0 {
				t.Errorf("%s:%d: a comment after %q", name, i+1, code)
			}
		}
	}
	if shorter < 10_000 {
		t.Errorf("only %d bytes were left out", shorter)
	}
}

// The server's policy allows neither inline scripts and styles nor code made of text, and where
// the page comes over plain HTTP from another machine, browsers have no crypto but random values,
// and no clipboard.
func TestThePageKeepsToItsPolicy(t *testing.T) {
	inline := regexp.MustCompile(`<script>|<style|\son\w+=|\sstyle=|https?://`)
	for _, name := range []string{"index.html", "frame/diagram.html"} {
		if found := inline.FindString(read(t, name)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
	unsafe := regexp.MustCompile(`innerHTML\s*=|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|style="|randomUUID|crypto\.subtle|clipboard\.`)
	for _, pattern := range []string{"*.js", "frame/*.js"} {
		scripts, err := fs.Glob(web.Page(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range scripts {
			if found := unsafe.FindString(read(t, name)); found != "" {
				t.Errorf("%s has %q", name, found)
			}
		}
	}
}

// Libraries of others are as they were published: scripts/vendor writes down what it
// fetched.
func TestTheLibrariesAreThoseThatWereFetched(t *testing.T) {
	sums := map[string]string{}
	for line := range strings.Lines(read(t, "lib/SHA256SUMS")) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS has the line %q", line)
		}
		sums["lib/"+name] = sum
	}
	err := fs.WalkDir(web.Page(), "lib", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "lib/SHA256SUMS" {
			return err
		}
		sum := sha256.Sum256([]byte(read(t, name)))
		if sums[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s is not what SHA256SUMS says", name)
		}
		delete(sums, name)
		return nil
	})
	if err != nil || len(sums) > 0 {
		t.Errorf("files that SHA256SUMS names and that are not there: %v %v", sums, err)
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
		cmd := exec.CommandContext(t.Context(), node, append([]string{"--test", "--test-timeout=300000"}, files...)...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	t.Run("plain", func(t *testing.T) { run(t) })
	t.Run("corpus", func(t *testing.T) { run(t, "NAUGHTY_STRINGS="+corpus.Path(t, "attacks/naughty-strings.txt")) })
}
