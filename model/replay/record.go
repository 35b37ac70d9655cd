package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"

	"github.com/troupe-dev/troupe"
)

// A Recorder is a model that writes down what another one answers.
type Recorder struct {
	model troupe.Model

	mu    sync.Mutex
	file  *os.File
	known map[string]*message // written already, by digest
}

var _ troupe.Model = (*Recorder)(nil)

// Record returns a model that answers as model does and adds each exchange to the
// file at path when it is complete. To record anew, delete the file first. What
// the caller breaks off or cancels is not recorded.
func Record(model troupe.Model, path string) (*Recorder, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	before, err := load(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("record %s: %w", path, err), file.Close())
	}
	return &Recorder{model: model, file: file, known: before.messages}, nil
}

// Close ends the recording. The model must not be asked any more.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Close()
}

// Generate implements [troupe.Model].
func (r *Recorder) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		normal, err := normalised(req)
		if err != nil {
			yield(troupe.Chunk{}, err)
			return
		}
		chunks := []chunk{}
		for piece, err := range r.model.Generate(ctx, req) {
			if err != nil && ctx.Err() != nil {
				yield(troupe.Chunk{}, err)
				return
			}
			complete := err != nil || piece.End != nil
			if err == nil && piece.Growing == "" {
				chunks = append(chunks, chunk{piece.Text, piece.Thought, piece.Refusal, piece.WasThought, piece.Call, (*end)(piece.End)})
			}
			if complete {
				// Written before it is passed on: after its end nobody asks for more.
				if failed := r.write(normal, chunks, err); failed != nil {
					piece, err = troupe.Chunk{}, failed
				}
			}
			if !yield(piece, err) || complete {
				return
			}
		}
		if ctx.Err() != nil {
			return // it stopped because it was told to
		}
		if failed := r.write(normal, chunks, nil); failed != nil {
			yield(troupe.Chunk{}, failed)
		}
	}
}

// write adds an exchange to the file, as one line.
func (r *Recorder) write(req *request, chunks []chunk, err error) error {
	e := exchange{Key: req.key, Request: req.summary(), Params: json.RawMessage(req.params), Tools: req.tools, Messages: req.digests, Chunks: chunks}
	if err != nil {
		e.Error = failureOf(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, name := range req.digests {
		if r.known[name] == nil {
			r.known[name] = &req.messages[i]
			e.New = append(e.New, req.messages[i])
		}
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if _, err := r.file.Write(line.Bytes()); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}
