package approve

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// A urlPattern matches URLs part by part.
type urlPattern struct {
	scheme, host, port string
	// path is in elements; ** stands for any number of them.
	path []string
	// query is nil where any query will do.
	query *string
}

var (
	urlBeginning = regexp.MustCompile(`^[A-Za-z*][A-Za-z0-9+.*-]*://`)
	schemeOfURL  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)
	// usualPorts are those that a URL need not name.
	usualPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
)

// isURLPattern says that a pattern is about URLs.
func isURLPattern(pattern string) bool { return urlBeginning.MatchString(pattern) }

// isURL says that a text, taken as a whole, is a URL with a host.
func isURL(text string) bool {
	text = strings.TrimSpace(text)
	scheme := schemeOfURL.FindString(text)
	return scheme != "" && strings.HasPrefix(text[len(scheme):], "//") && !strings.ContainsAny(text, " \t\r\n")
}

// parseURLPattern fails for a pattern that could match more than its author sees.
func parseURLPattern(pattern string) (p urlPattern, err error) {
	scheme, rest, _ := strings.Cut(pattern, "://")
	p.scheme = strings.ToLower(scheme)
	rest, _, _ = strings.Cut(rest, "#")
	if before, query, ok := strings.Cut(rest, "?"); ok {
		rest, p.query = before, &query
	}
	host, elements, _ := strings.Cut(rest, "/")
	if strings.Contains(host, "@") {
		return p, errors.New("a pattern for URLs has no user in it")
	}
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		host, p.port = host[:at], host[at+1:]
	}
	if host == "" {
		return p, errors.New("a pattern for URLs has a host; * means any")
	}
	fixed := strings.TrimPrefix(host, "*.")
	if host != "*" && strings.Contains(fixed, "*") {
		return p, errors.New("in the host of a URL a star stands alone, or at the beginning before a dot, as in https://*.example.org/**")
	}
	if p.host = host; host != "*" {
		p.host = strings.TrimSuffix(host, fixed) + plainHost(fixed)
	}
	p.path = strings.Split(elements, "/")
	for i, element := range p.path {
		if strings.Contains(element, "**") && element != "**" {
			return p, errors.New("in the path of a URL, ** stands between slashes")
		}
		if decoded, err := url.PathUnescape(element); err == nil {
			p.path[i] = decoded
		}
	}
	return p, nil
}

// plainHost writes a host in one way: lower case, without a final dot, and as it is
// called on the network.
func plainHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// matches reports whether text is a URL that the pattern means. Where that is in doubt
// the answer is no if it has to be certain, and yes if not.
func (p *urlPattern) matches(text string, certain bool) bool {
	text = strings.TrimSpace(text)
	scheme := schemeOfURL.FindStringSubmatch(text)
	if scheme == nil || !matches(p.scheme, strings.ToLower(scheme[1])) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ContainsAny(text, "\\ \t\r\n") {
		return !certain
	}
	if !p.matchesHost(u) {
		return false
	}
	if isAmbiguous(u) {
		return !certain
	}
	if p.query != nil && !matches(*p.query, u.RawQuery) {
		return false
	}
	return matchesPath(p.path, elementsOf(u))
}

func (p *urlPattern) matchesHost(u *url.URL) bool {
	usual := usualPorts[strings.ToLower(u.Scheme)]
	port, wanted := u.Port(), p.port
	if port == "" {
		port = usual
	}
	if wanted == "" {
		wanted = usual
	}
	if !matches(wanted, port) {
		return false
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	host = plainHost(host)
	if rest, ok := strings.CutPrefix(p.host, "*."); ok {
		return strings.HasSuffix(host, "."+rest)
	}
	return p.host == "*" || p.host == host
}

// isAmbiguous says that servers differ in what they take a URL for.
func isAmbiguous(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	for _, code := range []string{"%2f", "%5c", "%25", "%00"} {
		if strings.Contains(escaped, code) {
			return true
		}
	}
	return u.User != nil
}

// elementsOf returns the elements of a URL's path as a server sees them, decoded and
// without dots. The slash at the end counts.
func elementsOf(u *url.URL) []string {
	clean := path.Clean("/" + u.Path)
	if clean != "/" && (strings.HasSuffix(u.Path, "/") || strings.HasSuffix(u.Path, "/.") || strings.HasSuffix(u.Path, "/..")) {
		clean += "/"
	}
	return strings.Split(clean[1:], "/")
}

// matchesPath reports whether elements look like those of the pattern.
func matchesPath(pattern, elements []string) bool {
	// reached[i] says that the pattern so far matches the first i elements.
	reached := make([]bool, len(elements)+1)
	reached[0] = true
	for _, element := range pattern {
		next := make([]bool, len(elements)+1)
		for i := range reached {
			switch {
			case element == "**":
				next[i] = reached[i] || i > 0 && next[i-1]
			case i > 0:
				next[i] = reached[i-1] && matchesElement(element, elements[i-1])
			}
		}
		reached = next
	}
	return reached[len(elements)]
}

// matchesElement is matches for an element of a path, where a question mark is a
// character like any other.
func matchesElement(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}
