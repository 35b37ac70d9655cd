package server

import (
	"net/http"
)

// An Audited act is something that somebody changed through the server, or tried to.
type Audited struct {
	// User is empty for whoever runs a server without users, and for strangers.
	User string `json:"user"`
	Role string `json:"role,omitempty"`
	// Act is the method and the route, as in "DELETE /api/sessions/{id}", and Path what
	// was asked for. There is nothing of what was said in it.
	Act  string `json:"act"`
	Path string `json:"path,omitempty"`
	// From is the address that the request came from: see [Config.IsProxy].
	From   string `json:"from,omitempty"`
	Status int    `json:"status,omitempty"`
	OK     bool   `json:"ok"`
}

// audit tells the audit log of a request that may have changed something, and of every
// token that was refused and everything that somebody may not see.
func (s *Server) audit(r *http.Request, w *response) {
	if s.config.Audit == nil {
		return
	}
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	isRefused := w.status == http.StatusUnauthorized && r.Header.Get("Authorization") != ""
	isDenied := w.status == http.StatusForbidden && w.role != ""
	if isRead && !isRefused && !isDenied {
		return
	}
	s.config.Audit(Audited{
		User: w.user, Role: w.role, Act: r.Pattern, Path: r.URL.Path, From: s.From(r), Status: w.status, OK: w.status < http.StatusBadRequest,
	})
}
