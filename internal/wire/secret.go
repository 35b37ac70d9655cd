package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// A Secret is text that does not show itself: printed, logged or encoded, in
// whatever way, it says "[redacted]". Convert it to string to get at the text.
type Secret string

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (Secret) GoString() string { return redacted }

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { f.Write([]byte(redacted)) }

// LogValue is "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON encodes "[redacted]".
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText encodes "[redacted]".
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// secretsOf collects what must not appear in an error, in each form that a server may
// repeat it in: as it is, as in the Authorization header, as in a URL. The longest come
// first, so that a secret that is part of another leaves no rest of it. What is shorter
// than four bytes is left: it guards nothing, and would garble every message.
func secretsOf(c *Config) []string {
	found := []string{strings.TrimSpace(string(c.Key))}
	for _, value := range c.Headers {
		found = append(found, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			found = append(found, token)
		}
	}
	if user := c.URL.User; user != nil {
		password, hasPassword := user.Password()
		basic := []byte(user.Username() + ":" + password)
		if !hasPassword {
			password = user.Username() // a token
		}
		_, inURL, _ := strings.Cut(user.String(), ":")
		found = append(found, password, inURL, base64.StdEncoding.EncodeToString(basic), base64.RawURLEncoding.EncodeToString(basic), base64.RawStdEncoding.EncodeToString(basic))
	}
	for _, values := range c.URL.Query() {
		found = append(found, values...)
	}
	for _, plain := range slices.Clone(found) {
		found = append(found, url.QueryEscape(plain), url.PathEscape(plain))
	}
	found = slices.DeleteFunc(found, func(s string) bool { return len(s) < 4 })
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// Scrub replaces the secrets in text.
func (c *Client) Scrub(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// Clean returns err, or one that says the same without secrets if it tells any.
func (c *Client) Clean(err error) error {
	if text := err.Error(); text != c.Scrub(text) {
		return errors.New(c.Scrub(text))
	}
	return err
}
