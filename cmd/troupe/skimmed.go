package main

import (
	"context"
	"math"
	"runtime"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/store"
)

// skimAhead is how many pages are read before those that come first are counted.
const skimAhead = 64

// A skimmedPage is a page of a log of which only what is counted is read.
type skimmedPage struct {
	*store.Page
	*skimmed
	err  error
	done chan struct{} // closed when it is read
}

// skimmed are events and what they are read with, to be used for one page after another.
type skimmed struct {
	skimmer *observe.Skimmer
	events  []troupe.Event
}

var spare = sync.Pool{New: func() any { return &skimmed{skimmer: observe.NewSkimmer()} }}

func (p *skimmedPage) read() {
	defer close(p.done)
	p.skimmed = spare.Get().(*skimmed)
	for content := range p.Events() {
		e, isCounted, err := p.skimmer.Skim(content)
		if err != nil {
			p.err = err
			return
		}
		if isCounted {
			p.events = append(p.events, e)
		}
	}
}

// release gives its memory to the pages that follow.
func (p *skimmedPage) release() {
	clear(p.events)
	p.events = p.events[:0]
	p.skimmer.Reset()
	spare.Put(p.skimmed)
	p.Release()
}

// foldAll counts what a log has after one number and up to another, and returns how many
// events these are.
func foldAll(ctx context.Context, log store.Log, metrics *observe.Metrics, after, upto int64) (n int64, err error) {
	n, _, err = foldFirst(ctx, log, metrics, after, upto, math.MaxInt64)
	return n, err
}

// foldFirst counts of that the first so many events, or a few more, and returns the number of
// the last one, too. Pages are read from the store one after another, skimmed by as many as
// there are processors, and counted in their order.
func foldFirst(ctx context.Context, log store.Log, metrics *observe.Metrics, after, upto, most int64) (n, end int64, err error) {
	var running sync.WaitGroup
	defer running.Wait()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	unread, inOrder := make(chan *skimmedPage, skimAhead), make(chan *skimmedPage, skimAhead)
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for page := range unread {
				page.read()
			}
		})
	}
	running.Go(func() {
		defer close(unread)
		defer close(inOrder)
		for page, err := range log.Scan(reading, after, upto) {
			next := &skimmedPage{Page: page, err: err, done: make(chan struct{})}
			if err != nil {
				close(next.done)
			} else {
				unread <- next
			}
			select {
			case inOrder <- next:
			case <-reading.Done():
				return
			}
		}
	})
	own, err := log.Forks(reading, after, upto) // from which event on a fork's log is its own
	if err != nil {
		return 0, 0, err
	}
	for page := range inOrder {
		<-page.done
		if page.err != nil {
			return 0, 0, page.err
		}
		for i := range page.events {
			if e := &page.events[i]; e.Seq >= own[e.Session] {
				metrics.Note(e)
			}
		}
		n, end = n+int64(page.Len()), page.Upto
		if page.release(); n >= most {
			return n, end, nil
		}
	}
	return n, upto, ctx.Err()
}
