package server

import (
	"net/http"
	"strconv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/explain"
)

// priceOf is what a model costs, as far as anybody has said.
func (s *Server) priceOf(model string) troupe.Price {
	if s.config.Explain.Price == nil {
		return troupe.Price{}
	}
	return s.config.Explain.Price(model)
}

// explainSession says what each model call of a session was sent, and why its runs ended.
func (s *Server) explainSession(c *call) (*explain.Session, error) {
	info, err := s.found(c)
	if err != nil {
		return nil, err
	}
	options := s.config.Explain
	if text := c.r.URL.Query().Get("turn"); text != "" {
		if options.Turn, err = strconv.Atoi(text); err != nil {
			return nil, refuse(http.StatusBadRequest, "turn: %.20q is no number", text)
		}
	}
	session, err := explain.Read(s.config.Store.Events(c.r.Context(), info.ID, 0), options)
	if err != nil {
		return nil, refuse(http.StatusNotFound, "%v", err)
	}
	return session, nil
}
