package workspace

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// payloadCount is how many names each agent of TestNoNameLeadsOutOfTheRoots tries.
const payloadCount = 10_000

// generatedPayloads puts names together from parts, the same ones every time.
// Most of them lead to a canary if any one part is misread.
func generatedPayloads(w world, n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(parts ...string) string { return parts[random.IntN(len(parts))] }
	payloads := make([]string, n)
	for i := range payloads {
		up := pick("../", "../", "..\\", "%2e%2e/", "%2e%2e%2f", "..%2f", "%252e%252e%252f", "....//", ".../", "..;/", "..%c0%af", "\u2025/",
			"\uff0e\uff0e/", "./../", "x/../../", "..//", "../\x00/", "link-out/../", "{nothing}../", "{dotdot}/", "{{dotdot}}/")
		payloads[i] = pick("", "", "", "/", "//", "./", "\\", "file://", "~/", "C:\\", "\\\\?\\", "{bundle-root}", "{bundle-root}-evil/", "{outside}/", w.dir+"/", w.bundle+"/") +
			pick("", "a/", "workflows/", "workflows/intake/", "link-out/", "link-up/", "config.yaml/", "{date}/", ".git/") +
			strings.Repeat(up, random.IntN(9)) +
			pick("outside/canary.txt", "canary.txt", "demo-evil/canary.txt", ".env", "project/.env", "two/canary.txt", "link-out/canary.txt", "link-canary",
				"link-up/outside/canary.txt", "link-dot", "deploy/server.pem", "data/agent-outputs/two/canary.txt", "etc/passwd", "new.txt", "outside/new.txt", "config.yaml", "notes.md", "bmad/core/tasks/workflow.md", "") +
			pick("", "", "", "/", "/.", "/..", "\x00.md", "%00", " ", ".", "?x", "#x", "::$DATA")
	}
	return payloads
}

// snapshot describes everything below dir, except what is below a skipped directory.
func snapshot(t *testing.T, dir string, skip ...string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, s := range skip {
			if path == s {
				return filepath.SkipDir
			}
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
		t.Fatal(err)
	}
	return files
}

func TestNoNameLeadsOutOfTheRoots(t *testing.T) {
	for what, access := range map[string]Access{"project closed": NoAccess, "project granted for reading": ReadOnly} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, dir := range []string{w.bundle, w.session} {
				link(t, w.outside, dir, "link-out")
				link(t, filepath.Join(w.outside, "canary.txt"), dir, "link-canary")
				link(t, "../../../../..", dir, "link-up")
			}
			link(t, ".env", w.project, "link-dot")
			put(t, w.project, ".git/config", canary)
			for _, dir := range []string{w.outside, w.bundle + "-evil", w.project + "/.git", w.project + "/data/agent-outputs/two"} {
				put(t, dir, canary, "") // to be seen in listings
			}
			ws := w.open(t, Root{Name: ProjectRoot, Dir: w.project, Access: access}, Root{Name: "data", Dir: filepath.Join(w.project, "data")})
			ws = ws.With(ws.Vars().With(map[string]string{"dotdot": "..", "nothing": "", "outside": w.outside}))
			before := snapshot(t, w.dir, w.session)

			payloads := corpus.TraversalNames(t)
			payloads = append(payloads, generatedPayloads(w, payloadCount-len(payloads))...)
			if testing.Short() {
				payloads = payloads[len(payloads)-1000:]
			}
			prefixes := []string{"", "{bundle-root}/", "{session-folder}/", "{project-root}/", "{core-root}/"}
			outcomes := make(map[string]int)
			for i, payload := range payloads {
				tryName(t, w, ws, prefixes[i%len(prefixes)]+payload, outcomes)
				if i%500 == 499 {
					clearSession(t, w)
				}
			}
			t.Log(len(payloads), "names:", outcomes)
			for _, act := range []string{"resolved", "read", "listed", "written", "refused"} {
				if outcomes[act] == 0 {
					t.Errorf("no name was %s: the test shows nothing", act)
				}
			}
			after := snapshot(t, w.dir, w.session)
			for path, state := range before {
				if after[path] != state {
					t.Errorf("%s was %s and is %s", path, state, after[path])
				}
			}
			if len(after) != len(before) {
				t.Errorf("%d files became %d", len(before), len(after))
			}
		})
	}
}

// tryName does everything an agent can do with a name.
func tryName(t *testing.T, w world, ws *Workspace, name string, outcomes map[string]int) {
	t.Helper()
	check := func(act, result string, err error) {
		if strings.Contains(result, canary) {
			t.Errorf("%q: %s what is outside", name, act)
		}
		if err == nil {
			outcomes[act]++
			return
		}
		outcomes["refused"]++
		text := err.Error()
		named := strings.Contains(name, w.dir) || strings.Contains(name, "{outside}")
		if len(text) > 2048 || strings.Contains(text, canary) || strings.Contains(text, w.dir) && !named {
			t.Errorf("%q: error reads %.3000s", name, text)
		}
	}
	loc, err := ws.Resolve(name)
	check("resolved", "", err)
	if err == nil {
		content, err := ws.ReadFile(loc)
		check("read", content, err)
		text, err := ws.ReadText(loc, 0, 0)
		check("read", text.Content, err)
		list, err := ws.List(loc, 4)
		check("listed", fmt.Sprint(list.Entries), err)
	}
	out, _, err := ws.ResolveOutput(name)
	if err == nil {
		err = ws.Write(out, []byte("written by an agent"))
	}
	check("written", "", err)
}

// clearSession removes what the agent wrote, so that listings stay short.
func clearSession(t *testing.T, w world) {
	t.Helper()
	entries, err := os.ReadDir(w.session)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "notes.md" || strings.HasPrefix(e.Name(), "link-") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(w.session, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
