package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// policy is what pages of ours may do: nothing that reaches another host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; font-src 'self'; frame-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// handle is the way of every request: what it must not carry is refused before
// anything is looked up.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	if next := s.successor.Load(); next != nil {
		next.handle(w, r)
		return
	}
	out := &response{ResponseWriter: w}
	defer s.counts.note(r, out)
	defer s.audit(r, out)
	defer s.recover(out, r)
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-DNS-Prefetch-Control", "off") // links in answers are nobody's to look up
	header.Set("Cache-Control", "no-store")
	if r.ContentLength != 0 {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	if err := s.checkSource(r); err != nil {
		err.write(out, r)
		return
	}
	s.mux.ServeHTTP(out, r)
}

// checkSource refuses requests that a page of somebody else's may have sent: by the
// name under which it reached us, by where it says to come from, and by what the
// browser says of it.
func (s *Server) checkSource(r *http.Request) *problem {
	if name := hostname(r.Host); !slices.Contains(s.hosts, name) && !isReachedAt(r, name) && !isProbe(r) {
		return refuse(http.StatusForbidden, "this server does not answer to that name")
	}
	if s.isForFrame(r) {
		return nil
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		from, err := url.Parse(origin)
		if err != nil || from.Host != r.Host || from.Scheme != "http" && from.Scheme != "https" {
			return refuse(http.StatusForbidden, "requests from other origins are refused")
		}
	}
	if err := new(http.CrossOriginProtection).Check(r); err != nil {
		return refuse(http.StatusForbidden, "requests from other origins are refused")
	}
	return nil
}

// isReachedAt says whether a host is the address of this machine alone that the request has come
// to, as 127.0.0.2 for a server that listens there.
func isReachedAt(r *http.Request, host string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.IP.IsLoopback() && local.IP.Equal(net.ParseIP(host))
}

// isProbe says whether a request asks by an address how the server is, as load balancers
// do. A page of somebody else's that was made to look like ours comes by a name.
func isProbe(r *http.Request) bool {
	if _, err := netip.ParseAddr(hostname(r.Host)); err != nil {
		return false
	}
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	return isRead && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz")
}

// hostname returns the value of Host without its port.
func hostname(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return "" // which is nobody's name
		}
		return name
	}
	return strings.Trim(host, "[]")
}

// recover keeps a mistake in one handler from being more than that.
func (s *Server) recover(w *response, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler {
		panic(value)
	}
	s.config.Log.Error("handler panicked", "method", r.Method, "route", r.Pattern, "err", value, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // so that what was begun is not taken for whole
	}
	generic(nil).write(w, r)
}

// admit checks what a route asks of its requests and says whose this one is.
func (s *Server) admit(c *call, route *route) *problem {
	if !route.open {
		// Other pages of this machine count as the same site and send our cookie.
		if site := c.r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return refuse(http.StatusForbidden, "requests from other origins are refused")
		}
		var err error
		if c.user, c.role, err = s.authenticate(c.r); err != nil {
			p := refuse(http.StatusUnauthorized, "%s", s.unknownUser()).concerning("", "invalid_api_key").withCode("signed_out")
			p.headers = map[string]string{"WWW-Authenticate": `Bearer realm="troupe"`}
			return p
		}
		isKnown(c.r.Context())
		s.seen.put(c.user, time.Now())
		if s.config.Auth != nil {
			s.roles.put(c.user, c.role)
		}
		c.w.user, c.w.role = c.user, c.role
		if route.operator && c.role != RoleOperator {
			return refuse(http.StatusForbidden, "only an operator may do this").withCode("not_operator")
		}
	}
	if route.in != nil || c.r.ContentLength != 0 {
		if media, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type")); media != "application/json" {
			return refuse(http.StatusUnsupportedMediaType, "the content type must be application/json")
		}
	}
	return nil
}

// keys are the tokens of users, as hashes: comparing those takes the same time
// whatever is compared.
type keys struct {
	users Tokens
	made  string
}

// MinToken is how long a token must be, in bytes.
const MinToken = 32

func newKeys(users map[string]string, shelf Shelf) (_ keys, err error) {
	k := keys{users: Tokens{}}
	if len(users) == 0 {
		var secret [32]byte
		rand.Read(secret[:])
		k.made = base64.RawURLEncoding.EncodeToString(secret[:])
		if shelf != nil {
			if k.made, err = sharedToken(shelf, k.made); err != nil {
				return keys{}, fmt.Errorf("new server: %w", err)
			}
		}
		users = map[string]string{"": k.made}
	}
	seen := map[string]bool{}
	for name, token := range users {
		if len(token) < MinToken {
			return keys{}, fmt.Errorf("new server: the token of user %q has %d characters, and %d are the least: 'openssl rand -hex 32' makes one", name, len(token), MinToken)
		}
		if seen[token] {
			return keys{}, fmt.Errorf("new server: user %q has the token of another", name)
		}
		seen[token] = true
		k.users.Add(name, token)
	}
	return k, nil
}

// Tokens are those of users, by user, as what is compared of them.
type Tokens map[string][sha256.Size]byte

// Add gives a user a token.
func (t Tokens) Add(user, token string) { t[user] = sha256.Sum256([]byte(token)) }

// UserOf says whose token it is, in a time that tells nothing of the others.
func (t Tokens) UserOf(token string) (user string, ok bool) {
	sum := sha256.Sum256([]byte(token))
	for name, key := range t {
		if subtle.ConstantTimeCompare(sum[:], key[:]) == 1 {
			user, ok = name, true
		}
	}
	return user, ok
}

