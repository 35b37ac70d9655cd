//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/pipeline"
)

// deliveryPoints are those between an artifact, its upload and their records, and those
// between a repository that is made for a delivery, its branch there, and their records.
var deliveryPoints = []failpoint.Point{
	failpoint.CallsRecorded, failpoint.ToolReturned, failpoint.FeedAfterAppend, failpoint.FileBeforeRename,
	failpoint.RepositoryMade, failpoint.BranchTaking, failpoint.BranchTaken,
}

// cutDeliveries kills deliveries in every phase, between an artifact and its upload
// among others, and has each resumed to its end.
func (w *world) cutDeliveries(ctx context.Context) error {
	for _, point := range deliveryPoints {
		for pass := 1; ; pass += deliveryStride(w.Kills) {
			killed, err := w.cutDelivery(ctx, point, pass)
			if err != nil {
				return err
			}
			if !killed {
				break // it does not get there so often
			}
			w.report.add(deliveryKills, 1)
			w.report.hit(point)
		}
	}
	return nil
}

// deliveryStride is how many passes of a point lie between two kills: the more kills
// were asked for, the closer they are.
func deliveryStride(kills int) int { return max(1, 1000/max(kills, 1)) }

// cutDelivery kills one delivery and checks what it comes to when it is resumed.
func (w *world) cutDelivery(ctx context.Context, point failpoint.Point, pass int) (killed bool, err error) {
	p := &project{world: w, dir: filepath.Join(w.dir, fmt.Sprintf("delivery-%s-%d", point, pass)), seen: map[string]*session{}}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return false, err
	}
	if err := os.WriteFile(filepath.Join(p.dir, "troupe.yaml"), []byte("model: rehearsal\n"), 0o644); err != nil {
		return false, err
	}
	o, err := p.do(ctx, command{args: []string{"-q", "deliver", "--unchecked", "Create a todo app"}, end: plan{point: point, pass: pass}})
	if err != nil || !o.killed {
		return false, err
	}
	list, err := p.list(ctx)
	if err != nil {
		return true, err
	}
	if len(list) == 0 {
		return true, nil // it had not begun
	}
	if list[0].Execution.Status != "completed" { // else only the manifest was left to write
		if o, err = p.do(ctx, command{args: []string{"-q", "sessions", "resume", list[0].ID}}); err != nil {
			return true, err
		}
		if o.code != 0 {
			p.problem("killed at %s:%d, it is resumed to exit code %d: %s", point, pass, o.code, o.err)
			return true, nil
		}
	}
	when := fmt.Sprintf("%s:%d", point, pass)
	if err := errors.Join(p.checkDelivery(ctx, list[0].ID, when), p.checkTaken(ctx, list[0].ID, when)); err != nil {
		return true, err
	}
	return true, p.cutRemoval(ctx, list[0].ID, removalPoints[pass%len(removalPoints)])
}

// removalPoints are those between what is removed with a delivery.
var removalPoints = []failpoint.Point{failpoint.DeliveryForgotten, failpoint.FolderSetAside, failpoint.SessionForgotten}

// cutRemoval kills the deletion of a delivery, which the next process finishes.
func (p *project) cutRemoval(ctx context.Context, id string, point failpoint.Point) error {
	o, err := p.do(ctx, command{args: []string{"sessions", "delete", id}, end: plan{point: point, pass: 1}})
	if err != nil {
		return err
	}
	if !o.killed {
		p.problem("the deletion of a delivery does not get to %s: exit code %d: %s", point, o.code, o.err)
		return nil
	}
	p.world.report.hit(point)
	if _, err = p.do(ctx, command{args: []string{"-q", "deliveries", "list"}}); err != nil {
		return err
	}
	left, _ := filepath.Glob(filepath.Join(p.dir, "data", "deliveries", "*", "[^dt]*")) // all but what says that a branch stays
	for _, name := range []string{"documents", "deleting"} {
		more, _ := filepath.Glob(filepath.Join(p.dir, "data", "deliveries", "*", name))
		left = append(left, more...)
	}
	if listed, err := p.isListed(ctx, id); listed || err != nil || len(left) > 0 {
		p.problem("a delivery whose deletion was killed at %s is listed: %v, %v; left are %q", point, listed, err, left)
	}
	return nil
}

// checkDelivery looks for artifacts and uploads that are missing or there twice.
func (p *project) checkDelivery(ctx context.Context, id, when string) error {
	s, err := p.show(ctx, id, nil)
	if err != nil {
		return err
	}
	saved := map[string]int{}
	for _, line := range s.lines {
		var e struct {
			Kind string
			Body struct{ Path string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return err
		}
		if e.Kind == "artifact_saved" {
			saved[e.Body.Path]++
		}
	}
	for path, n := range saved {
		name := filepath.Join(p.dir, "data", "deliveries", id, "documents", strings.TrimPrefix(path, "{output}/"))
		if _, err := os.Stat(name); err != nil || n != 1 {
			p.problem("killed at %s: %s is saved %d times: %v", when, path, n, err)
		}
	}
	if len(saved) < 5 { // one for each phase but the implementation, which makes commits
		p.problem("killed at %s: only %d artifacts: %v", when, len(saved), saved)
	}
	o, err := p.do(ctx, command{args: []string{"--json", "kb", "list"}})
	if err != nil {
		return err
	}
	var documents []struct{ Name string }
	if err := json.Unmarshal([]byte(o.out), &documents); err != nil || len(documents) != 1 {
		p.problem("killed at %s: the knowledge base has %s", when, o.out)
	}
	return nil
}

// checkTaken looks whether the repository that was made for a delivery has its branch taken,
// once, and whether the delivery says so.
func (p *project) checkTaken(ctx context.Context, id, when string) error {
	site, err := pipeline.ReadSite(filepath.Join(p.dir, "data", "deliveries", id))
	if err != nil {
		return err
	}
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = site.Repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			p.problem("killed at %s: git %q: %v: %s", when, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	tip := git("rev-parse", "refs/heads/"+site.Branch)
	if main := git("rev-parse", "main"); main != tip || tip == site.Base {
		p.problem("killed at %s: main is at %s, and its branch at %s", when, main, tip)
	}
	if left := git("status", "--porcelain"); left != "" {
		p.problem("killed at %s: the checkout has %s", when, left)
	}
	if n := len(site.Brought); !site.Own || n != 1 || site.Brought[0].Before != site.Base || site.Brought[0].After != tip || len(site.Takes) != 1 {
		p.problem("killed at %s: of its own repository: %v, brought %v, taken %v", when, site.Own, site.Brought, site.Takes)
	}
	return nil
}
