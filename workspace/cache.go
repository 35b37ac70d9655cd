package workspace

import (
	"container/list"
	"sync"
	"time"
)

// settled is how long ago a file must have changed for its content to be kept:
// the next change of a younger one could get the same time stamps.
const settled = 2 * time.Second

// A Cache keeps the contents of files that were read, so that reading an
// unchanged one again costs opening it. It grants nothing: a file is opened, with
// all checks, before its content is looked for. It may be used concurrently.
type Cache struct {
	now func() time.Time

	mu      sync.Mutex
	size    int64
	max     int64
	entries map[identity]*list.Element
	order   *list.List // of *cached, the one used last in front
}

// identity tells one state of one file from all others.
type identity struct {
	device, inode     uint64
	size              int64
	modified, changed int64 // in nanoseconds
}

type cached struct {
	id      identity
	content string
}

// NewCache returns a cache for contents of maxBytes in all. A single file may take
// a quarter of it.
func NewCache(maxBytes int64) *Cache {
	return &Cache{now: time.Now, max: maxBytes, entries: make(map[identity]*list.Element), order: list.New()}
}

func (c *Cache) get(id identity) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[id]
	if !ok {
		return "", false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).content, true
}

func (c *Cache) put(id identity, content string) {
	size := int64(len(content))
	if size != id.size || size > c.max/4 || c.now().Sub(time.Unix(0, id.changed)) < settled {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[id] != nil {
		return
	}
	c.entries[id] = c.order.PushFront(&cached{id, content})
	c.size += size
	for c.size > c.max {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.entries, oldest.id)
		c.size -= oldest.id.size
	}
}
