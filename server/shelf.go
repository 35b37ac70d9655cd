package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// A Shelf keeps small things for all servers of one store, so that any of them can answer
// any request. It may be used concurrently.
type Shelf interface {
	// Read returns what is kept under a name, nil if nothing is.
	Read(ctx context.Context, name string) ([]byte, error)
	// Change puts in the place of what is kept under a name what change makes of it. Nil
	// removes it. Nobody else changes it meanwhile.
	Change(ctx context.Context, name string, change func(before []byte) (after []byte, err error)) error
}

// A ManyReader is a [Shelf] that can be asked for many things at once, so that a list does not
// cost a request for each of its rows.
type ManyReader interface {
	// ReadMany returns what is kept under names, by name. Names under which nothing is kept are not in
	// it.
	ReadMany(ctx context.Context, names []string) (map[string][]byte, error)
}

// The names of what is on a shelf begin so.
const (
	shelfNotes = "notes/"
	shelfDraft = "draft/"
	shelfTalk  = "talk/"
	shelfLink  = "link/"
	shelfToken = "token"
)

// shelfTime is how long a server waits for its shelf.
const shelfTime = 10 * time.Second

// readShelf reads what is kept under a name as JSON. It reports whether there is any.
func readShelf(shelf Shelf, name string, into any) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), shelfTime)
	defer cancel()
	data, err := shelf.Read(ctx, name)
	if err == nil && data != nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return data != nil, nil
}

// readShelfAll reads what is kept under names as JSON, each into its own place.
func readShelfAll(shelf ManyReader, names []string, into func(i int) any) error {
	ctx, cancel := context.WithTimeout(context.Background(), shelfTime)
	defer cancel()
	kept, err := shelf.ReadMany(ctx, names)
	for i, name := range names {
		if data, ok := kept[name]; ok && err == nil {
			err = json.Unmarshal(data, into(i))
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return err
}

// writeShelf keeps a value under a name as JSON, or, if it is nil, nothing.
func writeShelf(shelf Shelf, name string, value any) error {
	ctx, cancel := context.WithTimeout(context.Background(), shelfTime)
	defer cancel()
	err := shelf.Change(ctx, name, func([]byte) ([]byte, error) {
		if value == nil {
			return nil, nil
		}
		return json.Marshal(value)
	})
	if err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	return nil
}

// changeNotes is noteBook.change for notes on a shelf.
func changeNotes(shelf Shelf, session string, f func(*notes)) error {
	ctx, cancel := context.WithTimeout(context.Background(), shelfTime)
	defer cancel()
	err := shelf.Change(ctx, shelfNotes+session, func(before []byte) ([]byte, error) {
		var n notes
		if before != nil {
			if err := json.Unmarshal(before, &n); err != nil {
				return nil, err
			}
		}
		f(&n)
		return json.Marshal(n)
	})
	if err != nil {
		return fmt.Errorf("keep the notes of a session: %w", err)
	}
	return nil
}

// A keptPlace is a talkPlace on a shelf.
type keptPlace struct {
	Session string `json:"session"`
	Seq     int64  `json:"seq"`
}

func talkName(key talkKey) string { return shelfTalk + base64.RawURLEncoding.EncodeToString(key[:]) }

// placeOf returns where a conversation is on record, whichever server had it.
func (s *Server) placeOf(key talkKey) (talkPlace, bool) {
	place, known := s.talks.get(key)
	if known || s.config.Shelf == nil || key == (talkKey{}) {
		return place, known
	}
	var kept keptPlace
	known, err := readShelf(s.config.Shelf, talkName(key), &kept)
	if err != nil {
		s.config.Log.Warn("conversation not found", "err", err)
	}
	return talkPlace{kept.Session, kept.Seq}, known
}

// keepPlace notes where a conversation is on record.
func (s *Server) keepPlace(key talkKey, place talkPlace) {
	s.talks.put(key, place)
	if s.config.Shelf == nil {
		return
	}
	if err := writeShelf(s.config.Shelf, talkName(key), keptPlace{place.session, place.seq}); err != nil {
		s.config.Log.Warn("conversation not kept", "err", err) // the next request tells a new session of it
	}
}

// A keptLink is a linked on a shelf.
type keptLink struct {
	User  string    `json:"user"`
	Until time.Time `json:"until"`
}

func linkName(sum [sha256.Size]byte) string {
	return shelfLink + base64.RawURLEncoding.EncodeToString(sum[:])
}

// linkOf returns whom a link lets in, whichever server made it.
func (s *Server) linkOf(sum [sha256.Size]byte) (linked, bool) {
	link, known := s.links.get(sum)
	if !known && s.predecessor != nil {
		link, known = s.predecessor.linkOf(sum)
	}
	if known || s.config.Shelf == nil {
		return link, known
	}
	var kept keptLink
	known, err := readShelf(s.config.Shelf, linkName(sum), &kept)
	if err != nil || !known {
		return linked{}, false
	}
	s.links.put(sum, linked{kept.User, kept.Until})
	return linked{kept.User, kept.Until}, true
}

// keepLink has a link let somebody in, on every server.
func (s *Server) keepLink(sum [sha256.Size]byte, link linked) error {
	s.links.put(sum, link)
	if s.config.Shelf == nil {
		return nil
	}
	return writeShelf(s.config.Shelf, linkName(sum), keptLink{link.user, link.until})
}

// sharedToken returns the token that all servers of a shelf let people in with: the
// first one makes it.
func sharedToken(shelf Shelf, made string) (token string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), shelfTime)
	defer cancel()
	err = shelf.Change(ctx, shelfToken, func(before []byte) ([]byte, error) {
		if token = string(before); token == "" {
			token = made
		}
		return []byte(token), nil
	})
	return token, err
}
