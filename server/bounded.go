package server

import (
	"slices"
	"sync"
)

// mostRemembered is how many things of one kind are kept in memory.
const mostRemembered = 10_000

// A bounded map forgets what was put into it first when it is full.
type bounded[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]V
	order  []K
}

func (b *bounded[K, V]) get(key K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.values[key]
	return value, ok
}

func (b *bounded[K, V]) put(key K, value V) {
	b.claim(key, value, func(V) bool { return false })
}

// claim puts a value where there is none, or none that is valid any more, and else
// returns the one that is there.
func (b *bounded[K, V]) claim(key K, value V, isValid func(V) bool) (there V, claimed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	there, known := b.values[key]
	if known && isValid(there) {
		return there, false
	}
	if b.values == nil {
		b.values = map[K]V{}
	}
	b.values[key] = value
	if known {
		return value, true
	}
	if b.order = append(b.order, key); len(b.order) > mostRemembered {
		delete(b.values, b.order[0])
		b.order = slices.Delete(b.order, 0, 1)
	}
	return value, true
}

func (b *bounded[K, V]) keys() []K {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.order)
}

func (b *bounded[K, V]) forget(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.values, key)
	b.order = slices.DeleteFunc(b.order, func(other K) bool { return other == key })
}
