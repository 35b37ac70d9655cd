package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// newOAuth2Proxy answers as oauth2-proxy does with --set-xauthrequest: the cookie says who
// somebody is, and of which groups.
func newOAuth2Proxy(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, err := r.Cookie("person")
		switch {
		case r.URL.Path != "/oauth2/auth":
			io.WriteString(w, "Sign in.")
		case err != nil:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			name, groups, _ := strings.Cut(person.Value, "/")
			w.Header().Set("X-Auth-Request-User", "8f14e45f")
			w.Header().Set("X-Auth-Request-Email", name+"@example.org")
			if groups != "" {
				w.Header().Set("X-Auth-Request-Groups", "staff,"+groups)
			}
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// With the blocks of docs/operate.md for sign-in by a proxy, people are whom oauth2-proxy
// says, and what clients say of themselves counts for nothing.
func TestProxiesSayWhoPeopleAre(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpus.ModuleRoot(t), "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### Sign-in by a proxy\n")
	found := regexp.MustCompile("(?s)```yaml\n(.*?)```.*```nginx\n(.*?)```.*```\n(troupe.*?)```").FindStringSubmatch(section)
	if found == nil {
		t.Fatal("docs/operate.md has no configuration of nginx and Caddy that signs people in")
	}
	for name, block := range map[string]string{"nginx": found[2], "caddy": found[3]} {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed: run make setup", name)
			}
			p := proxies[name]
			p.program = program
			signedInByProxy(t, p, block, found[1])
		})
	}
}

func signedInByProxy(t *testing.T, p proxy, block, settings string) {
	models := newHeldModel(t)
	dir := clerkAt(t, models.URL)
	appendTo(t, dir, settings)
	secret, token := strings.Repeat("secret", 8), strings.Repeat("0123456789", 4)
	base, _, stop := serveIn(t, dir, "CANARY=k", "TROUPE_PROXY_SECRET="+secret, "CI_TOKEN="+token)
	signer := strings.TrimPrefix(newOAuth2Proxy(t).URL, "http://")
	block = strings.NewReplacer("127.0.0.1:4180", signer, `"the secret"`, secret, "{env.TROUPE_PROXY_SECRET}", secret).Replace(block)
	client := p.start(t, block, strings.TrimPrefix(base, "http://"), "")
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	const ann, admins, outside = "X-Forwarded-User: ann@example.org", "X-Forwarded-Groups: troupe-admins", "https://" + proxiedHost
	for _, c := range []struct {
		base     string
		headers  []string
		status   int
		name     string
		operator bool
	}{
		{outside, nil, 401, "", false},
		{outside, []string{ann, admins}, 401, "", false},
		{outside, []string{"Cookie: person=bob"}, 200, "bob@example.org", false},
		{outside, []string{"Cookie: person=bob", ann, admins}, 200, "bob@example.org", false},
		{outside, []string{"Cookie: person=bob/troupe-admins"}, 200, "bob@example.org", true},
		{outside, []string{"Cookie: person=ann"}, 200, "ann@example.org", true},
		{outside, []string{"Authorization: Bearer " + token, ann, admins}, 200, "ci", false},
		{outside, []string{"Authorization: Bearer " + token[1:], ann, admins}, 401, "", false},
		{outside, []string{"X-Troupe-Proxy-Secret: " + secret, ann}, 401, "", false},
		{base, []string{ann}, 401, "", false}, // another program on the proxy's machine
	} {
		var me struct {
			Name     string
			Operator bool
		}
		status, body := answerTo(t, client, c.base, "/api/me", c.headers)
		_ = json.Unmarshal([]byte(body), &me)
		if status != c.status || me.Name != c.name || me.Operator != c.operator {
			t.Errorf("%s %q: %d, %q is operator: %t; %.200s", c.base, c.headers, status, me.Name, me.Operator, body)
		}
	}
	if status, to := answerTo(t, client, outside, "/", []string{ann}); status != http.StatusFound || strings.TrimPrefix(to, outside) != "/oauth2/sign_in?rd="+outside+"/" {
		t.Errorf("nobody is sent to sign in: %d %q", status, to)
	}
	if status, page := answerTo(t, client, outside, "/", []string{"Cookie: person=bob"}); status != 200 || !strings.Contains(strings.ToLower(page), "<!doctype html>") {
		t.Errorf("bob has no page: %d %.200s", status, page)
	}
	if status, said := answerTo(t, client, outside, "/oauth2/sign_in", nil); status != 200 || said != "Sign in." {
		t.Errorf("there is nowhere to sign in: %d %q", status, said)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// answerTo is what a request with these headers is answered, or where it is sent.
func answerTo(t *testing.T, client *http.Client, base, path string, headers []string) (status int, said string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Add(name, value)
	}
	if !strings.HasPrefix(base, "https:") {
		client, req.Host = http.DefaultClient, proxiedHost
	}
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if to := response.Header.Get("Location"); to != "" {
		return response.StatusCode, to
	}
	return response.StatusCode, string(body)
}
