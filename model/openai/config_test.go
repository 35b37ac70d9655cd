package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestBaseURLsAreTakenAsPeopleWriteThem(t *testing.T) {
	for base, want := range map[string]string{
		"":                                            "https://api.openai.com/v1/chat/completions",
		"http://localhost:11434/v1":                   "http://localhost:11434/v1/chat/completions",
		" http://localhost:11434/v1/ ":                "http://localhost:11434/v1/chat/completions",
		"https://x.test/v1/chat/completions":          "https://x.test/v1/chat/completions",
		"https://x.test/v1/chat/completions/":         "https://x.test/v1/chat/completions",
		"https://x.test":                              "https://x.test/chat/completions",
		"https://x.test/a%2Fb/v1":                     "https://x.test/a%2Fb/v1/chat/completions",
		"https://x.test/d/gpt?api-version=2024#x":     "https://x.test/d/gpt/chat/completions?api-version=2024",
		"https://x.test/chat/completions?api-version": "https://x.test/chat/completions?api-version",
	} {
		c := stream200(events(said(`"content":"a"`), because("stop")))
		m, err := New(Config{BaseURL: base, Model: "m", HTTPClient: &http.Client{Transport: c}})
		if err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if listen(t.Context(), m, hello()); c.Sent()[0].URL != want {
			t.Errorf("%q became %s, want %s", base, c.Sent()[0].URL, want)
		}
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"no model":       {},
		"no scheme":      {Model: "m", BaseURL: "localhost:8080/v1"},
		"another scheme": {Model: "m", BaseURL: "ftp://canary.test"},
		"no host":        {Model: "m", BaseURL: "http:///v1"},
		"no URL":         {Model: "m", BaseURL: "http://canary\x7f"},
		"key":            {Model: "m", Key: "canary\nX: y"},
		"header value":   {Model: "m", Headers: map[string]string{"X": "canary\r\nY: z"}},
		"header name":    {Model: "m", Headers: map[string]string{"X Y": "canary"}},
	} {
		m, err := New(c)
		if err == nil || m != nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeadersAreSent(t *testing.T) {
	sent := func(c Config) http.Header {
		server := stream200(events(said(`"content":"a"`), because("stop")))
		c.Model, c.HTTPClient = "m", &http.Client{Transport: server}
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		listen(t.Context(), m, hello())
		return server.Sent()[0].Header
	}
	header := sent(Config{Key: " sk-1 \n", Headers: map[string]string{"x-title": "t", "user-agent": "me"}})
	for name, want := range map[string]string{
		"Authorization": "Bearer sk-1", "X-Title": "t", "User-Agent": "me", "Content-Type": "application/json",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, ok := sent(Config{})["Authorization"]; ok {
		t.Error("without a key there is an Authorization header")
	}
	if got := sent(Config{Key: "sk-1", Headers: map[string]string{"authorization": "Basic x"}}).Get("Authorization"); got != "Basic x" {
		t.Errorf("the configured header gave way to %q", got)
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	c := Config{Key: "canary"}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&out, verb+verb+"\n", c.Key, c)
	}
	fmt.Fprintln(&out, c, &c, []Secret{c.Key}, map[Secret]Secret{c.Key: c.Key}, c.Key.String(), c.Key.GoString())
	encoded, err := json.Marshal(struct {
		A Secret
		B *Secret
	}{c.Key, &c.Key})
	text, _ := c.Key.MarshalText()
	out.Write(text)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(encoded)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", c.Key, "config", c)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", c.Key, "all", []Secret{c.Key})
	m, err := New(Config{Model: "m", Key: "canary", Headers: map[string]string{"X": "canary"}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%v %+v %#v %s %q", m, m, m, m, m)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "model", m)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "model", m)
	for _, form := range []string{"canary", "63616e617279"} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%q shows in %s", form, &out)
		}
	}
	if string(c.Key) != "canary" || !strings.Contains(out.String(), "[redacted]") {
		t.Error("the secret is lost")
	}
}

func TestMaxTokensField(t *testing.T) {
	for model, isNew := range map[string]bool{
		"o1": true, "o3-mini": true, "o4-mini-2025-04-16": true, "gpt-5": true, "gpt-5.1": true, "gpt-5-mini": true, "openai/gpt-5-nano": true, "gpt-6": true,
		"gpt-4o": false, "gpt-4.1": false, "gpt-3.5-turbo": false, "gpt-oss-20b": false, "o": false, "olmo-2": false, "openai/gpt-oss-120b": false, "qwen3": false, "": false,
	} {
		if got := wantsNewField(model); got != isNew {
			t.Errorf("%s: %v, want %v", model, got, isNew)
		}
	}
}

// The key goes to the configured host and to no other.
func TestRedirectsDoNotCarryTheKeyAway(t *testing.T) {
	var leaked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization")+r.Header.Get("Api-Key"))
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		moved := 0
		home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/away/chat/completions":
				http.Redirect(w, r, elsewhere.URL, status)
			case r.URL.Path == "/moved/chat/completions":
				http.Redirect(w, r, "/v1/chat/completions", status)
			case r.Method == http.MethodPost:
				moved++
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, events(said(`"content":"a"`), because("stop")))
			}
		}))
		client := home.Client()
		ask := func(path string) heard {
			m, err := New(Config{BaseURL: home.URL + path, Model: "m", Key: "canary", Headers: map[string]string{"Api-Key": "canary"}, HTTPClient: client})
			if err != nil {
				t.Fatal(err)
			}
			return listen(t.Context(), m, hello())
		}
		if got := ask("/away"); got.Err == nil || !strings.Contains(got.Err.Error(), "redirects to "+elsewhere.URL) {
			t.Errorf("%d to another host: %+v", status, got)
		}
		got := ask("/moved")
		if follows := status >= 307; follows != (got.Err == nil && got.Text == "a" && moved == 1) {
			t.Errorf("%d on the same host: %+v, moved %d", status, got, moved)
		}
		home.Close()
	}
	if len(leaked) > 0 {
		t.Errorf("requests elsewhere: %q", leaked)
	}
}
