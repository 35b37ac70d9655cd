package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The vectors are those of Amazon's own test suite for Signature Version 4.
func TestRequestsAreSignedAsAmazonSays(t *testing.T) {
	keys := AWSKeys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Region: "us-east-1", Service: "service"}
	now := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	for _, v := range []struct{ name, method, url, media, body, signed, want string }{
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "", "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "", "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "", "", "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-x-www-form-urlencoded", "POST", "https://example.amazonaws.com/", "application/x-www-form-urlencoded", "Param1=value1", "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	} {
		r := httptest.NewRequest(v.method, v.url, strings.NewReader(v.body))
		if v.media != "" {
			r.Header.Set("Content-Type", v.media)
		}
		keys.sign(r, []byte(v.body), now)
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + v.signed + ", Signature=" + v.want
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", v.name, got, want)
		}
	}
}

func TestASigningTransportLeavesTheRequestAlone(t *testing.T) {
	var got *http.Request
	var body string
	next := roundTrip(func(r *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(r.Body)
		got, body = r, string(data)
		return &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{}, Request: r}, err
	})
	r := httptest.NewRequest("POST", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/a.b-v1%3A0/invoke", strings.NewReader(`{"a":1}`))
	account := AWSAccount{Keys: always(AWSKeys{ID: "AK", Secret: "canary", Session: "token"})}
	if _, err := account.Transport("bedrock", "eu-west-1", next).RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	if r.Header.Get("Authorization") != "" || body != `{"a":1}` || got.ContentLength != 7 {
		t.Errorf("%v, %s", r.Header, body)
	}
	if auth := got.Header.Get("Authorization"); !strings.Contains(auth, "SignedHeaders=host;x-amz-date;x-amz-security-token") || strings.Contains(auth, "canary") {
		t.Errorf("%s", auth)
	}
	if path := canonicalPath(r.URL.EscapedPath()); path != "/model/a.b-v1%253A0/invoke" {
		t.Errorf("%s", path)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
