package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// What a proxy says or does not say is about the proxy, whichever way it is asked.
func TestProxiesThatAreNotThereOrWantAPassword(t *testing.T) {
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html><title>ERR_CACHE_ACCESS_DENIED</title></html>", http.StatusProxyAuthRequired)
	}))
	defer locked.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, test := range []struct {
		proxy, address, says string
		temporary            bool
	}{
		{gone.URL, "http://model.test/v1", "proxyconnect", true},
		{gone.URL, "https://model.test/v1", "proxyconnect", true},
		{locked.URL, "http://model.test/v1", "Proxy Authentication Required", false},
		{locked.URL, "https://model.test/v1", "Proxy Authentication Required", false},
	} {
		through, err := url.Parse(test.proxy)
		if err != nil {
			t.Fatal(err)
		}
		at, err := ParseURL("test", test.address)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{Proxy: http.ProxyURL(through)}
		c, err := New(Config{URL: at, HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Send(t.Context(), &Exchange{})
		transport.CloseIdleConnections()
		e, ok := errors.AsType[*troupe.ModelError](err)
		if !ok || e.Reason != "unreachable" || e.Temporary != test.temporary || !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: %#v, want %s", test.address, err, test.says)
		}
	}
}
