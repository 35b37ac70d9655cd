package project

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// hasUsers says whether the server tells people apart.
func (p *Project) hasUsers() bool {
	return len(p.config.Server.Users) > 0 || p.config.Server.Proxy.UserHeader != ""
}

// signIn returns what says who sends a request, where a proxy signs people in: nil where
// the server does so itself.
func (p *Project) signIn() (func(*http.Request) (user, role string, err error), error) {
	proxy := p.config.Server.Proxy
	if proxy.UserHeader == "" {
		if proxy.GroupsHeader != "" || len(proxy.OperatorGroups) > 0 || len(proxy.From) > 0 {
			return nil, fmt.Errorf("server.proxy in %s: user_header says which header has the user's name", config.Name)
		}
		return nil, nil
	}
	s := &proxySignIn{Proxy: proxy, operators: p.config.Server.Operators, tokens: server.Tokens{}}
	users, err := p.users()
	if err != nil {
		return nil, err
	}
	for name, token := range users {
		if len(token) < server.MinToken {
			return nil, fmt.Errorf("server.users.%s in %s: the token has fewer than %d characters", name, config.Name, server.MinToken)
		}
		s.tokens.Add(name, token)
	}
	for _, text := range proxy.From {
		prefix, err := netip.ParsePrefix(text)
		if address, failed := netip.ParseAddr(text); failed == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("server.proxy.from in %s: %q is no address and no range such as 10.0.0.0/8", config.Name, text)
		}
		s.from = append(s.from, prefix)
	}
	return s.who, nil
}

// A proxySignIn believes a proxy, and nobody else, who a person is. Programs may have the
// token of a user instead.
type proxySignIn struct {
	config.Proxy
	operators []string
	tokens    server.Tokens
	from      []netip.Prefix
}

var errNotSignedIn = errors.New("nobody is signed in")

func (s *proxySignIn) who(r *http.Request) (user, role string, err error) {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") && len(s.tokens) > 0 {
		user, known := s.tokens.UserOf(token)
		if !known {
			return "", "", errNotSignedIn
		}
		return user, s.roleOf(user, nil), nil
	}
	values := r.Header.Values(s.UserHeader)
	if !s.isProxy(r.RemoteAddr) || len(values) != 1 {
		return "", "", errNotSignedIn // two names are one too many to believe
	}
	if user = strings.TrimSpace(values[0]); user == "" {
		return "", "", errNotSignedIn
	}
	var groups []string
	if s.GroupsHeader != "" {
		for _, value := range r.Header.Values(s.GroupsHeader) {
			for group := range strings.SplitSeq(value, ",") {
				groups = append(groups, strings.TrimSpace(group))
			}
		}
	}
	return user, s.roleOf(user, groups), nil
}

func (s *proxySignIn) roleOf(user string, groups []string) string {
	if slices.Contains(s.operators, user) || slices.ContainsFunc(groups, func(g string) bool { return g != "" && slices.Contains(s.OperatorGroups, g) }) {
		return server.RoleOperator
	}
	return server.RoleUser
}

// isProxy says whether a request comes from where the proxy is.
func (s *proxySignIn) isProxy(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	address := at.Addr().Unmap()
	if len(s.from) == 0 {
		return address.IsLoopback()
	}
	return slices.ContainsFunc(s.from, func(p netip.Prefix) bool { return p.Contains(address) })
}
