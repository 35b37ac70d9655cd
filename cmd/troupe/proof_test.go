package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fingerprintOf is all that a person could notice of their checkout.
func fingerprintOf(t *testing.T, dir string) string {
	t.Helper()
	return inRepository(t, dir, "git rev-parse HEAD; git symbolic-ref -q HEAD; git status --porcelain=v2; sha256sum .git/index; find . -path ./.git -prune -o -path ./data -prune -o -path ./.cache -prune -o -type f -print0 | sort -z | xargs -0 sha256sum")
}

func anEdit(path, search, replace string) fields {
	return fields{"name": filepath.Base(path), "path": path, "type": "edit", "edits": []fields{{"search": search, "replace": replace}}}
}

const (
	statsJS = "exports.max = (xs) => {\n  const s = [...xs];\n  s.sort((a, b) => a - b);\n  return s[s.length - 1];\n};\nexports.min = (xs) => {\n  const s = [...xs];\n  s.sort((a, b) => a - b);\n  return s[0];\n};\n"
	minJS   = "  return s[0];\n};\n"
	// medianJS is right; its last line alone is wrong for an even number.
	medianJS = "exports.median = (xs) => {\n  const s = [...xs].sort((a, b) => a - b);\n  const n = s.length;\n  return n %% 2 ? s[(n - 1) / 2] : (s[n / 2 - 1] + s[n / 2]) / 2%s;\n};\n"
	testJS   = "const test = require('node:test');\nconst assert = require('node:assert');\nconst stats = require('..');\ntest('%s', () => assert.ok(%s));\n"
)

