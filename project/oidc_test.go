package project_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/project"
)

// A provider is an OpenID Connect provider: discovery, keys, a sign-in page that signs
// in whoever it is told to, and a token endpoint that checks client, code and PKCE.
type provider struct {
	*httptest.Server
	key    *rsa.PrivateKey
	claims map[string]any // of who signs in next
	info   map[string]any // what it says of them where it is asked
	codes  map[string]url.Values
	spoil  func(claims map[string]any) // what is wrong with the next token
}

const clientSecret = "secret-of-the-client"

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	send := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		send(w, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "userinfo_endpoint": p.URL + "/userinfo",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) {
		if p.info == nil {
			http.NotFound(w, r)
			return
		}
		send(w, p.info)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		send(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1", "n": encode(p.key.N.Bytes()), "e": encode([]byte{1, 0, 1}),
		}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("client_id") != "troupe" || q.Get("code_challenge_method") != "S256" || q.Get("redirect_uri") == "" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		code := rand.Text()
		p.codes[code] = q
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		id, secret, _ := r.BasicAuth()
		asked, known := p.codes[r.Form.Get("code")]
		delete(p.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !known || id != "troupe" || secret != clientSecret || encode(sum[:]) != asked.Get("code_challenge") {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		send(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.token(asked.Get("nonce"))})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// token is a signed ID token.
func (p *provider) token(nonce string) string {
	claims := map[string]any{"iss": p.URL, "aud": "troupe", "sub": "1", "nonce": nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range p.claims {
		claims[name] = value
	}
	if p.spoil != nil {
		p.spoil(claims)
	}
	head, _ := json.Marshal(map[string]string{"alg": "RS256", "kid": "k1", "typ": "JWT"})
	body, _ := json.Marshal(claims)
	signed := encode(head) + "." + encode(body)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return signed + "." + encode(signature)
}

// A browser is somebody's, with cookies.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	answer, err := b.http.Get(b.base + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, fmt.Sprint(answer.Request.URL) + "\n" + string(body)
}

// People sign in at a provider: users and operators, by groups. What is wrong with a
// token is found, and everybody has sessions of their own.
func TestAProviderSignsPeopleIn(t *testing.T) {
	p := newProvider(t)
	dir := write(t, "agents: {clerk: {instructions: You answer.}}\n")
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer web.Close()
	config := fmt.Sprintf("agents: {clerk: {instructions: You answer.}}\nserver:\n  url: %s\n  audit: audit.jsonl\n  operators: [root@example.org]\n  users: {ci: PROGRAM}\n"+
		"  oidc: {issuer: %q, client_id: troupe, secret_env: SECRET, name: Company, groups: [staff, admins], operator_groups: [admins]}\n", web.URL, p.URL)
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) {
		value, ok := map[string]string{"SECRET": clientSecret, "PROGRAM": "token-of-a-program-0123456789abcdef"}[name]
		return value, ok
	}})
	s, err := opened.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Token() != "" {
		t.Error("there is a link that lets anybody in")
	}
	handler = s.Handler()
	newBrowser := func() *browser {
		jar, _ := cookiejar.New(nil)
		return &browser{t, web.URL, &http.Client{Jar: jar}}
	}
	signIn := func(claims map[string]any) (*browser, int, string) {
		p.claims = claims
		b := newBrowser()
		status, body := b.get("/auth/login?to=" + url.QueryEscape("#/agents"))
		return b, status, body
	}
	if status, body := newBrowser().get("/api/ways"); status != 200 || !strings.Contains(body, `{"code":false,"sign_in":"auth/login","name":"Company"}`) {
		t.Errorf("ways: %d %s", status, body)
	}
	if status, _ := newBrowser().get("/api/me"); status != 401 {
		t.Errorf("a stranger: %d", status)
	}
	ann, status, body := signIn(map[string]any{"email": "ann@example.org", "email_verified": true, "groups": []string{"staff"}})
	if status != 200 || !strings.HasPrefix(body, web.URL+"/#/agents") {
		t.Errorf("ann: %d %.200s", status, body)
	}
	if status, body := ann.get("/api/me"); status != 200 || !strings.Contains(body, "ann@example.org") || !strings.Contains(body, `"operator":false`) {
		t.Errorf("ann: %d %s", status, body)
	}
	if status, _ := ann.get("/api/settings"); status != 403 {
		t.Errorf("ann's settings: %d", status)
	}
	for name, claims := range map[string]map[string]any{
		"by group": {"email": "bo@example.org", "groups": []string{"staff", "admins"}}, "by name": {"email": "root@example.org", "groups": "staff"},
	} {
		if b, _, body := signIn(claims); true {
			if status, _ := b.get("/api/settings"); status != 200 {
				t.Errorf("operator %s: %d %s", name, status, body)
			}
		}
	}
	for why, refused := range map[string]struct {
		claims map[string]any
		spoil  func(map[string]any)
	}{
		"none of the groups":       {claims: map[string]any{"email": "eve@example.org", "groups": []string{"guests"}}},
		"no email":                 {claims: map[string]any{"groups": []string{"staff"}}},
		"not verified":             {claims: map[string]any{"email": "eve@example.org", "email_verified": false, "groups": []string{"staff"}}},
		"for another sign-in":      {claims: map[string]any{"email": "eve@example.org", "groups": []string{"staff"}, "nonce": "other"}},
		"token is not right":       {claims: map[string]any{"email": "eve@example.org", "groups": []string{"staff"}, "aud": "another client"}},
		"token is expired":         {claims: map[string]any{"email": "eve@example.org", "groups": []string{"staff"}}, spoil: func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }},
		"different provider":       {claims: map[string]any{"email": "eve@example.org", "groups": []string{"staff"}, "iss": "https://elsewhere.example.org"}},
		"the answer belongs to an": {claims: nil},
	} {
		p.spoil = refused.spoil
		b, status, body := signIn(refused.claims)
		if refused.claims == nil { // somebody else's answer is passed to a browser that has begun to sign in
			b = newBrowser()
			b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			b.get("/auth/login")
			status, body = b.get("/auth/callback?code=x&state=y")
		}
		if status != 403 || !strings.Contains(body, why) {
			t.Errorf("%s: %d %s", why, status, body)
		}
		if status, _ := b.get("/api/me"); status != 401 {
			t.Errorf("%s: let in", why)
		}
		p.spoil = nil
	}
	// Of some the provider says more where it is asked: of them, and of nobody else.
	for name, c := range map[string]struct {
		claims, info map[string]any
		want         int
	}{
		"who is not in the token":        {map[string]any{}, map[string]any{"sub": "1", "email": "cy@example.org", "groups": []string{"staff"}}, 200},
		"groups are not in the token":    {map[string]any{"email": "cy@example.org"}, map[string]any{"sub": "1", "email": "eve@example.org", "groups": []string{"staff"}}, 200},
		"somebody else":                  {map[string]any{}, map[string]any{"sub": "2", "email": "cy@example.org", "groups": []string{"staff"}}, 401},
		"an address that is not checked": {map[string]any{}, map[string]any{"sub": "1", "email": "cy@example.org", "email_verified": false, "groups": []string{"staff"}}, 401},
	} {
		p.info = c.info
		b, _, page := signIn(c.claims)
		if status, body := b.get("/api/me"); status != c.want || status == 200 && !strings.Contains(body, "cy@example.org") {
			t.Errorf("%s: %d %s; signing in ended with %s", name, status, body, page)
		}
	}
	p.info = nil
	ask := func(name, value string) int {
		r, _ := http.NewRequest("GET", web.URL+"/api/me", nil)
		r.Header.Set(name, value)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	p.claims = map[string]any{"email": "job@example.org", "groups": []string{"staff"}}
	for name, c := range map[string]struct{ got, want int }{
		"a program's token": {ask("Authorization", "Bearer token-of-a-program-0123456789abcdef"), 200}, "an ID token": {ask("Authorization", "Bearer "+p.token("")), 200},
		"a wrong token": {ask("Authorization", "Bearer wrong"), 401}, "a token nobody signed": {ask("Authorization", "Bearer "+p.token("")+"x"), 401},
		"a cookie of one's own making": {ask("Cookie", "troupe-person"+port(web.URL)+"=AAAA"), 401},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, not %d", name, c.got, c.want)
		}
	}
	if answer, err := ann.http.Post(web.URL+"/auth/logout", "", nil); err != nil || answer.StatusCode != 204 {
		t.Errorf("logout: %v %v", answer, err)
	}
	if status, _ := ann.get("/api/me"); status != 401 {
		t.Errorf("signed out: %d", status)
	}
	audit, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	for _, want := range []string{
		`"user":"bo@example.org","role":"operator","act":"sign in","path":"/auth/callback","from":"127.0.0.1:`,
		`"user":"eve@example.org","act":"sign in","path":"/auth/callback","from":"127.0.0.1:`,
		`"status":303,"ok":true}`, `"status":403,"ok":false}`, `"user":"ann@example.org","role":"user","act":"POST /auth/logout","path":"/auth/logout",`,
	} {
		if err != nil || !strings.Contains(string(audit), want) {
			t.Errorf("audit: there is no %s, %v, in\n%s", want, err, audit)
		}
	}
}

func port(address string) string {
	u, _ := url.Parse(address)
	return u.Port()
}
