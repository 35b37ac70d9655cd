package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// payloadCount is how many names each agent of TestNoNameLeadsOutOfTheRoots tries.
const payloadCount = 10_000

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
			before := corpus.Snapshot(t, w.dir, w.session)

			payloads := corpus.AttackNames(t, payloadCount, w.dir, w.bundle)
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
			for _, act := range []string{"resolved", "read", "listed", "written", "made", "refused"} {
				if outcomes[act] == 0 {
					t.Errorf("no name was %s: the test shows nothing", act)
				}
			}
			after := corpus.Snapshot(t, w.dir, w.session)
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
	if out, _, err = ws.ResolveOutput(name + "-dir"); err == nil {
		err = ws.MakeDir(out)
	}
	check("made", "", err)
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
