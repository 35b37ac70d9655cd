package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// errRemoved is why the streams of somebody ended who may not come in any more.
var errRemoved = errors.New("this person was removed")

// mayRemove says whether the caller may keep somebody from coming in: not themselves, so that
// an operator stays, and nobody who is signed in elsewhere.
func (s *Server) mayRemove(c *call, name string) bool {
	_, isHere := s.config.Users[name]
	return s.config.RemovePerson != nil && s.config.Auth == nil && isHere && name != c.user && !s.isRemoved(name)
}

func (s *Server) isRemoved(name string) bool {
	_, is := s.removed.Load(name)
	return is
}

// removePerson keeps somebody from coming in, from now on: their token and their links let nobody
// in, and the pages that they have open hear nothing more. What runs for them goes on, and what
// they have written stays.
func (s *Server) removePerson(c *call) (none, error) {
	name := c.r.PathValue("name")
	_, isHere := s.config.Users[name]
	switch {
	case s.config.RemovePerson == nil || s.config.Auth != nil:
		return none{}, absent("way to remove people")
	case name == c.user && slices.ContainsFunc(s.config.Operators, func(other string) bool { return s.mayRemove(c, other) }):
		return none{}, refuse(http.StatusUnprocessableEntity, "nobody removes themselves: another operator can do it")
	case name == c.user:
		return none{}, refuse(http.StatusUnprocessableEntity, "nobody removes themselves, and there is no other operator who could do it")
	case !isHere || s.isRemoved(name):
		return none{}, refuseChange(fmt.Errorf("%w: %.64s may not come in any more. The list shows who may", ErrStale, name))
	}
	if err := s.config.RemovePerson(c.r.Context(), name); err != nil {
		return none{}, refuseChange(err)
	}
	for one := s; one != nil; one = one.predecessor {
		one.removed.Store(name, true)
		one.readers.dismiss(name, errRemoved)
	}
	return none{}, s.reconfigured(nil)
}
