package openai

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	heard  = wiretest.Heard
	canned = wiretest.Canned
)

var (
	listen    = wiretest.Listen
	hello     = wiretest.Hello
	stream200 = wiretest.Stream
)

func newModel(t testing.TB, transport http.RoundTripper) *Model {
	t.Helper()
	m, err := New(Config{BaseURL: "http://model.test/v1", Model: "m", Key: "sk-canary-1234", HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
