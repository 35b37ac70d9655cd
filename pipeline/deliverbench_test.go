package pipeline_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// BenchmarkArtifact writes artifacts durably, each with new content.
func BenchmarkArtifact(b *testing.B) {
	w := newWorld(b)
	step, err := pipeline.Retry(w.config())
	if err != nil {
		b.Fatal(err)
	}
	engine := newEngine(b, troupe.NewMemoryStore())
	for i := 0; b.Loop(); i++ {
		_, err := troupe.Collect(engine.Run(b.Context(), step, troupe.Input{Text: "write", Custom: map[string]any{"artifacts": []object{
			{"path": fmt.Sprintf("%d/a.md", i%100), "content": fmt.Sprint("content ", i), "type": "file"},
		}}}))
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPhase takes a request from one phase to the next: prompt, parse, check,
// one artifact written durably, gate. The model takes no time.
func BenchmarkPhase(b *testing.B) {
	w := newWorld(b)
	c := w.config()
	c.To = "architecture"
	step := deliver(b, c)
	engine := newEngine(b, troupe.NewMemoryStore())
	for i := 0; b.Loop(); i++ { // each has files of its own
		if _, err := troupe.Collect(engine.Run(b.Context(), step, troupe.Input{Text: fmt.Sprint("Feature ", i)})); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(2*b.N), "µs/phase")
}

// slow is a model that takes its time, and counts it.
type slow struct {
	*world
	spent *atomic.Int64
}

func (s slow) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	began := time.Now()
	time.Sleep(200 * time.Millisecond)
	s.spent.Add(int64(time.Since(began)))
	return s.world.Generate(ctx, req)
}

// BenchmarkOverhead measures how much of a delivery's time is not the model's, whose
// answers take 200 ms.
func BenchmarkOverhead(b *testing.B) {
	w := newWorld(b)
	c := w.config()
	model := slow{w, new(atomic.Int64)}
	c.Model = model
	step := deliver(b, c)
	engine := newEngine(b, troupe.NewMemoryStore())
	for i := 0; b.Loop(); i++ {
		if _, err := troupe.Collect(engine.Run(b.Context(), step, troupe.Input{Text: fmt.Sprint("Feature ", i)})); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*float64(int64(b.Elapsed())-model.spent.Load())/float64(b.Elapsed()), "%overhead")
}
