//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

func TestNothingIsLostWhoeverIsKilledWhenever(t *testing.T) {
	if testing.Short() {
		t.Skip("to kill takes its time")
	}
	o := options{Kills: 120, Seed: 1, Out: t.Output()}
	if n, err := strconv.Atoi(os.Getenv("TROUPE_KILLS")); err == nil {
		o.Kills = n
	}
	if err := torture(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// A person approves a call, the server is killed when that is on record, and the page
// sends the approval again: it is the same run, and what was approved is done once.
func TestAnApprovalThatIsSentAgainAfterAKillIsCarriedOutOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	w := builtWorld(t, options{Out: t.Output(), Only: "serve"})
	p, err := w.newProject(t.Context(), "approval")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{project: p, random: rand.New(rand.NewPCG(1, 1))}
	defer h.close()
	if err := h.start(t.Context(), 0, string(failpoint.AnswerRecorded)+":1"); err != nil {
		t.Fatal(err)
	}
	first := h.all[0]
	c := &client{house: h, random: rand.New(rand.NewPCG(1, 2))}
	var made struct {
		ID string `json:"id"`
	}
	if done, err := c.post(t.Context(), first, "/api/sessions", "k0", map[string]any{"agent": "scribe"}, &made); err != nil || !done {
		t.Fatal(done, err)
	}
	conversation := &talk{id: made.ID, shown: map[int64]string{}}
	path := "/api/sessions/" + made.ID + "/messages"
	var begun, again struct {
		Run string `json:"run"`
	}
	text := map[string]any{"text": "T1 {scribe=write:guarded.md+ledger}"}
	if done, err := c.post(t.Context(), first, path, "k1", text, &begun); err != nil || !done {
		t.Fatal(done, err)
	}
	if done, err := c.follow(t.Context(), first, conversation, begun.Run); err != nil || !done {
		t.Fatalf("it does not come to its question: %v, %v", done, err)
	}
	yes := map[string]any{"text": approval}
	c.post(t.Context(), first, path, "k2", yes, &again) // which kills it, before or after it has answered
	<-first.done
	if err := h.start(t.Context(), 0, ""); err != nil {
		t.Fatal(err)
	}
	second := h.all[0]
	for range 3 {
		if done, err := c.post(t.Context(), second, path, "k2", yes, &again); err != nil || !done || again.Run != begun.Run {
			t.Fatalf("sent again, it is run %s, not %s: %v, %v", again.Run, begun.Run, done, err)
		}
	}
	if done, err := c.follow(t.Context(), second, conversation, begun.Run); err != nil || !done {
		t.Fatalf("it does not come to its end: %v, %v", done, err)
	}
	h.close()
	s, err := p.show(t.Context(), made.ID, conversation.shown)
	if err != nil {
		t.Fatal(err)
	}
	h.checkTalk(made.ID, &talk{runs: 1, said: map[string]int{approval: 1}, isDone: true}, s)
	if s.answer == "" || s.info.Status != "completed" {
		t.Errorf("the session is %s with the answer %q", s.info.Status, s.answer)
	}
	lines, err := entries(p.ledger())
	if err != nil || fmt.Sprint(lines) != "map[T1-scribe-0-1:1]" {
		t.Errorf("the ledger has %v, %v", lines, err)
	}
	w.tellProblems(t)
}

// builtWorld is a world with the program and the model in it.
func builtWorld(t *testing.T, o options) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{options: o, dir: dir, program: filepath.Join(dir, "troupe"), report: newReport(o)}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := w.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.model, err = serveModel(w.report); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.model.close() })
	return w
}

func (w *world) tellProblems(t *testing.T) {
	t.Helper()
	for _, problem := range w.report.problems {
		t.Error(problem)
	}
}

// A delivery into a repository that is made for it is killed where that is made, where its
// site is on file and not on record, and around the taking of its branch: resumed, its
// branch is taken, once, and it says so.
func TestTheBranchOfADeliveryIntoItsOwnRepositoryIsTaken(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	w := builtWorld(t, options{Out: t.Output()})
	for _, point := range []failpoint.Point{failpoint.RepositoryMade, failpoint.ToolReturned, failpoint.BranchTaking, failpoint.BranchTaken} {
		if killed, err := w.cutDelivery(t.Context(), point, 1); err != nil || !killed {
			t.Errorf("%s: killed: %v, %v", point, killed, err)
		}
	}
	w.tellProblems(t)
}
