package sprint

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestStatesInWordsAndLanguagesOfTheirOwn(t *testing.T) {
	for phase, states := range map[Phase][]string{
		Done:       {"done", "Done ✅", "DONE (2026-02-01)", "completed", "Готово", "выполнена", "terminé", "Terminada", "concluído", "已完成", "完成", "✅", "included", "fertig"},
		Review:     {"review", "Ready for Review", "in-review", "на ревью", "En revue", "em revisão", "评审中", "QA"},
		InProgress: {"in-progress", "In Progress", "InProgress", "in_progress", "WIP", "в работе", "en cours", "em andamento", "进行中", "🚧 half"},
		Draft:      {"drafted", "Draft", "Brouillon", "черновик", "草稿"},
		Ready:      {"ready-for-dev", "Approved", "готова к разработке", "dispatch-ready", "prêt", "就绪"},
		Backlog:    {"backlog", "todo", "pending", "à faire", "pendiente", "待办", "[ ]"},
		Blocked:    {"blocked", "on-hold", "needs-clarification", "заблокировано", "bloqueado"},
		Dropped:    {"cancelled", "deprecated", "deferred-post-mvp", "отменена", "annulé"},
		Optional:   {"optional"},
		Unknown:    {"", "purple", "donut", "newish"},
	} {
		for _, state := range states {
			if got := PhaseOf(state); got != phase {
				t.Errorf("%q is %q, want %q", state, got, phase)
			}
		}
	}
}

// lines shows a board for comparison.
func lines(b Board) (all []string) {
	for _, item := range b.Items {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s:%d %s", item.Key, item.Phase, item.File, item.Line, item.Document)))
	}
	return all
}

func TestSprintsAreReadAsPeopleKeepThem(t *testing.T) {
	project := fstest.MapFS{}
	for name, text := range map[string]string{
		"out/sprint-status.yaml": "# by hand\nproject: x\nstory_location: out\ndevelopment_status:\n  epic-1: done\n  1-1-login: done # by Ada\n  1-10-search: в работе\n" +
			"  category-fix: done\n  epic-1-retrospective: optional\n",
		"out/sprint-status-2.yaml": "sprint: 2\nepics:\n  - id: epic-2\n    status: in-progress\n    stories:\n      - id: 2-1-pay\n        status: revue\n      - key: 2-2-refund\n        estado: pendiente\n" +
			"  - id: epic-1\n    status: backlog\n",
		"out/sprint-broken.yaml":     "stories:\n  3-1-a: done\n   3-2-b: [\n  3-3-c: \"review\n",
		"out/nested/sprint-plan.yml": "stories:\n  4-1-x:\n    title: X\n    status: blocked\n",
		"out/1-1-login.md":           "# Story 1.1\n\nStatus: review\n",
		"out/1-10-search.md":         "# Story\n\n**Статус:** в работе\n",
		"docs/stories/5.1.old.md":    "# Story 5.1\n\n## Status\n\nDraft\n\n## Story\n",
		"docs/prd.md":                "Status: done\n",
	} {
		project[name] = &fstest.MapFile{Data: []byte(text)}
	}
	b := Read(project, "out", "docs", "nothing")
	want := []string{
		"4-1-x blocked out/nested/sprint-plan.yml:4",
		"3-1-a done out/sprint-broken.yaml:2",
		"3-2-b  out/sprint-broken.yaml:3",
		"3-3-c review out/sprint-broken.yaml:4",
		"epic-2 in progress out/sprint-status-2.yaml:4",
		"2-1-pay review out/sprint-status-2.yaml:7",
		"2-2-refund backlog out/sprint-status-2.yaml:9",
		"epic-1 backlog out/sprint-status-2.yaml:11",
		"1-1-login done out/sprint-status.yaml:6 out/1-1-login.md",
		"1-10-search in progress out/sprint-status.yaml:7 out/1-10-search.md",
		"category-fix done out/sprint-status.yaml:8",
		"epic-1-retrospective optional out/sprint-status.yaml:9",
		"5.1.old draft docs/stories/5.1.old.md:5 docs/stories/5.1.old.md",
	}
	if diff := cmp.Diff(want, lines(b)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	notes := strings.Join(b.Notes, "\n")
	for _, note := range []string{"sprint-broken.yaml is no YAML", "epic-1 is backlog in out/sprint-status-2.yaml:11 and done in", "1-1-login is done in out/sprint-status.yaml:6 and review in out/1-1-login.md:3"} {
		if !strings.Contains(notes, note) {
			t.Errorf("no note %q in\n%s", note, notes)
		}
	}
	if next := b.Next(); next == nil || next.Key != "3-3-c" {
		t.Errorf("next is %+v", next)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("development_status:\n  1-1-a: done\n")
	f.Add("- status: x\n  id: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		b := Read(fstest.MapFS{"a/sprint-status.yaml": {Data: []byte(text)}, "a/1-1-x.md": {Data: []byte(text)}}, "a")
		b.Next()
	})
}

// What else a file says of a story, an owner or a tier, is not its state, wherever it stands.
func TestWhatElseIsSaidOfAStoryIsNotItsState(t *testing.T) {
	const status = "owners:\n  1-1-login: ada\ndevelopment_status:\n  1-1-login: review\n  1-2-user: ready-for-dev\nexecution_tiers:\n  1-2-user: pro\n"
	b := Read(fstest.MapFS{"out/sprint-status.yaml": {Data: []byte(status)}}, "out")
	want := []string{"1-1-login review out/sprint-status.yaml:4", "1-2-user ready out/sprint-status.yaml:5"}
	if diff := cmp.Diff(want, lines(b)); diff != "" || len(b.Notes) > 0 {
		t.Errorf("%s\nnotes: %v", diff, b.Notes)
	}
}