// The whole story from outside, in a Node repository: reading, a text that occurs twice,
// code that does not parse, a test that fails, a cut answer, a dot-file, a review that
// refuses with a test that proves it, and then accepts.
func TestTheWholeStoryFromOutside(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	a := newAgency(t)
	empty := aFile("test/empty.test.js", fmt.Sprintf(testJS, "refuses an empty list", "(() => { try { stats.median([]); return false; } catch { return true; } })()"))
	a.plays(func(phase, step, prompt string, n int) string {
		switch {
		case phase == "planning":
			return planned(fields{"id": "1", "title": "Median", "goal": "Add it.", "files": []string{"index.js"}}, aStep("2", "Settings"))
		case phase == "qa" && n == 0:
			return reviewed("changes_required", fields{"id": "F1", "severity": "blocker", "path": "index.js", "line": 11, "problem": "says NaN of an empty list", "fix": "Refuse an empty list", "reproduce": []fields{empty}})
		case phase == "implementation" && step == "1":
			return []string{`CALL read_file {"path":"index.js"}`,
				builtFiles(anEdit("index.js", "  s.sort((a, b) => a - b);\n", "  s.sort();\n"), aFile("test/median.test.js", fmt.Sprintf(testJS, "median", "stats.median([4, 1, 2, 3]) === 2.5"))),
				builtFiles(anEdit("index.js", minJS, minJS+fmt.Sprintf(medianJS, " +"))),
				builtFiles(anEdit("index.js", " / 2 +;", " / 2 + 1;")),
				builtFiles(anEdit("index.js", " / 2 + 1;", " / 2;"))}[min(n, 4)]
		case phase == "implementation" && step == "2" && n < 3:
			return "CUT " + builtFiles(aFile(".statsrc", "median = tr"))[:80]
		case phase == "implementation" && step == "2":
			return builtFiles(aFile(".statsrc", "median = true\n"))
		case phase == "implementation":
			return builtFiles(anEdit("index.js", "exports.median = (xs) => {\n", "exports.median = (xs) => {\n  if (xs.length === 0) throw new Error('empty');\n"), empty)
		}
		return goodWork(phase, step, prompt, n)
	})
	dir := a.repositoryOf(t, "", map[string]string{"index.js": statsJS, "package.json": `{"name":"stats","main":"index.js","scripts":{"test":"node --test"}}`,
		"test/max.test.js": fmt.Sprintf(testJS, "max", "stats.max([1, 3, 2]) === 3"), "base.ok": "x\n"})
	inRepository(t, dir, "echo mine > dirty.txt")
	before := fingerprintOf(t, dir)
	r, code := a.deliver(t, dir, "deliver", "Add a median")
	if code != 0 || r.Outcome != "delivered" || !r.Success {
		t.Fatalf("exit %d, %s, because %q", code, r.Outcome, r.Reasons)
	}
	if after := fingerprintOf(t, dir); after != before {
		t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
	if got := inRepository(t, dir, "git log --format=%s main.."+r.Branch); got != "Refuse an empty list\nSettings\nMedian\ndocs: specification of add a median\n" {
		t.Errorf("the log is %s", got)
	}
	if a.formats["planning"] != "json_schema" || a.formats["qa"] != "json_schema" || a.formats["implementation"] != "json_schema" {
		t.Errorf("JSON was asked for as %q", a.formats)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	inRepository(t, dir, "git clone -q -b "+r.Branch+" . "+clone+" && cd "+clone+" && grep -qx 'median = true' .statsrc && node --test")
	for _, parts := range [][]string{{"occurs 2 times", "Add lines around it"}, {"SyntaxError"}, {"not ok"}, {"cut off"}, {"BMAD planning", "zebra"}, {"BMAD qa", "THE WHOLE CHANGE", "test ✓"}, {"BMAD implementation", "YOUR LAST ANSWER", "Add a median"}} {
		if a.holds(parts...) == 0 {
			t.Errorf("no prompt holds %q", parts)
		}
	}
}

// Killed again and again, while models are asked and between that, a delivery comes to
// the same tree and the same commits, each once. What a person does in between is kept.
func TestADeliveryThatIsKilledAgainAndAgain(t *testing.T) {
	a := newAgency(t)
	whole := a.newRepository(t)
	r, code := a.deliver(t, whole, "deliver", "Make it good")
	if code != 0 {
		t.Fatal(r.Reasons)
	}
	want := inRepository(t, whole, "git rev-parse "+r.Branch+"^{tree}; git log --format=%s "+r.Branch)
	asked := a.requests()

	dir := a.newRepository(t)
	var mu sync.Mutex
	var running *process
	kills, at := 0, map[string]int{}
	a.plays(func(phase, step, prompt string, n int) string {
		mu.Lock()
		defer mu.Unlock()
		// Twice at a place: what kills its process each time is given up in the end.
		if p := running; p != nil && at[phase+step] < 2 {
			at[phase+step]++
			// Now, while it waits for the answer, or after it has had it for a while.
			after := time.Duration(kills%5) * 10 * time.Millisecond
			kills, running = kills+1, nil
			time.AfterFunc(after, func() { _ = p.Process.Kill() })
			if after == 0 {
				_ = p.Process.Kill()
			}
		}
		return goodWork(phase, step, prompt, n)
	})
	args, said := []string{"deliver", "Make it good"}, ""
	for range 40 {
		mu.Lock()
		running = start(t, dir, a.environment(dir), nil, args...)
		p := running
		mu.Unlock()
		if code = p.code(); code >= 0 {
			said = p.err.String()
			break
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "data", "deliveries", "*", "delivery.json")); len(files) == 1 {
			args = []string{"deliveries", "resume", filepath.Base(filepath.Dir(files[0]))[:8]}
		}
	}
	branch := strings.TrimSpace(inRepository(t, dir, "git for-each-ref --format='%(refname:short)' 'refs/heads/troupe/*'"))
	if code != 0 || kills < 6 {
		t.Fatalf("exit %d after %d kills: %s", code, kills, said)
	}
	if got := inRepository(t, dir, "git rev-parse "+branch+"^{tree}; git log --format=%s "+branch); got != want {
		t.Errorf("after %d kills it is\n%s\nnot\n%s", kills, got, want)
	}
	if n := a.requests() - asked; n > asked+kills {
		t.Errorf("%d kills, and %d requests in place of %d", kills, n, asked)
	}
}

// A delivery whose process was killed is not said to run.
func TestADeliveryThatWasKilledShowsAsInterrupted(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	begun := make(chan *process, 1)
	a.plays(func(phase, step, prompt string, n int) string {
		if p := <-begun; p != nil {
			_ = p.Process.Kill()
			close(begun)
		}
		return goodWork(phase, step, prompt, n)
	})
	p := start(t, dir, a.environment(dir), nil, "deliver", "Make it good")
	begun <- p
	p.code()
	list := start(t, dir, a.environment(dir), nil, "deliveries", "list")
	if list.code() != 0 || !strings.Contains(list.out.String(), "interrupted") || strings.Contains(list.out.String(), "running") {
		t.Fatalf("%s%s", &list.out, &list.err)
	}
	id, _, _ := strings.Cut(list.out.String(), " ")
	show := start(t, dir, a.environment(dir), nil, "deliveries", "show", id)
	if show.code(); !strings.HasPrefix(show.out.String(), id+"  interrupted\n") || !strings.Contains(show.err.String(), "Go on: troupe deliveries resume "+id) {
		t.Errorf("%s%s", &show.out, &show.err)
	}
}

// Killed at moments that have nothing to do with what it is doing, it comes to the same.
func TestADeliveryThatIsKilledAtRandom(t *testing.T) {
	a := newAgency(t)
	whole := a.newRepository(t)
	began := time.Now()
	r, code := a.deliver(t, whole, "deliver", "Make it good")
	took := time.Since(began)
	if code != 0 {
		t.Fatal(r.Reasons)
	}
	want := inRepository(t, whole, "git rev-parse "+r.Branch+"^{tree}; git log --format=%s "+r.Branch)
	dir, random := a.newRepository(t), rand.New(rand.NewPCG(15, 11))
	args := []string{"deliver", "Make it good"}
	for kills := 0; ; kills++ {
		p := start(t, dir, a.environment(dir), nil, args...)
		if kills < 4 { // what has killed five processes in a row is given up
			kill := time.AfterFunc(time.Duration(random.Int64N(int64(took))), func() { _ = p.Process.Kill() })
			code = p.code()
			kill.Stop()
		} else {
			code = p.code()
		}
		if code >= 0 {
			if code != 0 {
				t.Fatalf("exit %d: %s", code, &p.err)
			}
			break
		}
		if folders, _ := filepath.Glob(filepath.Join(dir, "data", "deliveries", "*", "delivery.json")); len(folders) == 1 {
			args = []string{"deliveries", "resume", filepath.Base(filepath.Dir(folders[0]))[:8]}
		}
	}
	branch := strings.TrimSpace(inRepository(t, dir, "git for-each-ref --format='%(refname:short)' 'refs/heads/troupe/*'"))
	if got := inRepository(t, dir, "git rev-parse "+branch+"^{tree}; git log --format=%s "+branch); got != want {
		t.Errorf("it is\n%s\nnot\n%s", got, want)
	}
}

// What checks do, from outside: what the change is to blame for, and what it is not.
func TestChecksDecideFromOutside(t *testing.T) {
	one := func(phase, step, prompt string, n int) string {
		if phase == "planning" {
			return planned(aStep("1", "First"))
		}
		return goodWork(phase, step, prompt, n)
	}
	builds := func(artifacts ...fields) func(string, string, string, int) string {
		return func(phase, step, prompt string, n int) string {
			if phase == "implementation" {
				return builtFiles(artifacts...)
			}
			return one(phase, step, prompt, n)
		}
	}
	const counts = `echo "# tests $(ls *.ok | wc -l)"`
	for name, c := range map[string]struct {
		check   string // what is run, none where it is empty
		more    string // of the check
		play    func(string, string, string, int) string
		code    int
		outcome string
		says    string
	}{
		"red before, and still":     {"echo 'not ok 1 - old'; exit 1", "", one, 0, "delivered", ""},
		"red before, more red then": {"echo 'not ok 1 - old'; test -e step1.ok && echo 'not ok 2 - new'; exit 1", "", one, 1, "failed", "new"},
		"no checks":                 {"", "", one, 1, "partial", "nothing was checked"},
		"a missing command":         {"no-such-command-here", "", one, 4, "", "pipeline.setup"},
		"too long, with children":   {"(sleep 300 &) ; sleep 300 & sleep 300", ", timeout: 1s", one, 4, "", "longer than it may"},
		"much output":               {"head -c 104857600 /dev/zero | tr '\\0' x; echo; " + counts, "", one, 0, "delivered", ""},
		"loopback":                  {"node loopback.js", "", one, 0, "verified  test ✓", ""},
		"the internet":              {"node internet.js", "", one, 4, "", "needs the network"},
		"a deleted test":            {counts, "", builds(fields{"name": "base.ok", "path": "base.ok", "type": "delete", "metadata": fields{"reason": "x"}}), 1, "failed", "tests may not be removed"},
		"a changed check":           {"sh check.sh", "", builds(fields{"name": "check.sh", "path": "check.sh", "type": "file", "content": "exit 0\n"}, aFile("bad.ok", "bad\n")), 1, "failed", "check.sh"},
		"only what is good":         {"sh check.sh", "", one, 0, "delivered", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("node"); err != nil && strings.HasPrefix(c.check, "node") {
				t.Skip("node is not installed")
			}
			a := newAgency(t)
			a.plays(c.play)
			settings := ""
			if c.check != "" {
				settings = fmt.Sprintf("  checks: [{name: test, run: %q%s}]\n", c.check, c.more)
			}
			dir := a.repositoryOf(t, settings, map[string]string{"base.ok": "good\n",
				"loopback.js": "const s = require('net').createServer((c) => c.end()).listen(0, '127.0.0.1', () => require('net').connect(s.address().port, '127.0.0.1').on('connect', () => process.exit(0)));\n",
				"internet.js": "require('http').get('http://example.org/', () => process.exit(0));\n",
				"check.sh":    "for f in *.ok; do grep -qx good \"$f\" || { echo \"$f:1: not good\"; exit 1; }; done\n"})
			p := start(t, dir, a.environment(dir), nil, "deliver", "Make it good")
			code := p.code()
			said := p.out.String() + p.err.String()
			if code != c.code || !strings.Contains(said, c.outcome) || !strings.Contains(said, c.says) {
				t.Errorf("exit %d, want %d, %q and %q:\n%s", code, c.code, c.outcome, c.says, said)
			}
			if left, _ := exec.Command("pgrep", "-f", "sleep 300").Output(); name == "too long, with children" && len(left) > 0 {
				t.Errorf("its children live on: %s", left)
			}
		})
	}
}