// errUnknownUser reports a request of nobody who is known.
var errUnknownUser = errors.New("the token is missing or wrong")

// unknownUser says why a request of nobody who is known is refused: where a program signs people in,
// there are no tokens.
func (s *Server) unknownUser() string {
	if s.config.Auth != nil && len(s.config.Users) == 0 {
		return "nobody is signed in"
	}
	return errUnknownUser.Error()
}

// authenticate says who sent a request and what they may do, in the program's own way
// where it has one.
func (s *Server) authenticate(r *http.Request) (user, role string, err error) {
	if s.config.Auth != nil {
		return s.askAuth(r)
	}
	user, ok := s.userOf(r)
	if !ok {
		return "", "", errUnknownUser
	}
	return user, s.roleOf(user), nil
}

// askAuth returns what Config.Auth says, unless that is nobody's name, which is that of the one
// user of a server without users, or no role.
func (s *Server) askAuth(r *http.Request) (user, role string, err error) {
	user, role, err = s.config.Auth(r)
	mistake := ""
	switch {
	case err != nil:
		return "", "", err
	case strings.TrimSpace(user) == "":
		mistake = "Auth returned no user and no error: it must return an error for a request that nobody has signed in for"
	case role != RoleUser && role != RoleOperator:
		mistake = "Auth returned a role that is neither server.RoleUser nor server.RoleOperator"
	default:
		return user, role, nil
	}
	if _, isSaid := s.authMistakes.LoadOrStore(mistake, true); !isSaid { // anybody can have it said
		s.config.Log.Error("requests refused", "why", mistake, "user", user, "role", role)
	}
	return "", "", errUnknownUser
}

// roleOf is what a user may do: whoever runs a server without users operates it, and
// of users those who are named.
func (s *Server) roleOf(user string) string {
	if len(s.config.Users) == 0 || slices.Contains(s.config.Operators, user) {
		return RoleOperator
	}
	return RoleUser
}

// token says whose token it is: one that was configured, or one of a link that an
// operator made.
func (s *Server) token(token string) (user string, ok bool) {
	if user, ok = s.keys.users.UserOf(token); ok {
		return user, !s.isRemoved(user)
	}
	link, ok := s.linkOf(sha256.Sum256([]byte(token)))
	if !ok || time.Now().After(link.until) {
		return "", false
	}
	_, ok = s.keys.users[link.user] // who may have been removed since
	return link.user, ok && !s.isRemoved(link.user)
}

// userOf says who sent a request: by the token in its header, or in its cookie.
func (s *Server) userOf(r *http.Request) (user string, ok bool) {
	if value := r.Header.Get("Authorization"); value != "" {
		scheme, token, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", false
		}
		return s.token(token)
	}
	for _, name := range []string{secureCookie, plainCookie(r)} {
		if cookie, err := r.Cookie(name); err == nil {
			return s.token(cookie.Value)
		}
	}
	return "", false
}

// secureCookie is the cookie's name where connections are encrypted: browsers take
// a cookie of that prefix from nobody else.
const secureCookie = "__Host-troupe"

// plainCookie is its name elsewhere. Browsers do not tell ports apart, so that the
// port is in it.
func plainCookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "troupe" + port
}

// A login is a token to be exchanged for a cookie.
type login struct {
	Token string `json:"token"`
}

// ways are how people come in.
type ways struct {
	// Code says that an access code lets them in.
	Code bool `json:"code"`
	// SignIn is where they sign in elsewhere, empty where nobody says, and Name with whom.
	SignIn string `json:"sign_in,omitempty"`
	Name   string `json:"name,omitempty"`
}

func (s *Server) showWays(*call) (ways, error) {
	if s.config.Auth == nil {
		return ways{Code: true}, nil
	}
	return ways{SignIn: s.config.SignIn, Name: s.config.SignInName}, nil
}

// logOut takes away the cookies that logIn may have set in this browser.
func (s *Server) logOut(c *call) (none, error) {
	if user, role, err := s.authenticate(c.r); err == nil {
		c.w.user, c.w.role = user, role
	}
	for _, name := range []string{secureCookie, plainCookie(c.r)} {
		if _, err := c.r.Cookie(name); err == nil {
			http.SetCookie(c.w, &http.Cookie{Name: name, Path: "/", HttpOnly: true, Secure: name == secureCookie, SameSite: http.SameSiteStrictMode, MaxAge: -1})
		}
	}
	return none{}, nil
}

// logIn sets the cookie that the page's requests carry from then on.
func (s *Server) logIn(c *call, in login) (none, error) {
	user, ok := s.token(in.Token)
	if !ok {
		code := "signed_out"
		if len(s.config.Users) > 0 {
			code = "person_unknown" // whose tokens stay the same when the server starts anew
		}
		return none{}, refuse(http.StatusUnauthorized, "the token is wrong").withCode(code)
	}
	isKnown(c.r.Context())
	c.w.user, c.w.role = user, s.roleOf(user)
	cookie := &http.Cookie{Name: plainCookie(c.r), Value: in.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if c.r.TLS != nil || strings.HasPrefix(c.r.Header.Get("Origin"), "https://") {
		cookie.Name, cookie.Secure = secureCookie, true
	}
	http.SetCookie(c.w, cookie)
	return none{}, nil
}
