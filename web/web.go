// Package web holds the page of the server: plain modules and styles, embedded as
// they are. What is read here is what runs in the browser; nothing is built.
package web

import (
	"embed"
	"io/fs"
)

//go:embed page
var embedded embed.FS

// Page returns the page's files, index.html among them.
func Page() fs.FS {
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		panic("web: the page is not embedded: " + err.Error())
	}
	return page
}
