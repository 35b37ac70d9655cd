package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/troupe-dev/troupe"
)

// Copied says what [Copy] did with a session.
type Copied struct {
	troupe.SessionInfo
	// Added is how many events the other store did not have.
	Added int64
}

const (
	// copyEvents and copyBytes bound what is added at a time.
	copyEvents = 256
	copyBytes  = 1 << 20
)

// Copy adds to one store the sessions of another, event by event, as they are. What is
// there already is left alone, so that a copy that was interrupted goes on when it is made
// again. A session that has other events there is an error. note is told of each session
// once it is copied.
func Copy(ctx context.Context, from, to troupe.Store, note func(Copied)) error {
	for info, err := range from.Sessions(ctx, troupe.SessionFilter{}) {
		if err != nil {
			return err
		}
		added, err := copySession(ctx, from, to, &info)
		if err != nil {
			return fmt.Errorf("copy session %s: %w", info.ID, err)
		}
		note(Copied{info, added})
	}
	return nil
}

func copySession(ctx context.Context, from, to troupe.Store, info *troupe.SessionInfo) (added int64, err error) {
	var there int64
	for other, err := range to.Sessions(ctx, troupe.SessionFilter{ID: info.ID}) {
		if err != nil {
			return 0, err
		}
		there = other.Events
	}
	if there > 0 {
		if err := compare(ctx, from, to, info.ID, min(there, info.Events)); err != nil {
			return 0, err
		}
	}
	var batch []troupe.Event
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := to.Append(ctx, info.ID, batch...)
		added += int64(len(batch))
		batch, size = nil, 0
		return err
	}
	for e, err := range from.Events(ctx, info.ID, there) {
		if err != nil {
			return added, err
		}
		data, err := e.MarshalJSON()
		if err != nil {
			return added, err
		}
		batch, size = append(batch, e), size+len(data)
		if len(batch) == copyEvents || size >= copyBytes {
			if err := flush(); err != nil {
				return added, err
			}
		}
	}
	return added, flush()
}

// compare fails unless two stores have the same event of a session.
func compare(ctx context.Context, from, to troupe.Store, session string, seq int64) error {
	var texts [2][]byte
	for i, s := range []troupe.Store{from, to} {
		for e, err := range s.Events(ctx, session, seq-1) {
			if err == nil {
				e.Time = e.Time.UTC()
				texts[i], err = e.MarshalJSON()
			}
			if err != nil {
				return err
			}
			break
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		return fmt.Errorf("another session of that id is there: event %d is not the same: %w", seq, troupe.ErrConflict)
	}
	return nil
}
