package wiretest

import (
	"encoding/json"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A Replay has a client read recorded answers.
type Replay struct {
	// API names the recordings.
	API string
	// Open makes a client that gets the recorded answer.
	Open func(t *testing.T, r *Recording) troupe.Model
	// Skip says why a recording is not one of an answer, empty for those that are.
	Skip func(r *Recording) string
	// Check looks at what was heard and names the outcome: "answer" for what was read as
	// it should.
	Check func(t *testing.T, r *Recording, h *Heard) string
	// Least is how many answers there are at least.
	Least int
}

// Run runs the test.
func (p Replay) Run(t *testing.T) {
	t.Helper()
	outcomes := map[string]int{}
	for _, r := range Recordings(t, p.API) {
		if why := p.Skip(r); why != "" {
			outcomes["not replayed: "+why]++
			continue
		}
		h := Listen(t.Context(), p.Open(t, r), Hello())
		outcomes[p.Check(t, r, &h)]++
	}
	t.Log(outcomes)
	if outcomes["answer"] < p.Least {
		t.Errorf("only %d answers", outcomes["answer"])
	}
}

// CheckAnswer compares all of an answer with the facts: what was said, why it ended,
// what it took, and that all signatures are kept.
func (r *Recording) CheckAnswer(t *testing.T, h *Heard, finish troupe.Finish, usage troupe.Usage) {
	t.Helper()
	r.CheckSaid(t, h)
	if len(h.Calls) > 0 && finish == troupe.FinishStop {
		finish = troupe.FinishCalls
	}
	if h.End.Finish != finish {
		t.Errorf("%s: ended with %s, want %s", r.Name, h.End.Finish, finish)
	}
	if h.End.Usage != usage {
		t.Errorf("%s: usage %+v, want %+v", r.Name, h.End.Usage, usage)
	}
	if n := signatures(h.End.Opaque); n != r.Facts.Signatures {
		t.Errorf("%s: %d signatures, want %d", r.Name, n, r.Facts.Signatures)
	}
}

// signatures counts those that are kept of an answer.
func signatures(opaque json.RawMessage) (n int) {
	var kept struct {
		Blocks []struct {
			Signature string
			Data      json.RawMessage
		}
	}
	_ = json.Unmarshal(opaque, &kept)
	for _, b := range kept.Blocks {
		var google struct{ ThoughtSignature string }
		_ = json.Unmarshal(b.Data, &google)
		if b.Signature != "" || google.ThoughtSignature != "" {
			n++
		}
	}
	return n
}

// Count returns a number of the usage, by the names that lead to it.
func (f *Facts) Count(path ...string) int {
	var value any
	_ = json.Unmarshal(f.Usage, &value)
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	n, _ := value.(float64)
	return int(n)
}

// SentBack is the encoding of an answer as a list of JSON values.
func SentBack(t *testing.T, r *Recording, encoded []byte) (items []any) {
	t.Helper()
	if len(encoded) > 0 && encoded[0] == ',' {
		encoded = encoded[1:]
	}
	if err := json.Unmarshal([]byte("["+string(encoded)+"]"), &items); err != nil {
		t.Fatalf("%s: %v in %s", r.Name, err, encoded)
	}
	return items
}
