package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"

	"github.com/troupe-dev/troupe"
)

// ErrNotRecorded reports a request that the recording has no answer for, or none
// that was not played already.
var ErrNotRecorded = errors.New("the request was not recorded")

// A Player is a model that answers from a recording. A request gets the answer to
// one that was the same but for ids of tool calls, UUIDs and times; one that was
// recorded several times gets its answers in order. It never asks a model.
type Player struct {
	path string
	all  *recording

	mu     sync.Mutex
	queues map[string][]*exchange // those not yet played, by key
}

var _ troupe.Model = (*Player)(nil)

// Open reads a recording. An error names the line that cannot be read.
func Open(path string) (*Player, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	defer file.Close()
	all, err := load(file)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	p := &Player{path: path, all: all, queues: map[string][]*exchange{}}
	for _, e := range all.exchanges {
		p.queues[e.Key] = append(p.queues[e.Key], e)
	}
	return p, nil
}

// Generate implements [troupe.Model].
func (p *Player) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(troupe.Chunk{}, context.Cause(ctx))
			return
		}
		e, err := p.next(req)
		if err != nil {
			yield(troupe.Chunk{}, err)
			return
		}
		for i := range e.Chunks {
			if ctx.Err() != nil {
				yield(troupe.Chunk{}, context.Cause(ctx))
				return
			}
			if !yield(e.Chunks[i].chunk(), nil) {
				return
			}
		}
		if e.Error != nil {
			yield(troupe.Chunk{}, e.Error.error())
		}
	}
}

// next takes the answer to a request from the recording.
func (p *Player) next(req *troupe.Request) (*exchange, error) {
	normal, err := normalised(req)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	queue, known := p.queues[normal.key]
	if len(queue) == 0 {
		why := p.all.explain(normal)
		if known {
			why = "all its answers were played already"
		}
		return nil, fmt.Errorf("replay %s: %w: %s: %s", p.path, ErrNotRecorded, normal.summary(), why)
	}
	p.queues[normal.key] = queue[1:]
	return queue[0], nil
}

// Unplayed says which requests never came, in the order of the recording.
func (p *Player) Unplayed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, e := range p.all.exchanges {
		// Those of one key are played in order, so what is left is what comes last.
		if queue := p.queues[e.Key]; len(queue) > 0 && e.line >= queue[0].line {
			list = append(list, fmt.Sprintf("line %d: %s", e.line, e.Request))
		}
	}
	return list
}
