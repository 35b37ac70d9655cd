package project_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// A program's own sign-in takes the place of that of troupe.yaml, whose tokens need not even be
// there. Nothing else is let in, and the page is not offered to add people to troupe.yaml.
func TestAProgramsOwnAuthTakesThePlaceOfUsers(t *testing.T) {
	auth := func(r *http.Request) (user, role string, err error) {
		if user = r.Header.Get("X-User"); user == "" {
			return "", "", errors.New("nobody")
		}
		if user == "zoe" {
			return user, server.RoleOperator, nil
		}
		return user, server.RoleUser, nil
	}
	for name, users := range map[string]string{"no users": "", "users": "server: {users: {ann: ANN_TOKEN}, operators: [ann]}\n", "a proxy": "server: {proxy: {user_header: X-Proxied}}\n"} {
		t.Run(name, func(t *testing.T) {
			p := open(t, write(t, "agents: {clerk: {instructions: You answer.}}\n"+users), project.Options{Auth: auth, LookupEnv: func(string) (string, bool) { return "", false }})
			s, err := p.Server(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Token() != "" {
				t.Error("there is a link that lets anybody in")
			}
			ask := func(method, path string, headers ...string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(`{"agent":"clerk"}`))
				r.Header.Set("Content-Type", "application/json")
				for i := 0; i < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				return w
			}
			for _, c := range []struct {
				header, user, path string
				want               int
			}{
				{"X-User", "", "/api/me", http.StatusUnauthorized}, {"X-Proxied", "ann", "/api/me", http.StatusUnauthorized}, {"X-User", "bob", "/api/me", http.StatusOK},
				{"X-User", "bob", "/api/settings", http.StatusForbidden}, {"X-User", "ann", "/api/settings", http.StatusForbidden}, {"X-User", "zoe", "/api/settings", http.StatusOK},
			} {
				if got := ask("GET", c.path, c.header, c.user).Code; got != c.want {
					t.Errorf("%s %q at %s: %d, not %d", c.header, c.user, c.path, got, c.want)
				}
			}
			made := ask("POST", "/api/sessions", "X-User", "bob")
			if at := made.Header().Get("Location"); made.Code != http.StatusCreated || ask("GET", at, "X-User", "zoe").Code != http.StatusNotFound {
				t.Errorf("bob's session: %d, and zoe sees it", made.Code)
			}
			if me := ask("GET", "/api/me", "X-User", "zoe").Body.String(); strings.Contains(me, `"people"`) {
				t.Errorf("people can be added: %s", me)
			}
		})
	}
}
