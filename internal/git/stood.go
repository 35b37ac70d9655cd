package git

import (
	"context"
	"slices"
	"sync"
)

// stood is how checkouts stood to branches. It takes a hundred programs to find out where people have
// gone on from what was brought, pages ask for it again and again, and commits do not change.
var stood standings

// mostStood is how many of them are kept.
const mostStood = 256

type standings struct {
	mu   sync.Mutex
	list map[string]*Standing
}

func (k *standings) get(key string) *Standing {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.list[key]; s != nil {
		return s.clone()
	}
	return nil
}

func (k *standings) put(key string, s *Standing) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list == nil || len(k.list) >= mostStood {
		k.list = map[string]*Standing{}
	}
	k.list[key] = s.clone()
}

// clone is a copy for somebody who may change it.
func (s *Standing) clone() *Standing {
	c := *s
	c.Parts, c.In, c.gone, c.others = slices.Clone(s.Parts), slices.Clone(s.In), slices.Clone(s.gone), slices.Clone(s.others)
	return &c
}

// hasObject reports whether a commit or a tree is there.
func (r *Repo) hasObject(ctx context.Context, id string) bool {
	_, err := r.at(ctx, r.Top, nil, "cat-file", "-e", id)
	return err == nil
}
