package doctor

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// Of a server on this machine that hangs, nobody is asked whether they are offline.
func TestAServerThatHangsIsToldByWhereItIs(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:9201/v1":      "nothing answered at model.test within 3s; is the server running? Otherwise check providers.office.base_url in troupe.yaml",
		"https://models.example.com/v1": "model.test did not answer within 3s; are you offline, or behind a proxy (HTTPS_PROXY)?",
	} {
		message, fix := explain(context.DeadlineExceeded, "model.test", models.Endpoint{Provider: "office", BaseURL: address})
		if got := message + "; " + fix; got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

func TestHTTPSToAServerThatSpeaksHTTPIsToldAsSuch(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := http.Get(strings.Replace(server.URL, "http:", "https:", 1))
	message, fix := explain(err, "model.test", models.Endpoint{Provider: "office"})
	if message != "model.test speaks http, not https" || fix != "write http:// in place of https:// in providers.office.base_url in troupe.yaml" {
		t.Errorf("%s; %s", message, fix)
	}
}

// A server that speaks TLS alone answers what is no TLS with an alert, or hangs up.
func TestHTTPToAServerThatSpeaksHTTPSIsToldAsSuch(t *testing.T) {
	for answer, want := range map[string]string{
		"\x15\x03\x01\x00\x02\x02\x46": "model.test speaks https, not http",
		"":                             "model.test closed the connection without an answer",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(conn))
				_, _ = conn.Write([]byte(answer))
				conn.Close()
			}
		}()
		_, err = http.Get("http://" + listener.Addr().String())
		message, fix := explain(err, "model.test", models.Endpoint{Provider: "office", BaseURL: "http://model.test/v1"})
		if message != want || !strings.Contains(fix, "write https:// in place of http:// in providers.office.base_url in troupe.yaml") {
			t.Errorf("%q: %s; %s", answer, message, fix)
		}
		m, err := openai.New(openai.Config{BaseURL: "http://" + listener.Addr().String() + "/v1", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range m.Generate(t.Context(), &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hi"}}}) {
			if p := problem.Of(err); !strings.Contains(p.Next, "rite https:// in place of http://") {
				t.Errorf("%q: %+v, of %v", answer, p, err)
			}
		}
		listener.Close()
		<-done
	}
}
