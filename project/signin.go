package project

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/signin"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// hasUsers says whether the server tells people apart.
func (p *Project) hasUsers() bool {
	return p.auth != nil || len(p.config.Server.Users) > 0 || p.config.Server.Proxy.UserHeader != "" || p.config.Server.OIDC.Issuer != ""
}

// Entrance says who signs people in where the server does not, empty where it does.
func (p *Project) Entrance() string {
	c := p.config.Server
	switch {
	case c.OIDC.Issuer != "":
		return fmt.Sprintf("Open this address: people sign in with %s.", cmp.Or(c.OIDC.Name, c.OIDC.Issuer))
	case c.Proxy.UserHeader != "":
		return fmt.Sprintf("People come in through the proxy at %s, which says in %s who they are. Open the proxy's address; this one is for the proxy:",
			cmp.Or(strings.Join(c.Proxy.From, ", "), "this machine"), c.Proxy.UserHeader)
	}
	return ""
}

// Reached is where people reach a server that listens on an address: server.url, or the
// address itself, by one of its names where the server does not answer to the address.
func (p *Project) Reached(address net.Addr) string {
	c := p.config.Server
	if c.URL != "" && c.Proxy.UserHeader == "" {
		return strings.TrimSuffix(c.URL, "/")
	}
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && len(c.Hosts) > 0 && !slices.Contains(c.Hosts, tcp.IP.String()) {
		return "http://" + net.JoinHostPort(c.Hosts[0], strconv.Itoa(tcp.Port))
	}
	return "http://" + address.String()
}

// An entry is how people come in: what says who sends a request, nil where the server
// does so itself, and the desk that signs people in, if there is one.
type entry struct {
	who  func(*http.Request) (user, role string, err error)
	desk *signin.Desk
	// signIn and signOut are those of the program.
	signIn, signOut string
	// roleOf is what somebody may do who has come in at the desk.
	roleOf func(user string, groups []string) string
	// isProxy is [server.Config.IsProxy].
	isProxy func(address string) bool
}

// tell tells a server where people sign in and out who come in at the desk, or with the program.
func (e entry) tell(c *server.Config) {
	c.SignIn, c.SignOut = e.signIn, e.signOut
	if e.desk != nil {
		c.SignIn, c.SignInName, c.SignOut = strings.TrimPrefix(signin.LoginPath, "/"), e.desk.Name(), strings.TrimPrefix(signin.LogoutPath, "/")
	}
}

// signIn returns how people come in.
func (p *Project) signIn() (entry, error) {
	c := p.config.Server
	from, err := proxiesIn(c.Proxy.From)
	if err != nil {
		return entry{}, err
	}
	var way entry
	switch {
	case p.auth != nil:
		way.who, way.signIn, way.signOut = p.auth, p.programSignIn, p.programSignOut
	case c.OIDC.Issuer != "":
		way, err = p.signInByOIDC()
	case c.Proxy.UserHeader != "":
		return p.signInByProxy(from)
	case c.Proxy.GroupsHeader != "" || len(c.Proxy.OperatorGroups) > 0 || c.Proxy.SecretEnv != "":
		err = fmt.Errorf("server.proxy in %s: user_header says which header has the user's name", config.Name)
	}
	if len(from) > 0 { // whoever signs people in, the proxy says where they come from
		way.isProxy = from.isProxy
	}
	return way, err
}

// signInByProxy has a proxy sign people in. Programs may have the token of a user.
func (p *Project) signInByProxy(at proxies) (entry, error) {
	c := p.config.Server
	programs, err := p.programs(c.Proxy.OperatorGroups)
	if err != nil {
		return entry{}, err
	}
	s := &proxySignIn{Proxy: c.Proxy, programs: programs, proxies: at}
	if name := c.Proxy.SecretEnv; name != "" {
		if s.secret = p.models.Getenv(name); len(s.secret) < server.MinToken {
			return entry{}, fmt.Errorf("server.proxy.secret_env in %s: the environment variable %s, which holds the proxy's secret, must have %d characters or more", config.Name, name, server.MinToken)
		}
	}
	return entry{who: s.who, isProxy: at.isProxy}, nil
}

