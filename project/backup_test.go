package project_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
)

// A backup that is taken while agents work has all that was acknowledged before it began,
// and restores to a store in which they can go on.
func TestABackupUnderLoadHasWhatWasAcknowledged(t *testing.T) {
	const yaml = "agents: {clerk: {instructions: You answer., tools: [write_file]}}\n"
	p := open(t, write(t, yaml), project.Options{})
	clerk := agent(t, p, "clerk")
	e := engine(t, p)
	var mu sync.Mutex
	acknowledged := map[string]int64{} // sessions that have ended, with their events
	begin := make(chan struct{})       // closed once there is something to save
	over := make(chan struct{})
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for done := 0; ; done++ {
				select {
				case <-over:
					return
				default:
				}
				outcome, err := troupe.Collect(e.Run(t.Context(), clerk, troupe.Input{Text: `write_file file_path: "{session-folder}/a.md" content: "otters"`}))
				if err != nil {
					t.Error(err)
					return
				}
				var last int64
				for event, err := range e.Events(t.Context(), outcome.Session, 0) {
					if err != nil {
						t.Error(err)
						return
					}
					last = event.Seq
				}
				mu.Lock()
				acknowledged[outcome.Session] = last
				if len(acknowledged) == 12 {
					close(begin)
				}
				mu.Unlock()
			}
		})
	}
	<-begin
	mu.Lock()
	before := map[string]int64{}
	for session, n := range acknowledged {
		before[session] = n
	}
	mu.Unlock()
	var archive bytes.Buffer
	saved, err := p.Backup(t.Context(), &archive)
	close(over)
	work.Wait()
	if err != nil {
		t.Fatal(err)
	}
	restored := open(t, write(t, yaml), project.Options{})
	if b, err := restored.Restore(t.Context(), bytes.NewReader(archive.Bytes())); err != nil || b.Files != saved.Files {
		t.Fatalf("%+v, %v", b, err)
	}
	again := engine(t, restored)
	for session, events := range before {
		var last int64
		for event, err := range again.Events(t.Context(), session, 0) {
			if err != nil {
				t.Fatalf("session %s: %v", session, err)
			}
			last = event.Seq
		}
		if last != events {
			t.Errorf("session %s has %d events of %d", session, last, events)
		}
	}
	manifests, err := restored.Sessions(t.Context(), outputs.Filter{})
	if err != nil || len(manifests) < len(before) {
		t.Errorf("%d manifests of %d, %v", len(manifests), len(before), err)
	}
	for session := range before {
		if _, err := troupe.Collect(again.Run(t.Context(), agent(t, restored, "clerk"), troupe.Input{Session: session, Text: "And?"})); err != nil {
			t.Errorf("session %s does not go on: %v", session, err)
		}
		break
	}
	if _, err := restored.Restore(t.Context(), bytes.NewReader(archive.Bytes())); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a second time: %v", err)
	}
}

// What is cut off or changed is not restored, and leaves nothing behind.
func TestABrokenBackupIsNotRestored(t *testing.T) {
	const yaml = "agents: {clerk: {instructions: You answer.}}\n"
	p := open(t, write(t, yaml), project.Options{})
	if _, err := p.Backup(t.Context(), &bytes.Buffer{}); err == nil {
		t.Error("a project without sessions was saved")
	}
	if _, err := troupe.Collect(engine(t, p).Run(t.Context(), agent(t, p, "clerk"), troupe.Input{Text: "Hello"})); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if _, err := p.Backup(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(archive.Bytes())
	changed[len(changed)/2] ^= 0xff
	for name, data := range map[string][]byte{"cut": archive.Bytes()[:archive.Len()/2], "changed": changed, "other": []byte("no backup"), "empty": nil} {
		other := open(t, write(t, yaml), project.Options{})
		if _, err := other.Restore(t.Context(), bytes.NewReader(data)); err == nil {
			t.Errorf("%s: it was restored", name)
		}
		if found, err := other.Sessions(t.Context(), outputs.Filter{}); err != nil || len(found) > 0 {
			t.Errorf("%s: it left %d sessions behind, %v", name, len(found), err)
		}
	}
}
