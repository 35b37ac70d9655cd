package sdks

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// toServer sends every request to a server, wherever it was meant for.
type toServer struct {
	at   *url.URL
	next http.RoundTripper
}

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = s.at.Scheme, s.at.Host, s.at.Host
	return s.next.RoundTrip(r)
}

// The server that users test against speaks as providers do: their own SDKs read its
// answers.
func TestTheTestServerSpeaksAsProvidersDo(t *testing.T) {
	calls := []troupe.ToolCall{{ID: "a", Name: "lookup", Arguments: `{"city":"Oslo","days":3}`}, {ID: "b", Name: "lookup", Arguments: `{"city":"Rome"}`}}
	want := answer{Text: "Let me look.", Thought: "Where was it?", Calls: []call{newCall("lookup", calls[0].Arguments), newCall("lookup", calls[1].Arguments)}}
	for name, p := range map[string]*peer{"messages": anthropicPeer(), "responses": responsesPeer(), "chat": chatPeer(), "gemini": geminiPeer()} {
		server := troupetest.NewServer(t, troupetest.ServeCalls(calls...).Text(want.Text).Thought(want.Thought))
		at, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.stream(t, &http.Client{Transport: toServer{at, server.Client().Transport}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := want
		if name == "chat" || name == "responses" {
			want.Thought = "" // which these SDKs do not put together
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-sent +SDK)\n%s", name, diff)
		}
	}
}
