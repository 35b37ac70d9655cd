package project_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project"
)

// Behind a proxy that signs people in, its header says who they are. From anywhere else
// the header counts for nothing.
func TestAProxySignsPeopleIn(t *testing.T) {
	lookup := func(name string) (string, bool) { return "token-of-a-program-0123456789abcdef", name == "PROGRAM" }
	const clerk = "agents: {clerk: {instructions: You answer.}}\n"
	p := open(t, write(t, clerk+"server: {hosts: [troupe.example.org], users: {ci: PROGRAM}, operators: [ann],"+
		" proxy: {user_header: X-Forwarded-User, groups_header: X-Forwarded-Groups, operator_groups: [admins], from: [10.1.0.0/16]}}\n"), project.Options{LookupEnv: lookup})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Token() != "" {
		t.Error("there is a link that lets anybody in")
	}
	ask := func(from, path string, headers ...string) int {
		r := httptest.NewRequest("GET", "http://troupe.example.org"+path, nil)
		r.RemoteAddr = from
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Code
	}
	const proxy, user, groups = "10.1.2.3:4000", "X-Forwarded-User", "X-Forwarded-Groups"
	for name, c := range map[string]struct{ got, want int }{
		"user":                 {ask(proxy, "/api/agents", user, "bob"), http.StatusOK},
		"nobody":               {ask(proxy, "/api/agents"), http.StatusUnauthorized},
		"elsewhere":            {ask("10.2.0.1:4000", "/api/agents", user, "bob"), http.StatusUnauthorized},
		"this machine":         {ask("127.0.0.1:4000", "/api/agents", user, "bob"), http.StatusUnauthorized},
		"two names":            {ask(proxy, "/api/agents", user, "bob", user, "ann"), http.StatusUnauthorized},
		"a program":            {ask("10.2.0.1:4000", "/api/agents", "Authorization", "Bearer token-of-a-program-0123456789abcdef"), http.StatusOK},
		"a wrong token":        {ask(proxy, "/api/agents", "Authorization", "Bearer wrong", user, "bob"), http.StatusUnauthorized},
		"settings for a user":  {ask(proxy, "/api/settings", user, "bob", groups, "staff"), http.StatusForbidden},
		"settings for ann":     {ask(proxy, "/api/settings", user, "ann"), http.StatusOK},
		"settings for a group": {ask(proxy, "/api/settings", user, "bob", groups, "staff, admins"), http.StatusOK},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, not %d", name, c.got, c.want)
		}
	}
	short := func(name string) (string, bool) { return "short", name == "SHORT_TOKEN" }
	for yaml, want := range map[string]string{
		"server: {proxy: {groups_header: X-Groups}}\n":                       "user_header says",
		"server: {proxy: {user_header: X-User, from: [somewhere]}}\n":        "is no address",
		"server: {proxy: {user_header: X-User}, users: {ci: SHORT_TOKEN}}\n": "32 are the least",
		"server: {proxy: {user_header: X-User, secret_env: SHORT_TOKEN}}\n":  "32 characters or more",
		"server: {proxy: {user_header: X-User, secret_env: NO_TOKEN}}\n":     "NO_TOKEN",
		"server: {proxy: {secret_env: SHORT_TOKEN}}\n":                       "user_header says",
	} {
		if _, err := open(t, write(t, clerk+yaml), project.Options{LookupEnv: short}).Server(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// A proxy that has a secret is believed with it alone: whatever else reaches the server
// from the proxy's address is nobody.
func TestAProxyHasASecret(t *testing.T) {
	const secret = "secret-of-the-proxy-0123456789abcdef"
	lookup := func(name string) (string, bool) { return secret, name == "PROXY_SECRET" }
	p := open(t, write(t, "agents: {clerk: {instructions: You answer.}}\n"+
		"server: {hosts: [troupe.example.org], proxy: {user_header: X-Forwarded-User, secret_env: PROXY_SECRET}}\n"), project.Options{LookupEnv: lookup})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]int{
		secret: http.StatusOK, "": http.StatusUnauthorized, secret + "x": http.StatusUnauthorized, secret[1:]: http.StatusUnauthorized,
	} {
		r := httptest.NewRequest("GET", "http://troupe.example.org/api/agents", nil)
		r.RemoteAddr = "127.0.0.1:4000"
		r.Header.Set("X-Forwarded-User", "bob")
		if given != "" {
			r.Header.Set("X-Troupe-Proxy-Secret", given)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("with %q: %d, not %d", given, w.Code, want)
		}
	}
}
