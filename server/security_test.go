package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

// everyRoute calls f for each route of a server that has a session with a file, with
// a path and a body that the route can do something with.
func everyRoute(t *testing.T, f func(t *testing.T, w *world, r *route, path, body string)) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "hello")
	bodies := map[string]string{
		"/api/login": `{"token":"` + w.token + `"}`, "/api/flows/{name}/runs": `{"text":"go"}`, "/api/deliveries": `{"request":"go"}`,
		"/api/deliveries/{id}/plan": `{"steps":[{"id":"1","title":"First"}]}`, "/api/deliveries/{id}/continue": `{"guidance":"go"}`, "/api/deliveries/{id}/act": `{"act":"apply"}`,
		"/api/sessions": `{"agent":"clerk"}`, "/api/sessions/{id}": `{"title":"Hello"}`, "/api/sessions/{id}/messages": `{"text":"go"}`,
		"/api/sessions/{id}/fork": `{"after":1}`, "/api/chat": `{"agentId":"clerk","message":"go"}`, "/api/agent/initialize": `{"agentId":"clerk"}`,
		"/api/sessions/{id}/answers": `{"question":1,"text":"yes"}`, "/api/sessions/{id}/queue/{n}": `{"text":"later"}`, "/api/sessions/{id}/files": `{"path":"manifest.json","content":"x"}`,
		"/api/sessions/{id}/restore": `{"path":"manifest.json","version":1}`, "/api/files/zip": `{"files":[{"session":"` + session + `","path":"manifest.json"}]}`, "/api/documents": `{"path":"prd.md","content":"x"}`,
		"/api/documents/restore": `{"path":"prd.md","version":1}`, "/api/settings": `{"values":{"model":"stub/b"}}`, "/api/providers/{name}": `{"base_url":"http://localhost:8000/v1"}`, "/api/providers/{name}/key": `{"key":"sk-0123456789"}`, "/api/mcp/{name}/accept": `{"tools":{"look":"hash"}}`,
		"/api/mcp": `{"name":"issues","url":"https://tools.example/mcp"}`, "/api/documents/zip": `{"files":[{"session":"` + session + `","path":"manifest.json"}]}`,
		"/api/mcp/{name}": `{"on":true}`, "/api/skills/{name}": `{"on":true}`, "/api/people": `{"name":"bob"}`, "POST /api/documents": `{"name":"a.md","data":"eA=="}`,
		"/v1/chat/completions": `{"model":"clerk","messages":[{"role":"user","content":"go"}]}`,
	}
	fill := strings.NewReplacer("{id}", session, "{name}", "round", "{path...}", "manifest.json", "{model}", "clerk", "{n}", "1", "{step}", "3", "{check}", "test")
	for i := range w.server.routes {
		r := &w.server.routes[i]
		path, body := fill.Replace(r.path), ""
		if r == &w.server.routes[len(w.server.routes)-1] {
			path = "/app.js"
		}
		if r.in != nil {
			body = bodies[r.method+" "+r.path]
			if body == "" {
				body = bodies[r.path]
			}
			if body == "" {
				t.Fatalf("%s %s: the test has no body for it", r.method, r.path)
			}
		}
		t.Run(r.method+r.path, func(t *testing.T) {
			w := *w
			w.t = t
			f(t, &w, r, path, body)
		})
	}
}

// status sends a request and returns the status alone: streams are left at once.
func (w *world) status(method, path, body string, headers ...header) int {
	w.t.Helper()
	var sent any
	if body != "" {
		sent = body
	}
	response := w.send(w.t.Context(), method, path, sent, headers...)
	response.Body.Close()
	return response.StatusCode
}

func TestEveryRouteRefusesOtherHosts(t *testing.T) {
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		hosts := []string{"evil.example", "evil.example:7717", "127.0.0.1.evil.example", "localhost.evil.example", "localhost:1@evil.example"}
		if r.path != "/healthz" && r.path != "/readyz" { // which load balancers ask for by an address
			hosts = append(hosts, "127.0.0.2", "0.0.0.0", "[::]")
		}
		for _, host := range hosts {
			if got := w.status(r.method, path, body, with("Host", host)); got != http.StatusForbidden && got != http.StatusBadRequest {
				t.Errorf("Host %s: status %d", host, got)
			}
		}
	})
}

