package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// AWSKeys sign requests as Amazon wants them, with Signature Version 4.
type AWSKeys struct {
	ID     string
	Secret Secret
	// Session is the token of keys that do not last, empty for others.
	Session Secret
	// Region and Service are what the requests are for.
	Region, Service string
}

// Transport is a transport that signs each request, for a service in a region, and passes
// it on; nil passes it on to net/http's shared connections.
func (a AWSAccount) Transport(service, region string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &signing{a, service, region, next}
}

type signing struct {
	account         AWSAccount
	service, region string
	next            http.RoundTripper
}

func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	keys, err := s.account.Keys(r.Context())
	if err != nil {
		return nil, err
	}
	keys.Service, keys.Region = s.service, s.region
	signed := r.Clone(r.Context()) // a transport must not change what it gets
	signed.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) == 0 {
		signed.Body = http.NoBody // else it would be sent in chunks, which S3 refuses
	}
	signed.ContentLength = int64(len(body))
	keys.sign(signed, body, time.Now())
	return s.next.RoundTrip(signed)
}

// sign adds the headers that say who sends the request, and when.
func (k AWSKeys) sign(r *http.Request, body []byte, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	day := stamp[:8]
	r.Header.Set("X-Amz-Date", stamp)
	if k.Session != "" {
		r.Header.Set("X-Amz-Security-Token", string(k.Session))
	}
	names, headers := k.canonicalHeaders(r)
	request := strings.Join([]string{r.Method, canonicalPath(r.URL.EscapedPath()), canonicalQuery(r), headers, names, digest(body)}, "\n")
	scope := strings.Join([]string{day, k.Region, k.Service, "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, digest([]byte(request))}, "\n")
	key := []byte("AWS4" + string(k.Secret))
	for _, part := range []string{day, k.Region, k.Service, "aws4_request", text} {
		key = keyed(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", k.ID, scope, names, hex.EncodeToString(key)))
}

// canonicalHeaders are the headers that are signed, a line each, and their names.
func (k AWSKeys) canonicalHeaders(r *http.Request) (names, lines string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	values := map[string]string{"host": host}
	for name, all := range r.Header {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			values[name] = strings.Join(strings.Fields(strings.Join(all, ",")), " ")
		}
	}
	var sorted []string
	for name := range values {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		lines += name + ":" + values[name] + "\n"
	}
	return strings.Join(sorted, ";"), lines
}

// canonicalPath is a path as it is sent, encoded once more.
func canonicalPath(escaped string) string {
	if escaped == "" {
		return "/"
	}
	return awsEscape(escaped, "/")
}

func canonicalQuery(r *http.Request) string {
	var pairs []string
	for name, values := range r.URL.Query() {
		for _, value := range values {
			pairs = append(pairs, awsEscape(name, "")+"="+awsEscape(value, ""))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// awsEscape encodes all but what never needs it, and what is kept.
func awsEscape(text, kept string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~"+kept, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
