package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// A personView is somebody who may come in.
type personView struct {
	Name     string `json:"name"`
	Operator bool   `json:"operator"`
	You      bool   `json:"you"`
	// Seen is when they last asked this server for anything, or had something run, left out
	// where nobody knows.
	Seen time.Time `json:"seen,omitzero"`
	// Removable says that whoever asks may keep them from coming in.
	Removable bool `json:"removable,omitempty"`
}

func (s *Server) listPeople(c *call) ([]personView, error) {
	list := []personView{}
	for _, name := range s.people() {
		if s.isRemoved(name) {
			continue
		}
		seen, err := s.lastSeen(c.r.Context(), name)
		if err != nil {
			return nil, err
		}
		role, known := s.roles.get(name)
		if !known {
			role = s.roleOf(name)
		}
		list = append(list, personView{name, role == RoleOperator, name == c.user, seen, s.mayRemove(c, name)})
	}
	return list, nil
}

// people are those who have tokens, those who were added just now, and of those who are signed
// in elsewhere whoever was here since the server was started.
func (s *Server) people() []string {
	names := slices.Collect(maps.Keys(s.config.Users))
	if s.config.Auth == nil {
		names = slices.Collect(maps.Keys(s.keys.users))
	}
	s.added.Range(func(name, _ any) bool {
		names = append(names, name.(string))
		return true
	})
	for one := s; one != nil && s.config.Auth != nil; one = one.predecessor {
		names = append(names, one.roles.keys()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lastSeen is when somebody was last here: what this server has noticed, or, of the time
// before it began, their latest session.
func (s *Server) lastSeen(ctx context.Context, user string) (time.Time, error) {
	seen, _ := s.seen.get(user)
	if s.predecessor != nil {
		if before, _ := s.predecessor.seen.get(user); before.After(seen) {
			seen = before
		}
	}
	for info, err := range s.config.Store.Sessions(ctx, troupe.SessionFilter{User: user, Limit: 1}) {
		if err != nil {
			return seen, err
		}
		if info.Updated.After(seen) {
			seen = info.Updated
		}
	}
	return seen.UTC(), nil
}

// A newPerson is somebody to be let in.
type newPerson struct {
	Name string `json:"name" jsonschema:"as the person is to be called"`
	// TakeOver says that whoever adds them knows whose conversations they get.
	TakeOver bool `json:"take_over,omitempty" jsonschema:"let them have the conversations of somebody of this name who was here before, in place of 409 (code: known_name)"`
}

// addPerson lets somebody else in. The link holds for as long as the token does, from the
// moment on at which the configuration was read again.
func (s *Server) addPerson(c *call, in newPerson) (signInLink, error) {
	if s.config.AddPerson == nil {
		return signInLink{}, absent("way to add people")
	}
	if _, isHere := s.config.Users[in.Name]; !in.TakeOver && !isHere && in.Name != "" {
		before, err := collect(s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{User: in.Name, Limit: mostSessions}), mostSessions)
		if err != nil {
			return signInLink{}, err
		}
		if n := len(before); n > 0 {
			return signInLink{}, refuse(http.StatusConflict, "there are conversations of somebody called %s who was here before (%d, the latest of %s): whoever gets the link reads them", in.Name, n, before[0].Updated.Format("2 January 2006")).withCode("known_name")
		}
	}
	token, err := s.config.AddPerson(c.r.Context(), in.Name)
	if err == nil {
		s.added.Store(in.Name, true)
	}
	if err := s.reconfigured(err); err != nil {
		return signInLink{}, err
	}
	return signInLink{Fragment: "#token=" + token}, nil
}

// linkLifetime is how long a link that an operator made lets somebody in.
const linkLifetime = 24 * time.Hour

// A signInLink lets in whoever has it.
type signInLink struct {
	// Fragment is what to put behind the page's address.
	Fragment string `json:"fragment"`
	// Until is when it ends, left out where it does not end by itself.
	Until time.Time `json:"until,omitzero"`
}

func (s *Server) makeLink(c *call) (signInLink, error) {
	name := c.r.PathValue("name")
	if name == "-" {
		name = "" // whoever runs a server without users
	}
	_, known := s.keys.users[name]
	if _, added := s.added.Load(name); !known && !added || s.isRemoved(name) {
		return signInLink{}, refuse(http.StatusNotFound, "there is nobody called %.64q", name)
	}
	var secret [32]byte
	rand.Read(secret[:])
	token, until := base64.RawURLEncoding.EncodeToString(secret[:]), time.Now().Add(linkLifetime)
	if err := s.keepLink(sha256.Sum256([]byte(token)), linked{name, until}); err != nil {
		return signInLink{}, err
	}
	return signInLink{"#token=" + token, until.UTC()}, nil
}

// linked is whom a link lets in, and until when.
type linked struct {
	user  string
	until time.Time
}