func TestTheNamesOfThisMachineAreAnsweredTo(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Hosts = []string{"troupe.example.org"} })
	for _, host := range []string{"localhost", "localhost:7717", "127.0.0.1:1", "[::1]:7717", "[::1]", "troupe.example.org", "troupe.example.org:443"} {
		if got := w.status("GET", "/api/agents", "", with("Host", host)); got != http.StatusOK {
			t.Errorf("Host %s: status %d", host, got)
		}
	}
}

func TestEveryRouteRefusesOtherOrigins(t *testing.T) {
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		for _, origin := range []string{"null", "http://evil.example", "http://localhost:1", "https://127.0.0.1", "http://127.0.0.1.evil.example", "file://", "%"} {
			if got := w.status(r.method, path, body, with("Origin", origin)); got != http.StatusForbidden {
				t.Errorf("Origin %s: status %d", origin, got)
			}
		}
		for _, site := range []string{"cross-site", "same-site"} {
			if got := w.status(r.method, path, body, with("Sec-Fetch-Site", site)); got != http.StatusForbidden && !(r.open && r.method == "GET") {
				t.Errorf("Sec-Fetch-Site %s: status %d", site, got)
			}
		}
		if got := w.status(r.method, path, body, with("Origin", w.url), with("Sec-Fetch-Site", "same-origin")); got == http.StatusForbidden {
			t.Errorf("our own origin is refused")
		}
	})
}

func TestEveryRouteThatIsNotOpenNeedsTheToken(t *testing.T) {
	openRoutes := []string{}
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		if r.open {
			openRoutes = append(openRoutes, r.method+" "+r.path)
			return
		}
		cookie := func(name, value string) header { return with("Cookie", name+"="+value) }
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(w.url, "http://"))
		for name, set := range map[string]header{
			"none": with("Authorization", ""), "wrong": as(w.token + "x"), "empty": with("Authorization", "Bearer "), "another scheme": with("Authorization", "Basic "+w.token),
		} {
			if got := w.status(r.method, path, body, set); got != http.StatusUnauthorized {
				t.Errorf("token %s: status %d", name, got)
			}
		}
		if got := w.status(r.method, path, body, with("Authorization", ""), cookie("troupe"+port, "wrong")); got != http.StatusUnauthorized {
			t.Errorf("a wrong cookie: status %d", got)
		}
		if got := w.status(r.method, path+"?token="+w.token, body, with("Authorization", "")); got != http.StatusUnauthorized {
			t.Errorf("a token in the address: status %d", got)
		}
		if got := w.status(r.method, path, body, with("Authorization", ""), cookie("troupe"+port, w.token)); got == http.StatusUnauthorized {
			t.Errorf("the cookie is refused")
		}
	})
	if diff := cmp.Diff([]string{"GET /healthz", "GET /readyz", "POST /api/login", "GET /api/ways", "POST /api/logout", "GET /api/health", "GET /{path...}"}, openRoutes); diff != "" {
		t.Errorf("routes that need no token: %s", diff)
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		for _, set := range []header{as(w.token), as("wrong"), with("Host", "evil.example"), with("Origin", "null")} {
			var sent any
			if body != "" {
				sent = body
			}
			response := w.send(t.Context(), r.method, path, sent, set)
			response.Body.Close()
			for name, want := range map[string]string{
				"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				got := response.Header.Get(name)
				isFile := strings.Contains(r.path, "/files/") && response.StatusCode == http.StatusOK
				if got != want && !(isFile && strings.HasPrefix(got, "sandbox; default-src 'none'")) {
					t.Errorf("status %d: %s is %q", response.StatusCode, name, got)
				}
			}
			for name := range response.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("status %d: there is a header %s", response.StatusCode, name)
				}
			}
		}
		preflight := w.send(t.Context(), "OPTIONS", path, nil, with("Origin", "http://evil.example"), with("Access-Control-Request-Method", r.method))
		preflight.Body.Close()
		if preflight.StatusCode != http.StatusForbidden || preflight.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("a preflight is answered with %d", preflight.StatusCode)
		}
	})
}