// proxiesIn reads the addresses of proxies.
func proxiesIn(from []string) (all proxies, err error) {
	for _, text := range from {
		prefix, err := netip.ParsePrefix(text)
		if address, failed := netip.ParseAddr(text); failed == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("server.proxy.from in %s: %q is no address and no range such as 10.0.0.0/8", config.Name, text)
		}
		all = append(all, prefix)
	}
	return all, nil
}

// signInByOIDC has a provider sign people in. Programs may have the token of a user.
func (p *Project) signInByOIDC() (entry, error) {
	c := p.config.Server.OIDC
	secret := p.models.Getenv(c.SecretEnv)
	if secret == "" {
		return entry{}, fmt.Errorf("server.oidc.secret_env in %s: the environment variable %s, which holds the client's secret, is not set", config.Name, c.SecretEnv)
	}
	desk, err := signin.New(signin.Config{
		Issuer: c.Issuer, ClientID: c.ClientID, Secret: secret, URL: p.config.Server.URL, Name: c.Name, UserClaim: c.UserClaim, GroupsClaim: c.GroupsClaim,
		Groups: c.Groups, Scopes: c.Scopes, Session: c.Session,
	})
	if err != nil {
		return entry{}, fmt.Errorf("server.oidc in %s: %w", config.Name, err)
	}
	programs, err := p.programs(c.OperatorGroups)
	if err != nil {
		return entry{}, err
	}
	return entry{desk: desk, roleOf: programs.roleOf, who: func(r *http.Request) (user, role string, err error) {
		if user, ok := programs.userOf(r); ok {
			return user, programs.roleOf(user, nil), nil
		}
		person, err := desk.Who(r)
		if err != nil {
			return "", "", errNotSignedIn
		}
		return person.User, programs.roleOf(person.User, person.Groups), nil
	}}, nil
}

// programs are users who have tokens of their own beside those who are signed in
// elsewhere, and what makes an operator.
type programs struct {
	tokens         server.Tokens
	operators      []string
	operatorGroups []string
}

func (p *Project) programs(operatorGroups []string) (programs, error) {
	all := programs{tokens: server.Tokens{}, operators: p.config.Server.Operators, operatorGroups: operatorGroups}
	users, err := p.users()
	if err != nil {
		return all, err
	}
	for name, token := range users {
		all.tokens.Add(name, token)
	}
	return all, nil
}

// userOf says whose token a request has.
func (p *programs) userOf(r *http.Request) (user string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return p.tokens.UserOf(token)
}

func (p *programs) roleOf(user string, groups []string) string {
	if slices.Contains(p.operators, user) || slices.ContainsFunc(groups, func(g string) bool { return g != "" && slices.Contains(p.operatorGroups, g) }) {
		return server.RoleOperator
	}
	return server.RoleUser
}

// A proxySignIn believes a proxy, and nobody else, who a person is. Programs may have the
// token of a user instead.
type proxySignIn struct {
	config.Proxy
	programs
	proxies
	secret string // of the proxy and this server, empty where the address is enough
}

// proxySecretHeader has the secret that a proxy shows it is the one by.
const proxySecretHeader = "X-Troupe-Proxy-Secret"

// proxies are where proxies are: this machine, where nobody says.
type proxies []netip.Prefix

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
	if !s.isProxy(r.RemoteAddr) || !s.hasSecret(r) || len(values) != 1 {
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

// hasSecret says whether a request has the proxy's secret, where there is one.
func (s *proxySignIn) hasSecret(r *http.Request) bool {
	given, want := sha256.Sum256([]byte(r.Header.Get(proxySecretHeader))), sha256.Sum256([]byte(s.secret))
	return s.secret == "" || subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

// isProxy says whether a request comes from where the proxy is.
func (s proxies) isProxy(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	address := at.Addr().Unmap()
	if len(s) == 0 {
		return address.IsLoopback()
	}
	return slices.ContainsFunc(s, func(p netip.Prefix) bool { return p.Contains(address) })
}
