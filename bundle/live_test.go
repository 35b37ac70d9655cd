package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is edited is there for the next conversation; the catalog of those that run stays.
func TestAnEditedBundleIsThereForTheNextConversation(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			dir := unpackTree(t, generation)
			live, err := Open(dir, Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := live.Close(); err != nil {
					t.Error(err)
				}
			})
			first, err := live.Catalog()
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, "data/agent-outputs/x/notes.md", "what agents write is no change")
			if again, err := live.Catalog(); err != nil || again != first {
				t.Errorf("nothing has changed: %v", err)
			}
			d := define(t, first, "pm")
			file := filepath.Join(dir, filepath.FromSlash(d.File))
			if generation == "toml" {
				file = filepath.Join(dir, "_bmad/custom/bmad-agent-pm.user.toml")
				put(t, dir, "_bmad/custom/bmad-agent-pm.user.toml", "[agent]\nrole = 'Product thinker'\n")
			} else if generation == "manifest" {
				file = filepath.Join(filepath.Dir(file), "bmad-skill-manifest.yaml")
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			later := strings.ReplaceAll(string(src), "Product strategist", "Product thinker")
			if err := os.WriteFile(file, []byte(later), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			second, err := live.Catalog()
			if err != nil {
				t.Fatal(err)
			}
			if second == first || define(t, second, "pm").Persona.Role != "Product thinker" {
				t.Errorf("the next conversation has %q", define(t, second, "pm").Persona.Role)
			}
			if define(t, first, "pm").Persona.Role != "Product strategist" {
				t.Error("a running conversation has lost its agent")
			}
			put(t, dir, "extra/agents/new.agent.yaml", "agent:\n  metadata: {name: New}\n  persona: {role: r}\n  menu: [{trigger: go, action: go}]\n")
			if third, err := live.Catalog(); err != nil || third == second {
				t.Error("a new agent is not noticed", err)
			} else if _, err := third.Definition("New"); err != nil {
				t.Error(err)
			}
		})
	}
}

// An agent that cannot start is listed, with the reason.
func TestABrokenAgentIsListedWithTheReason(t *testing.T) {
	dir := project(t)
	put(t, dir, "bmad/bmm/agents/needy.md", `<agent id="n" name="Needy"><critical-actions><i>Load COMPLETE file {bundle-root}/gone.md</i></critical-actions></agent>`)
	put(t, dir, "bmad/bmm/agents/bad.agent.yaml", "agent:\n  metadata: [\n")
	c := find(t, dir, Config{})
	reasons := map[string]string{}
	for _, agent := range c.List(nil) {
		if agent.Broken != nil {
			reasons[agent.ID] = agent.Broken.Error()
		} else if agent.Name == "" {
			t.Errorf("%s has no name", agent.ID)
		}
	}
	if len(reasons) != 2 || !strings.Contains(reasons["needy"], "Critical action failed") || !strings.Contains(reasons["needy"], "gone.md") ||
		!strings.Contains(reasons["bad"], "bad.agent.yaml:2") {
		t.Errorf("broken are %v", reasons)
	}
}

// Those who wait for a look that begins after they asked are given what it finds. Whoever
// asks later has the disk looked at again.
func TestCallersThatComeTogetherShareALook(t *testing.T) {
	live, err := Open(unpackTree(t, generations[0]), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	asked := time.Now()
	for i, want := range []int{2, 2, 3} {
		if i == 2 {
			asked = time.Now()
		}
		if _, err := live.since(asked); err != nil || live.looks != want {
			t.Errorf("after call %d there were %d looks, not %d: %v", i+1, live.looks, want, err)
		}
	}
}

// A look costs what the project is, not what has been said in it: the directories of
// sessions are not listed.
func TestTheDirectoriesOfSessionsAreNotListed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "agents/ann.agent.yaml", "agent: {}")
	put(t, dir, "data/agent-outputs/s1/notes.md", "")
	put(t, dir, "data/page/drafts/d1.json", "{}")
	put(t, dir, "elsewhere/agent-outputs/s1/_cfg/manifest.yaml", "")
	f, err := newFinder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	f.search(".", maxSearchDepth, false)
	if got := strings.Join(sortedKeys(f.lists), " "); got != ". agents data elsewhere" {
		t.Errorf("listed were %s", got)
	}
}
