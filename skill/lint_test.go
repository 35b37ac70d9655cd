package skill

import (
	"strings"
	"testing"
)

func TestLintFindsWhatASkillNamesInVain(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a/SKILL.md", strings.Join([]string{
		"---", "name: a", "description: x", "allowed-tools: read_file Bash(git:*)", "---",
		"See [it](there.md), [not](gone.md#part), [web](https://x.org/a.md) and [up](../b/SKILL.md).",
		"Run `scripts/gone.py` and [never](../../../etc/passwd.md), skill:b and skill:nobody.",
		"```", "[example](not-checked.md) skill:neither", "```",
	}, "\n"))
	put(t, dir, "a/there.md", "x")
	put(t, dir, "b/SKILL.md", text("b", "x\nmetadata: {requires: nobody-else}", ""))
	put(t, dir, "big/SKILL.md", text("big", "x", strings.Repeat("x", maxFile)))
	l := open(t, dir)
	const want = `warning skill-tool a/SKILL.md:4
warning dangling-file a/SKILL.md:6
warning dangling-file a/SKILL.md:7
warning dangling-file a/SKILL.md:7
warning dangling-skill a/SKILL.md:7
error dangling-skill b/SKILL.md:4
error unreadable big/SKILL.md:1
`
	if got := summary(l.Lint([]string{"read_file"}), dir); got != want {
		t.Errorf("findings\n%s", got)
	}
	if got := codes(l.Lint(nil)); strings.Contains(got, CodeTool) {
		t.Error("tools were checked without knowing any")
	}
	if got := names(l.List()); got != "a b big" {
		t.Errorf("skills %s", got)
	}
}

func TestLintFindsCircles(t *testing.T) {
	dir := t.TempDir()
	requires := func(name string, others ...string) string {
		return text(name, "x\nmetadata:\n  requires: ["+strings.Join(others, ", ")+"]", "")
	}
	put(t, dir, "a/SKILL.md", requires("a", "b"))
	put(t, dir, "b/SKILL.md", requires("b", "c", "d"))
	put(t, dir, "c/SKILL.md", requires("c", "a"))
	put(t, dir, "d/SKILL.md", requires("d"))
	put(t, dir, "self/SKILL.md", requires("self", "self"))
	put(t, dir, "x/SKILL.md", text("x", "y", "After skill:y."))
	put(t, dir, "y/SKILL.md", text("y", "y", "Then skill:x, not skill:y."))
	found := open(t, dir).Lint(nil)
	const want = `error cycle a/SKILL.md:5
error cycle self/SKILL.md:5
warning cycle x/SKILL.md:5
`
	if got := summary(found, dir); got != want || !strings.Contains(found[0].Message, "a → b → c → a") {
		t.Errorf("findings %v", found)
	}
}
