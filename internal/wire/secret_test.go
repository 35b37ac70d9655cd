package wire

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

// Servers repeat what they were sent in the form in which they got it.
func TestASecretIsTakenOutInEveryForm(t *testing.T) {
	const password = "pa ss/w+rd-canary"
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + password))
	at := &url.URL{Scheme: "http", Host: "model.test", User: url.UserPassword("user", password)}
	c, err := New(Config{URL: at, Key: "sk-a/b+c=canary"})
	if err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]string{
		"plain": password, "the header": "Basic " + basic, "without padding": strings.TrimRight(basic, "="),
		"in a URL": at.String(), "in a query": url.QueryEscape(password), "in a path": url.PathEscape(password),
		"the header in a query": url.QueryEscape(basic), "a key in a query": url.QueryEscape("sk-a/b+c=canary"),
	} {
		left := c.Scrub("no access with " + said + ".")
		for _, secret := range []string{"canary", strings.TrimRight(basic, "=")[:8]} {
			if strings.Contains(left, secret) || !strings.HasPrefix(left, "no access with ") {
				t.Errorf("%s: %q", name, left)
			}
		}
	}
	token, err := New(Config{URL: &url.URL{Scheme: "http", Host: "model.test", User: url.User("token-canary")}})
	if err != nil {
		t.Fatal(err)
	}
	if left := token.Scrub("token-canary " + base64.StdEncoding.EncodeToString([]byte("token-canary:"))); left != "[redacted] [redacted]" {
		t.Errorf("a token in place of a name: %q", left)
	}
}
