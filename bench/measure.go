package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A figure is what one operation costs: the least that any of several runs saw,
// because whatever else the machine does can only add to it.
type figure struct {
	time   time.Duration
	bytes  int64
	allocs int64
}

// least is the lower of both in each respect.
func (f figure) least(other figure) figure {
	return figure{min(f.time, other.time), min(f.bytes, other.bytes), min(f.allocs, other.allocs)}
}

// A cell is a contender's figure in a row, or why there is none.
type cell struct {
	figure
	missing string
}

// measure fails when the contender does; one that does not offer the row gives
// a cell that says so.
func measure(r row, e entry, runs int) (cell, error) {
	do, err := r.prep(e)
	if reason, ok := errors.AsType[notOffered](err); ok {
		return cell{missing: string(reason)}, nil
	}
	if err != nil {
		return cell{}, fmt.Errorf("%s: prepare %s: %w", e.name, r.name, err)
	}
	if err := do(context.Background()); err != nil { // also fills whatever is filled once
		return cell{}, fmt.Errorf("%s: %s: %w", e.name, r.name, err)
	}
	var least figure
	for n := range runs {
		var failed error
		result := testing.Benchmark(func(b *testing.B) {
			if failed = repeat(b, do); failed != nil {
				b.FailNow()
			}
		})
		if failed != nil {
			return cell{}, fmt.Errorf("%s: %s: %w", e.name, r.name, failed)
		}
		seen := figure{time.Duration(result.NsPerOp()), result.AllocedBytesPerOp(), result.AllocsPerOp()}
		if n == 0 {
			least = seen
		}
		least = least.least(seen)
	}
	return cell{figure: least}, nil
}

// repeat does the job for as long as the benchmark goes on.
func repeat(b *testing.B, do job) error {
	b.ReportAllocs()
	ctx := context.Background()
	for b.Loop() {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}
