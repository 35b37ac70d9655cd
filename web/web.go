// Package web holds the page of the server: plain modules and styles, embedded as
// they are. What is read here is what runs in the browser, but for the comments, which
// stay here; nothing is built.
package web

import (
	"bytes"
	"embed"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed page
var embedded embed.FS

// Page returns the page's files, index.html among them. The comments of our own modules
// are not in them: they would be a twentieth of the first load.
func Page() fs.FS {
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		panic("web: the page is not embedded: " + err.Error())
	}
	return uncommented{page}
}

// uncommented are files without the comments of our own modules.
type uncommented struct{ files fs.FS }

func (u uncommented) Open(name string) (fs.File, error) {
	file, err := u.files.Open(name)
	if err != nil || path.Ext(name) != ".js" || strings.HasPrefix(name, "lib/") {
		return file, err
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	content = withoutComments(content)
	return &module{bytes.NewReader(content), moduleInfo{info, int64(len(content))}}, nil
}

// withoutComments leaves out comments, on lines of their own or behind a statement, and
// indentation, which no text of the page depends on. A test sees to it that comments stand
// between statements.
func withoutComments(script []byte) []byte {
	kept := make([]byte, 0, len(script))
	for line := range bytes.Lines(script) {
		if line = bytes.TrimLeft(line, " "); bytes.HasPrefix(line, []byte("// ")) {
			continue
		}
		if found := behind.FindIndex(line); found != nil {
			line = append(line[:found[0]+1:found[0]+1], '\n')
		}
		kept = append(kept, line...)
	}
	return kept
}

// behind is a comment after a statement, with the last mark of that. What has a quote in it may
// be the end of a text.
var behind = regexp.MustCompile("[;,{] // [^\"'`]*$")

// A module is an open file that was made shorter.
type module struct {
	*bytes.Reader
	info moduleInfo
}

func (m *module) Stat() (fs.FileInfo, error) { return m.info, nil }
func (m *module) Close() error               { return nil }

type moduleInfo struct {
	fs.FileInfo
	size int64
}

func (i moduleInfo) Size() int64        { return i.size }
func (i moduleInfo) ModTime() time.Time { return time.Time{} }