// A repository with all that is odd: what is not part of the change stays as it is.
func TestAnOddRepositoryFromOutside(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	lfs := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), []byte(lfs), 0o644); err != nil {
		t.Fatal(err)
	}
	inRepository(t, dir, `git init -q sub && git -C sub commit -q --allow-empty -m x && git -c advice.addEmbeddedRepo=false add sub
		echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; git config filter.lfs.smudge 'touch /tmp/never; cat'; git config filter.lfs.required true; git config filter.lfs.clean cat
		echo a > 'with space'; echo b > "$(printf 'new\nline')"; echo c > Twin; echo d > twin; echo e > -dash; printf 'bom\r\n' > crlf.txt; ln -s base.ok link
		git add -A && git commit -qm odd && git checkout -q --detach HEAD && echo dirty >> base.ok && echo staged > staged && git add staged && echo new > untracked
		git branch troupe`)
	before := fingerprintOf(t, dir)
	r, code := a.deliver(t, dir, "deliver", "Größe 添加")
	if code != 0 {
		t.Fatalf("exit %d: %q", code, r.Reasons)
	}
	// There can be no branch below one that exists, and letters stay what they are.
	if want := "troupe-grosse-添加-" + r.ID; r.Branch != want {
		t.Errorf("the branch is %s, not %s", r.Branch, want)
	}
	if got := inRepository(t, dir, "git -c core.quotePath=false ls-tree -r --name-only "+r.Branch+" specs | grep -c grosse-添加"); got == "0\n" {
		t.Error("no document has its name")
	}
	if after := fingerprintOf(t, dir); after != before {
		t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
	if got := inRepository(t, dir, "git diff --name-status HEAD "+r.Branch+" -- . ':!specs'"); got != "A\tstep1.ok\nA\tstep2.ok\n" {
		t.Errorf("it changes %s", got)
	}
	p := start(t, dir, a.environment(dir), nil, "deliver", "--include-changes", "Make it better")
	if p.code() != 0 {
		t.Fatalf("with the changes: %s%s", &p.out, &p.err)
	}
	branch := strings.TrimSpace(inRepository(t, dir, "git for-each-ref --format='%(refname:short)' 'refs/heads/troupe-make-it-better*'"))
	if got := inRepository(t, dir, "git diff --name-status HEAD "+branch+" -- . ':!specs'"); got != "M\tbase.ok\nA\tstaged\nA\tstep1.ok\nA\tstep2.ok\nA\tuntracked\n" {
		t.Errorf("with the changes: %s", got)
	}
	if after := fingerprintOf(t, dir); after != before {
		t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
}
