package project

import (
	"crypto/sha256"
	"crypto/subtle"
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
	s := &proxySignIn{Proxy: proxy, operators: p.config.Server.Operators, tokens: map[string][sha256.Size]byte{}}
	for name, token := range p.users() {
		if len(token) < minUserToken {
			return nil, fmt.Errorf("server.users.%s in %s: the token has fewer than %d characters", name, config.Name, minUserToken)
		}
		s.tokens[name] = sha256.Sum256([]byte(token))
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

// minUserToken is how long a user's token must be, in bytes.
const minUserToken = 16

// A proxySignIn believes a proxy, and nobody else, who a person is. Programs may have the
// token of a user instead.
type proxySignIn struct {
	config.Proxy
	operators []string
	tokens    map[string][sha256.Size]byte
	from      []netip.Prefix
}

var errNotSignedIn = errors.New("nobody is signed in")

func (s *proxySignIn) who(r *http.Request) (user, role string, err error) {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") && len(s.tokens) > 0 {
		if user = s.userOf(token); user == "" {
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

// userOf says whose token it is, empty for nobody's.
func (s *proxySignIn) userOf(token string) (user string) {
	sum := sha256.Sum256([]byte(token))
	for name, known := range s.tokens {
		if subtle.ConstantTimeCompare(sum[:], known[:]) == 1 {
			user = name
		}
	}
	return user
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