func TestEveryBodyIsJSONOfTheRightShapeAndSize(t *testing.T) {
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"} {
			sent := body
			if sent == "" {
				sent = "{}"
			}
			if got := w.status(r.method, path, sent, with("Content-Type", media)); got != http.StatusUnsupportedMediaType {
				t.Errorf("content type %q: status %d", media, got)
			}
		}
		if r.in == nil {
			return
		}
		limit := smallBody
		if r.big {
			limit = int(w.server.config.Limits.Body)
		}
		if got := w.status(r.method, path, `{"x":"`+strings.Repeat("x", limit)+`"}`); got != http.StatusRequestEntityTooLarge {
			t.Errorf("a body that is too large: status %d", got)
		}
		first := body[:strings.Index(body, ",")+1]
		if first == "" {
			first = body[:len(body)-1] + ","
		}
		for name, bad := range map[string]string{
			"nothing": " ", "no JSON": "{", "another value": body + "{}", "an array": "[]", "null": "null", "no fields": `{"x":1}`,
			"a field twice": first + body[1:], "not UTF-8": strings.Replace(body, "{", "{\"\xff\":1,", 1),
			"too deep": strings.Replace(body, "{", `{"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+",", 1),
		} {
			if got := w.status(r.method, path, bad); got != http.StatusBadRequest {
				t.Errorf("%s: status %d", name, got)
			}
		}
		if got := w.status(r.method, path, strings.Replace(body, "{", `{"unknown":1,`, 1)); (got == http.StatusBadRequest) == r.loose {
			t.Errorf("a field that is not known: status %d", got)
		}
	})
}

func TestNothingIsChangedByGet(t *testing.T) {
	everyRoute(t, func(t *testing.T, w *world, r *route, path, body string) {
		if r.method != "GET" {
			return
		}
		before := w.record()
		w.status("GET", path, "")
		w.status("HEAD", path, "")
		if diff := cmp.Diff(before, w.record()); diff != "" {
			t.Error(diff)
		}
	})
}

// record is all that the store knows.
func (w *world) record() string {
	var b strings.Builder
	for info := range w.store.Sessions(w.t.Context(), troupe.SessionFilter{}) {
		info.Owner = troupe.Owner{} // who lets go of it a moment after its run has ended
		fmt.Fprintln(&b, info)
	}
	return b.String()
}

func TestOtherMethodsAndAddressesAreProblems(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Page = nil })
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"PUT", "/api/sessions", http.StatusMethodNotAllowed, "GET, POST"}, {"DELETE", "/healthz", http.StatusMethodNotAllowed, "GET"},
		{"GET", "/api/nothing", http.StatusNotFound, ""}, {"GET", "/", http.StatusNotFound, ""},
		{"GET", "/debug/pprof/", http.StatusNotFound, ""}, {"GET", "/debug/vars", http.StatusNotFound, ""},
	} {
		response := w.send(t.Context(), c.method, c.path, nil)
		var p problem
		err := json.NewDecoder(response.Body).Decode(&p)
		response.Body.Close()
		if err != nil || response.StatusCode != c.status || p.Status != c.status || response.Header.Get("Allow") != c.allow ||
			response.Header.Get("Content-Type") != "application/problem+json" || p.Title == "" || p.Type != "about:blank" {
			t.Errorf("%s %s: %d %v %+v: %v", c.method, c.path, response.StatusCode, response.Header, p, err)
		}
	}
}

func TestATokenIsExchangedForACookie(t *testing.T) {
	w := open(t, clerk(t, echo()))
	for origin, want := range map[string]string{
		w.url:                                  "troupe%s=%s; Path=/; HttpOnly; SameSite=Strict",
		strings.Replace(w.url, "p:", "ps:", 1): "__Host-troupe%.0s=%s; Path=/; HttpOnly; Secure; SameSite=Strict",
	} {
		response := w.send(t.Context(), "POST", "/api/login", login{w.token}, as("none"), with("Origin", origin))
		response.Body.Close()
		_, port, _ := net.SplitHostPort(response.Request.URL.Host)
		cookie := response.Header.Get("Set-Cookie")
		if want := fmt.Sprintf(want, port, w.token); cookie != want || response.StatusCode != http.StatusNoContent {
			t.Errorf("status %d, cookie %q, not %q", response.StatusCode, cookie, want)
		}
		value, _, _ := strings.Cut(cookie, ";")
		if got := w.status("GET", "/api/agents", "", with("Authorization", ""), with("Cookie", value)); got != http.StatusOK {
			t.Errorf("with the cookie %s: status %d", value, got)
		}
	}
	response := w.send(t.Context(), "POST", "/api/login", login{"wrong"})
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized || response.Header.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: %d, %v", response.StatusCode, response.Header)
	}
}

func TestTokensAreLongAndDifferByDefaultAtRandom(t *testing.T) {
	one, two := newWorld(t, clerk(t, echo())), newWorld(t, clerk(t, echo()))
	if len(one.token) != 43 || one.token == two.token {
		t.Errorf("tokens are %s and %s", one.token, two.token)
	}
	for name, users := range map[string]map[string]string{
		"none": {"ann": ""}, "short": {"ann": strings.Repeat("0", 31)}, "shared": {"ann": tokenOfAnn, "bob": tokenOfAnn},
	} {
		config := one.config
		config.Users = users
		if _, err := New(config); err == nil {
			t.Errorf("a token that is %s is accepted", name)
		}
	}
}

type reachable struct{ *pipe }

func (reachable) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 7717} }

func TestOtherMachinesAreServedOnlyIfThatIsConfigured(t *testing.T) {
	for _, set := range []option{func(*Config) {}, withUsers, func(c *Config) { c.Hosts = []string{"troupe.example.org"} }} {
		w := newWorld(t, clerk(t, echo()), set)
		if err := w.server.Serve(t.Context(), reachable{newPipe()}); err == nil || !strings.Contains(err.Error(), "configure users and hosts") {
			t.Errorf("serving: %v", err)
		}
	}
}

func TestARequestThatDoesNotArriveIsDropped(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		within  time.Duration
	}{
		"header": {"GET /healthz HTTP/1.1\r\nHost: loc", headerTimeout},
		"body":   {"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", bodyTimeout},
		"next":   {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", idleTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, p := openInMemory(t, clerk(t, echo()))
			conn, _ := p.dial(t.Context(), "", "")
			defer conn.Close()
			began := time.Now()
			conn.Write([]byte(c.request))
			for {
				if _, err := conn.Read(make([]byte, 4096)); err != nil {
					break
				}
			}
			if took := time.Since(began); took < c.within || took > c.within+time.Second {
				t.Errorf("%s: dropped after %v, not %v", name, took, c.within)
			}
		})
	}
}

func TestAHeaderThatIsTooLargeIsRefused(t *testing.T) {
	w := open(t, clerk(t, echo()))
	if got := w.status("GET", "/healthz", "", with("X", strings.Repeat("x", maxHeader+8192))); got != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", got)
	}
}

func TestAPanicIsToldInGeneralTermsAndLoggedInDetail(t *testing.T) {
	broken := clerk(t, echo())
	broken["broken"] = func() (troupe.Step, error) { panic("secret detail") }
	broken["unmade"] = func() (troupe.Step, error) { return nil, fmt.Errorf("open /secret/detail") }
	w := open(t, broken)
	for _, agent := range []string{"broken", "unmade"} {
		status, body := w.do("POST", "/api/sessions", newSession{Agent: agent})
		if status != http.StatusInternalServerError || strings.Contains(body, "secret") || !strings.Contains(body, "something went wrong") {
			t.Errorf("status %d: %s", status, body)
		}
	}
	if text := w.log.String(); !strings.Contains(text, "secret detail") || !strings.Contains(text, "security_test.go") || !strings.Contains(text, "/secret/detail") {
		t.Errorf("the log says %s", text)
	}
	w.session() // the server lives
}

func TestAHostHasANumberWhereThePortBelongs(t *testing.T) {
	w := open(t, clerk(t, echo()))
	for host, want := range map[string]int{
		"127.0.0.1:7717": 200, "localhost": 200, "localhost:": 200, "[::1]:80": 200, "127.0.0.1:evil.example": 403, "localhost:80a": 403, "localhost:-1": 403, "localhost:99999": 403, "localhost:80.evil.example": 403,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/healthz", nil)
		r.Host = host
		answer := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(answer, r)
		if answer.Code != want {
			t.Errorf("%s: %d, want %d", host, answer.Code, want)
		}
	}
}

// A server that listens on any address of this machine alone answers to it, and to no other that
// it was not given.
func TestAServerAnswersToTheLoopbackAddressThatItListensOn(t *testing.T) {
	w := open(t, clerk(t, echo()))
	for host, want := range map[string]int{
		"127.0.0.2:7717": http.StatusOK, "[::1]:7717": http.StatusOK, "localhost": http.StatusOK,
		"127.0.0.3": http.StatusForbidden, "127.0.0.2.example.org": http.StatusForbidden, "192.0.2.1": http.StatusForbidden, "0.0.0.0": http.StatusForbidden, "127.2": http.StatusForbidden,
	} {
		r := httptest.NewRequest("GET", "http://localhost/api/me", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 7717}))
		r.Host = host
		r.Header.Set("Authorization", "Bearer "+w.server.Token())
		got := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(got, r)
		if got.Code != want {
			t.Errorf("to %s it answers with %d, want %d", host, got.Code, want)
		}
	}
}
