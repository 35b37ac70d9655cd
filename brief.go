package troupe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// recall returns what a run is told at its beginning: from the log if all of it is
// there, else from load, whose answer is then recorded.
func (r *Run) recall(ctx context.Context, load func(context.Context, *Run) ([]ContextLoaded, error)) ([]ContextLoaded, error) {
	if past := r.loadedBefore(); past != nil {
		return past, nil
	}
	if err := r.alive(ctx); err != nil {
		return nil, err
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	loaded, err := load(ctx, r)
	if err != nil {
		return nil, err
	}
	for i := range loaded {
		l := &loaded[i]
		sum := sha256.Sum256([]byte(l.Content))
		l.SHA256, l.Size, l.Following = hex.EncodeToString(sum[:]), len(l.Content), len(loaded)-1-i
		if l.Role == "" {
			l.Role = RoleSystem
		}
		event := *l
		if err := r.Emit(ctx, &event); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// loadedBefore returns what the log says was loaded here, nil if that is not all.
func (r *Run) loadedBefore() []ContextLoaded {
	var loaded []ContextLoaded
	for n := r.count + 1; r.exec.journal != nil; n++ {
		var found *ContextLoaded
		for _, e := range r.exec.journal.at(r.id, r.place(n)) {
			if body, ok := e.Body.(*ContextLoaded); ok {
				found = body
				r.saw(e)
			}
		}
		if found == nil {
			return nil
		}
		loaded = append(loaded, *found)
		if found.Following == 0 {
			r.count = n
			return loaded
		}
	}
	return nil
}
