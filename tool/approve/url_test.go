package approve_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/tool/approve"
)

func TestPatternsOnURLsMatchBySchemeHostAndPath(t *testing.T) {
	for _, c := range []struct {
		pattern    string
		yes, no    []string
		doubtfully []string // matched by rules that ask or deny, not by those that allow
	}{
		{
			pattern: "https://example.org/docs/*",
			yes:     []string{"https://example.org/docs/a", "HTTPS://EXAMPLE.ORG./docs/a", "https://example.org:443/docs/a?x=1#y", "https://example.org/x/../docs/a", "https://example.org/%64ocs/a", " https://example.org/docs/a "},
			no: []string{
				"https://example.org/docs/a/b", "https://example.org/docs", "http://example.org/docs/a", "https://example.org.evil.com/docs/a",
				"https://evil.com/https://example.org/docs/a", "https://evil.com/?https://example.org/docs/a", "https://evil.com#https://example.org/docs/a",
				"https://example.org:8443/docs/a", "https://example.org/docs/../admin", "https://example.org/docs/%2e%2e/admin", "https://example.org@evil.com/docs/a",
				"example.org/docs/a", "docs/a", "", "mailto:a@example.org", "https://xexample.org/docs/a",
			},
			doubtfully: []string{
				"https://example.org/docs/..%2fadmin", "https://example.org/docs/..%5cadmin", "https://example.org/docs/%252e%252e", "https://u:p@example.org/docs/a",
				"https:/example.org/docs/a", "https:example.org/docs/a", "https://example.org\\@evil.com/docs/a", "https://example.org /docs/a", "https://exam\tple.org/docs/a",
			},
		},
		{
			pattern: "https://*.example.org/**",
			yes:     []string{"https://a.example.org/", "https://a.b.example.org/x/y/z", "https://a.example.org"},
			no:      []string{"https://example.org/", "https://evil.com/.example.org/", "https://evil.com?.example.org/", "https://a.example.org.evil.com/", "https://evilexample.org/"},
		},
		{pattern: "*://*:*/**", yes: []string{"http://127.0.0.1:9/x", "https://a/", "http://[::1]:80/"}, no: []string{"nothing"}, doubtfully: []string{"a:b"}},
		{pattern: "http://[::1]/x", yes: []string{"http://[::1]/x", "http://[::1]:80/x"}, no: []string{"http://[::2]/x"}},
		{pattern: "https://münchen.example/", yes: []string{"https://xn--mnchen-3ya.example/", "https://MÜNCHEN.example"}, no: []string{"https://munchen.example/"}},
		{pattern: "https://a.example/search?q=*", yes: []string{"https://a.example/search?q=x/y"}, no: []string{"https://a.example/search?r=1&q=x", "https://a.example/search"}},
		{pattern: "https://a.example/**/x.md", yes: []string{"https://a.example/x.md", "https://a.example/1/2/x.md"}, no: []string{"https://a.example/1/yx.md"}},
		{pattern: "https://a.example/v*/a*b*c", yes: []string{"https://a.example/v1/a1b2c"}, no: []string{"https://a.example/v1/ac", "https://a.example/v1/a/b/c"}},
	} {
		for _, do := range []approve.Decision{approve.Allow, approve.Ask, approve.Deny} {
			policy := approve.Policy{{Tool: "t", Where: map[string]string{"u": c.pattern}, Do: do}, {Tool: "*", Do: approve.Deny}}
			if do == approve.Deny {
				policy[1].Do = approve.Allow
			}
			if err := policy.Check(); err != nil {
				t.Fatal(err)
			}
			decide := func(url string) bool { return policy.Decide("t", []byte(`{"u":`+quoted(url)+`}`)) == do }
			for _, url := range c.yes {
				if !decide(url) {
					t.Errorf("%s %s: %q does not match", do, c.pattern, url)
				}
			}
			for _, url := range c.no {
				if decide(url) {
					t.Errorf("%s %s: %q matches", do, c.pattern, url)
				}
			}
			for _, url := range c.doubtfully {
				if decide(url) != (do != approve.Allow) {
					t.Errorf("%s %s: %q: %v", do, c.pattern, url, decide(url))
				}
			}
		}
	}
}

func TestAPatternWithoutASchemeAllowsNoURL(t *testing.T) {
	policy := approve.Policy{
		{Tool: "web_fetch", Where: map[string]string{"url": "*.example.org/*"}, Do: approve.Allow},
		{Tool: "web_fetch", Where: map[string]string{"url": "*secret*"}, Do: approve.Ask},
		{Tool: "any", Where: map[string]string{"url": "*"}, Do: approve.Allow},
		{Tool: "*", Do: approve.Deny},
	}
	for _, c := range []struct {
		tool, url string
		want      approve.Decision
	}{
		{"web_fetch", "https://evil.com/?.example.org/", approve.Deny},
		{"web_fetch", "https://a.example.org/", approve.Deny},
		{"web_fetch", "a.example.org/x/y", approve.Allow}, // no URL, and a slash like any other character
		{"web_fetch", "https://evil.com/secret/x", approve.Ask},
		{"any", "https://evil.com/", approve.Allow},
	} {
		if got := policy.Decide(c.tool, []byte(`{"url":`+quoted(c.url)+`}`)); got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

func TestASlashIsACharacterLikeAnyOtherWhereNoURLIsMeant(t *testing.T) {
	policy := approve.Policy{{Tool: "write_file", Where: map[string]string{"path": "docs/*.md"}, Do: approve.Allow}, {Tool: "*", Do: approve.Deny}}
	if policy.Decide("write_file", []byte(`{"path":"docs/a/b/c.md"}`)) != approve.Allow {
		t.Error("a star does not cross a slash")
	}
}

func TestValuesAreComparedInOneSpelling(t *testing.T) {
	policy := approve.Policy{{Tool: "t", Where: map[string]string{"n": "22"}, Do: approve.Deny}, {Tool: "t", Where: map[string]string{"l": `["a",{"b":1}]`}, Do: approve.Deny}}
	for _, arguments := range []string{`{"n":22}`, `{"n":22.0}`, `{"n":2.2e1}`, `{"n":220E-1}`, `{"n":"22"}`, `{"n":"\u0032\u0032"}`, `{"l":[ "\u0061" , {"b" : 1}]}`} {
		if got := policy.Decide("t", []byte(arguments)); got != approve.Deny {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

func TestPatternsThatMeanMoreThanTheySeemToAreRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"https://example.org*":        "a star stands alone",
		"https://*example.org/":       "a star stands alone",
		"https://a.*.org/":            "a star stands alone",
		"https:///x":                  "has a host",
		"https://user@example.org/**": "no user",
		"https://example.org/a**":     "between slashes",
	} {
		err := approve.Policy{{Tool: "x", Where: map[string]string{"url": pattern}, Do: approve.Allow}}.Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
