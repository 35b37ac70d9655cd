package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A pageFile is a file of the page as it is sent: as it is, and compressed, which is
// done when it is first asked for. What is in the program need not be in memory as well:
// plain reads it again.
type pageFile struct {
	media  string
	plain  func() ([]byte, error)
	packed func() ([]byte, error)
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

// loadPage looks through the page's files, each once: they do not change. What index.html
// names is named by its edition there, and so is everything that those files name.
func loadPage(page fs.FS) (*pageSet, error) {
	sums := map[string][sha256.Size]byte{}
	all := sha256.New()
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error { // in order of their names
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		sum, size, err := fileSum(page, name)
		sums[name] = sum
		fmt.Fprintf(all, "%s %d %x\n", name, size, sum)
		return err
	})
	if err != nil {
		return nil, err
	}
	set := &pageSet{map[string]*pageFile{}, hex.EncodeToString(all.Sum(nil)[:8])}
	for name, sum := range sums {
		plain := func() ([]byte, error) { return unchanged(page, name, sum) }
		if name == indexPage {
			content, err := plain()
			if err != nil {
				return nil, err
			}
			content = set.withEditions(content, sums)
			sum, plain = sha256.Sum256(content), func() ([]byte, error) { return content, nil }
		}
		packed := sync.OnceValues(func() ([]byte, error) {
			content, err := plain()
			return compressed(content), err
		})
		set.files[name] = &pageFile{pageType(name), plain, packed, `"` + hex.EncodeToString(sum[:12])}
	}
	return set, nil
}

// withEditions names the files that a page names by their edition.
func (p *pageSet) withEditions(content []byte, files map[string][sha256.Size]byte) []byte {
	return named.ReplaceAllFunc(content, func(reference []byte) []byte {
		parts := named.FindSubmatch(reference)
		if _, ok := files[string(parts[2])]; !ok {
			return reference
		}
		return fmt.Appendf(nil, `%s="%s%s/%s"`, parts[1], editions, p.edition, parts[2])
	})
}

// fileSum reads a file for its sum alone.
func fileSum(files fs.FS, name string) (sum [sha256.Size]byte, size int64, err error) {
	file, err := files.Open(name)
	if err != nil {
		return sum, 0, err
	}
	hash := sha256.New()
	size, err = io.Copy(hash, file)
	hash.Sum(sum[:0])
	return sum, size, errors.Join(err, file.Close())
}

// unchanged reads a file that has a sum. Browsers keep what they have under its name, so
// it must not be another one.
func unchanged(files fs.FS, name string, sum [sha256.Size]byte) ([]byte, error) {
	content, err := fs.ReadFile(files, name)
	if err == nil && sha256.Sum256(content) != sum {
		err = fmt.Errorf("%s of the page has changed since the server began: start it again", name)
	}
	return content, err
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
	read, tag := file.plain, file.tag+`"`
	isPacked := acceptsGzip(c.r) && c.r.Header.Get("Range") == ""
	if isPacked {
		read, tag = file.packed, file.tag+`-gzip"`
	}
	content, err := read()
	if err != nil {
		return err
	}
	if isPacked {
		header.Set("Content-Encoding", "gzip")
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
