package browser

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const clientSecret = "the-secret-of-the-client"

// companySignIn is an OpenID Connect provider with a page on which people sign in by a button.
// It gives out one kind of token, for Ann.
func companySignIn(t *testing.T) *httptest.Server {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	var mu sync.Mutex
	codes := map[string]url.Values{}
	mux := http.NewServeMux()
	provider := httptest.NewServer(mux)
	t.Cleanup(func() {
		provider.CloseClientConnections()
		provider.Close()
	})
	send := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		send(w, map[string]any{
			"issuer": provider.URL, "authorization_endpoint": provider.URL + "/authorize", "token_endpoint": provider.URL + "/token", "jwks_uri": provider.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		send(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1", "n": encode(key.N.Bytes()), "e": encode([]byte{1, 0, 1})}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		code, q := rand.Text(), r.URL.Query()
		mu.Lock()
		codes[code] = q
		mu.Unlock()
		back := q.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Company</title><h1>Sign in to Company</h1><a href="%s">I am Ann</a>`, html.EscapeString(back))
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		id, secret, _ := r.BasicAuth()
		mu.Lock()
		asked, known := codes[r.Form.Get("code")]
		delete(codes, r.Form.Get("code"))
		mu.Unlock()
		challenge := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !known || id != "troupe" || secret != clientSecret || encode(challenge[:]) != asked.Get("code_challenge") {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		head, _ := json.Marshal(map[string]string{"alg": "RS256", "kid": "k1", "typ": "JWT"})
		claims, _ := json.Marshal(map[string]any{
			"iss": provider.URL, "aud": "troupe", "sub": "1", "nonce": asked.Get("nonce"), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
			"email": "ann@example.org", "email_verified": true,
		})
		signed := encode(head) + "." + encode(claims)
		sum := sha256.Sum256([]byte(signed))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			t.Error(err)
		}
		send(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": signed + "." + encode(signature)})
	})
	return provider
}

// Somebody signs in at a provider, with the button of the page, comes back to the place
// that they wanted to see, works, and signs out.
func TestSomebodySignsInAtAProviderAndOut(t *testing.T) {
	t.Parallel()
	provider, m := companySignIn(t), newModel(t)
	r := newRelay(t, "http://127.0.0.1/") // where people reach the server, before there is one
	address := strings.TrimSuffix(r.link, "/")
	h := serve(t, project(t, map[string]string{
		".env": "SECRET=" + clientSecret + "\n",
		"troupe.yaml": strings.Replace("model: stub/stub-1\nproviders: {stub: {base_url: URL, models: {stub-1: {}}}}\nlimits: {model_tries: 1}\nagents: {clerk: {instructions: You are the clerk., skills: false, tools: []}}\n", "URL", m.URL+"/v1", 1) +
			fmt.Sprintf("server:\n  url: %s\n  oidc: {issuer: %q, client_id: troupe, secret_env: SECRET, name: Company}\n", address, provider.URL),
	}))
	r.leadTo(t, h.link)

	b := newTab(t) // it leaves our origin, as it must
	b.goTo(address + "/#/files")
	b.sees("h1", "Welcome to Troupe")
	b.picture("sign-in-company")
	b.click("button", "Sign in with Company")
	b.sees("h1", "Sign in to Company")
	b.click("a", "I am Ann")
	b.sees("h1", "Files") // where they wanted to go
	b.sees(".side .foot", "ann@example.org")
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "clerk")
	b.sees(".beginning h2", "clerk")
	b.say("Good morning")
	m.answers(t, "Good morning, Ann.")
	b.reads(answers, "Good morning, Ann.")
	b.signsOut()
	b.sees("button", "Sign in with Company")
	b.do(chromedp.Reload())
	b.sees("h1", "Welcome to Troupe")

	// What was said is there when they come back.
	b.click("button", "Sign in with Company")
	b.sees("h1", "Sign in to Company")
	b.click("a", "I am Ann")
	b.click(".side .item", "Good morning")
	b.reads(answers, "Good morning, Ann.")
}

// signsOut signs out on the page, and waits for the door.
func (b *tab) signsOut() {
	b.t.Helper()
	value[any](b, "void (location.hash = '#/settings/look')")
	b.click(".rows button", "Sign out")
	b.sees("h1", "Welcome to Troupe")
	if status := until[int](b, "(window.status_ ?? (fetch('api/me').then((r) => { window.status_ = r.status; }), 0))"); status != 401 {
		b.t.Errorf("somebody who has signed out is answered with %d", status)
	}
}

// Whoever came by a link signs out as well, and the link lets them in again.
func TestWhoeverCameByALinkSignsOut(t *testing.T) {
	t.Parallel()
	link := rehearse(t).link
	b := open(t, link)
	b.sees(".agent", "Mira")
	b.signsOut()
	b.write("#code", link)
	b.click("form button", "Come in")
	b.sees(".rows", "Sign out") // where they were
}

// An operator lets somebody in on the page: the file says who, the page gives the link.
func TestAnOperatorLetsSomebodyIn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	ann := strings.Repeat("a", 40)
	h := serve(t, project(t, map[string]string{
		".env":        "ANN_TOKEN=" + ann + "\n",
		"troupe.yaml": strings.Replace("# Ours.\nmodel: stub/stub-1\nproviders: {stub: {base_url: URL, models: {stub-1: {}}}}\nagents: {clerk: {instructions: You are the clerk., skills: false, tools: []}}\nserver:\n  operators: [ann]\n  users:\n    ann: ANN_TOKEN # me\n", "URL", m.URL+"/v1", 1),
	}))
	h.link = strings.Split(h.link, "#")[0] + "#token=" + ann
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	value[any](b, "void (location.hash = '#/settings/people')")
	b.sees(".rows", "ann")
	b.write("#person-name", "ann")
	b.click("form.add button", "Add")
	b.sees("form.add [role=alert]", "may come in already")
	b.write("#person-name", "bob")
	b.click("form.add button", "Add")
	link := until[string](b, "find('[aria-label=\"Sign-in link for bob\"]').value")
	b.picture("add-somebody")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "bob: TROUPE_TOKEN_BOB") || !strings.Contains(file, "# Ours.") || !strings.Contains(file, "# me") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	// He is let in once the configuration was read again.
	bob := &house{dir: h.dir, link: link}
	eventually(t, func() error {
		if status, answer := bob.try(t, "GET", "/api/me", nil); status != 200 || !strings.Contains(answer, `"name":"bob"`) || strings.Contains(answer, `"operator":true`) {
			return fmt.Errorf("bob is answered with %d %s", status, answer)
		}
		return nil
	})
	if status, _ := bob.try(t, "POST", "/api/people", map[string]string{"name": "eve"}); status != 403 {
		t.Errorf("bob, who is no operator, may let people in: %d", status)
	}
	other := open(t, link)
	other.sees(".side .foot", "bob")
	value[any](b, "void (location.hash = '#/settings/about')")
	b.sees(".set h2", "About")
	b.click(".set button", "Check the installation")
	b.sees(".checks", "troupe.yaml has nothing wrong with it")
	b.holds("/^(All is in order|It works)/.test(find('.set h3[role=status]').innerText)")
	if status, _ := bob.try(t, "POST", "/api/check", nil); status != 403 {
		t.Errorf("bob, who is no operator, may check the installation: %d", status)
	}
	value[any](b, "void (location.hash = '#/settings/people')")
	b.sees(".rows", "Here now")
	b.sees(".rows", "Last here ")
	for _, bad := range []string{"", "Bob", "x: {y: z}", "a.b", strings.Repeat("x", 40), "../x"} {
		if status, answer := h.try(t, "POST", "/api/people", map[string]string{"name": bad}); status != 422 {
			t.Errorf("%q: %d %s", bad, status, answer)
		}
	}
}
