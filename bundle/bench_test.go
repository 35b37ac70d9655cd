package bundle

import (
	"testing"
)

// BenchmarkAgentReady is what a user waits for beside the model: the agent's file
// read, its session opened, its critical actions carried out, its prompt built.
func BenchmarkAgentReady(b *testing.B) {
	dir := project(b)
	c := find(b, dir, Config{})
	e, err := c.lookup("alex")
	if err != nil {
		b.Fatal(err)
	}
	s := newSessions(b, c, "alex")
	n := 0
	for b.Loop() {
		n++
		e.definition = nil
		if s.agent, err = e.load(); err != nil {
			b.Fatal(err)
		}
		x, leave := s.use(b, uuid(n), "2026-11-15")
		parts, err := s.parts(x.id, x.base, x.told)
		if err != nil || len(parts) != 8 {
			b.Fatal(parts, err)
		}
		leave()
	}
}

func BenchmarkFind(b *testing.B) {
	dir := project(b)
	for b.Loop() {
		if _, err := Find(dir, Config{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWorkflow(b *testing.B) {
	bundle := bundleIn(b, find(b, project(b), Config{}), "bmad/custom/bundles/requirements")
	for b.Loop() {
		if _, err := bundle.Workflow("{bundle-root}/workflows/intake/workflow.yaml"); err != nil {
			b.Fatal(err)
		}
	}
}
