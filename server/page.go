package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A pageFile is a file of the page as it is sent: as it is, and compressed, which is
// done when it is first asked for.
type pageFile struct {
	media  string
	plain  []byte
	packed func() []byte
	tag    string
}

// A pageSet are the files of the page, by name, and the edition that they are together: it is
// another one whenever any of them is.
type pageSet struct {
	files   map[string]*pageFile
	edition string
}

// editions is where the files of an edition are, in a folder of its name: what a browser
// has from there it never has to ask for again.
const editions = "v/"

// loadPage reads the page's files, each once: they do not change. What index.html names is
// named by its edition there, and so is everything that those files name.
func loadPage(page fs.FS) (*pageSet, error) {
	contents := map[string][]byte{}
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		contents[name], err = fs.ReadFile(page, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		fmt.Fprintf(all, "%s %d\n", name, len(contents[name]))
		all.Write(contents[name])
	}
	set := &pageSet{map[string]*pageFile{}, hex.EncodeToString(all.Sum(nil)[:8])}
	for name, content := range contents {
		if name == indexPage {
			content = named.ReplaceAllFunc(content, func(reference []byte) []byte {
				parts := named.FindSubmatch(reference)
				if contents[string(parts[2])] == nil {
					return reference
				}
				return fmt.Appendf(nil, `%s="%s%s/%s"`, parts[1], editions, set.edition, parts[2])
			})
		}
		sum := sha256.Sum256(content)
		set.files[name] = &pageFile{pageType(name), content, sync.OnceValue(func() []byte { return compressed(content) }), `"` + hex.EncodeToString(sum[:12])}
	}
	return set, nil
}

const indexPage = "index.html"

// named are the files that index.html names.
var named = regexp.MustCompile(`(href|src)="([^"]+)"`)

// find returns the file that is meant by a path, and whether it will never be another one.
// A page of an older edition gets what there is now: it is all there is.
func (p *pageSet) find(path string) (name string, file *pageFile, isForGood bool) {
	name = path
	if rest, ok := strings.CutPrefix(path, editions); ok {
		edition, inside, _ := strings.Cut(rest, "/")
		name, isForGood = inside, edition == p.edition
	}
	if name == "" {
		name = indexPage
	}
	return name, p.files[name], isForGood && name != indexPage
}

func compressed(content []byte) []byte {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return packed.Bytes()
}

func pageType(name string) string {
	if i := slices.IndexFunc(pageTypes, func(t [2]string) bool { return t[0] == path.Ext(name) }); i >= 0 {
		return pageTypes[i][1]
	}
	return "application/octet-stream"
}

// sendPage sends a file of the page. A browser that has it is told to use it.
func (s *Server) sendPage(c *call) error {
	name, file, isForGood := s.page.find(c.r.PathValue("path"))
	if file == nil {
		return refuse(http.StatusNotFound, "there is nothing at this address")
	}
	header := c.w.Header()
	if s.isForFrame(c.r) {
		header.Set("Access-Control-Allow-Origin", "*")
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	if name == framePage {
		header.Set("Content-Security-Policy", framePolicy)
	}
	header.Set("Cache-Control", "no-cache")
	if isForGood {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Content-Type", file.media)
	header.Add("Vary", "Accept-Encoding")
	content, tag := file.plain, file.tag+`"`
	if acceptsGzip(c.r) && c.r.Header.Get("Range") == "" {
		header.Set("Content-Encoding", "gzip")
		content, tag = file.packed(), file.tag+`-gzip"`
	}
	header.Set("ETag", tag)
	http.ServeContent(c.w, c.r, "", time.Time{}, bytes.NewReader(content))
	return nil
}

// framePage is the page of the frame in which diagrams are drawn. It has an origin of
// its own, and so none of our cookies and no way to anything but the page's files.
const (
	framePage   = "frame/diagram.html"
	frameFiles  = "lib/mermaid/"
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
)

// isForFrame says whether a request is for what the frame of diagrams loads, which
// comes from an origin that is nobody's.
func (s *Server) isForFrame(r *http.Request) bool {
	if r.Method != http.MethodGet || s.page == nil {
		return false
	}
	name, file, _ := s.page.find(strings.TrimPrefix(r.URL.Path, "/"))
	return file != nil && (strings.HasPrefix(name, frameFiles) || strings.HasPrefix(name, "frame/"))
}

func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(coding, "gzip") && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

// pageTypes are the types of the page's files, whatever the machine thinks.
var pageTypes = [][2]string{
	{".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"}, {".mjs", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"}, {".svg", "image/svg+xml"}, {".png", "image/png"}, {".ico", "image/x-icon"},
	{".json", "application/json"}, {".webmanifest", "application/manifest+json"}, {".woff2", "font/woff2"}, {".txt", "text/plain; charset=utf-8"},
}
