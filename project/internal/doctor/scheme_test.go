package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project/internal/models"
)

func TestHTTPSToAServerThatSpeaksHTTPIsToldAsSuch(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := http.Get(strings.Replace(server.URL, "http:", "https:", 1))
	message, fix := explain(err, "model.test", models.Endpoint{Provider: "office"})
	if message != "model.test speaks http, not https" || fix != "write http:// in place of https:// in providers.office.base_url in troupe.yaml" {
		t.Errorf("%s; %s", message, fix)
	}
}
