package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// From is where a request comes from: the address of its connection or, where that is a
// proxy's of ours, the one that the proxy says. What proxies say is a list to which each
// adds whom it was asked by: of it counts the last one that is no proxy of ours, because
// clients can make up what stands before.
func (s *Server) From(r *http.Request) string {
	if s.config.IsProxy == nil || !s.config.IsProxy(r.RemoteAddr) {
		return r.RemoteAddr
	}
	said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	from := r.RemoteAddr
	for i := len(said) - 1; i >= 0; i-- {
		address, err := netip.ParseAddr(strings.TrimSpace(said[i]))
		if err != nil {
			break
		}
		from = address.Unmap().String()
		if !s.config.IsProxy(netip.AddrPortFrom(address, 0).String()) {
			break
		}
	}
	return from
}
