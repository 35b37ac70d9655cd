package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
)

// writtenDocuments take whatever is written.
type writtenDocuments struct{}

func (writtenDocuments) Documents(context.Context, string) ([]Document, error) { return nil, nil }

func (writtenDocuments) Versions(context.Context, string, string) ([]Version, error) {
	return []Version{{Number: 1}}, nil
}

func (writtenDocuments) Read(context.Context, string, string, int) ([]byte, error) {
	return []byte("# Notes"), nil
}

func (writtenDocuments) Write(context.Context, string, string, []byte) (Version, error) {
	return Version{Number: 2}, nil
}

func (writtenDocuments) Add(_ context.Context, _, file string, _ []byte) (string, Version, error) {
	return file, Version{Number: 1}, nil
}

// Who sees a document is told when there is another version of it, by whichever way: all people
// where they share their documents, and otherwise the one whose it is.
func TestWhoSeesADocumentIsToldThatItWasSaved(t *testing.T) {
	for name, isShared := range map[string]bool{"shared": true, "of each": false} {
		t.Run(name, func(t *testing.T) {
			w := open(t, clerk(t, echo()), withUsers, func(c *Config) { c.Documents, c.SharedDocuments = writtenDocuments{}, isShared })
			ann, bob := w.changes(), w.changes(as(tokenOfBob))
			w.eventually(func() bool { return len(w.server.hub.all()) == 2 })
			for _, write := range []func(){
				func() {
					w.want(http.StatusCreated, nil, "POST", "/api/documents", addedFile{"notes.md", []byte("# Notes")}, as(tokenOfBob))
				},
				func() {
					w.want(http.StatusOK, nil, "PUT", "/api/documents", fileEdit{Path: "notes.md", Content: "# Notes"}, as(tokenOfBob))
				},
				func() {
					w.want(http.StatusOK, nil, "POST", "/api/documents/restore", restore{"notes.md", 1}, as(tokenOfBob))
				},
			} {
				write()
				if c := <-bob; c != (change{Documents: true}) {
					t.Errorf("bob, who wrote it, is told %+v", c)
				}
				if !isShared {
					continue
				}
				if c := <-ann; c != (change{Documents: true}) {
					t.Errorf("ann is told %+v", c)
				}
			}
			w.server.hub.reconfigured()
			if c := <-ann; c != (change{Reconfigured: true}) {
				t.Errorf("ann is told %+v", c)
			}
		})
	}
}

// What an agent saves among documents that all share is told to all, whoever talks with it.
func TestWhatAnAgentSavesForAllIsToldToAll(t *testing.T) {
	save := troupe.NewToolWithCall("save", "Saves a document.", func(ctx context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		return "saved", call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: "{project-root}/notes.md", Size: 7})
	})
	w := open(t, clerk(t, calling("save", `{}`), save), withUsers, func(c *Config) { c.Documents, c.SharedDocuments = writtenDocuments{}, true })
	ann := w.changes()
	w.eventually(func() bool { return len(w.server.hub.all()) == 1 })
	w.talk(w.session(as(tokenOfBob)), "Save it", as(tokenOfBob))
	if c := <-ann; c != (change{Documents: true}) {
		t.Errorf("ann is told %+v", c)
	}
}

// keptDocuments are one document, with all its versions.
type keptDocuments struct {
	writtenDocuments
	texts *[]string
}

func (k keptDocuments) Versions(context.Context, string, string) (list []Version, err error) {
	for i, text := range slices.Backward(*k.texts) {
		list = append(list, Version{Number: i + 1, SHA256: sumOf(text), Known: true})
	}
	return list, nil
}

func (k keptDocuments) Read(_ context.Context, _, _ string, version int) ([]byte, error) {
	return []byte((*k.texts)[cmp.Or(version, len(*k.texts))-1]), nil
}

func (k keptDocuments) Write(_ context.Context, _, _ string, content []byte) (Version, error) {
	*k.texts = append(*k.texts, string(content))
	return Version{Number: len(*k.texts)}, nil
}

// Of many who save what they made of the same version, at the same moment, one has saved it, and
// the others are told. What is brought back twice is one version.
func TestOneOfManySavesADocument(t *testing.T) {
	texts := []string{"# First", "# Second"}
	w := open(t, clerk(t, echo()), func(c *Config) { c.Documents = keptDocuments{texts: &texts} })
	statuses := make(chan int, 8)
	for i := range cap(statuses) {
		go func() {
			status, _ := w.do("PUT", "/api/documents", fileEdit{Path: "notes.md", Content: fmt.Sprint("# By ", i), Version: 2})
			statuses <- status
		}()
	}
	count := map[int]int{}
	for range cap(statuses) {
		count[<-statuses]++
	}
	if len(texts) != 3 || count[http.StatusOK] != 1 || count[http.StatusConflict] != cap(statuses)-1 {
		t.Errorf("%v, and the versions are %q", count, texts)
	}
	for range 2 {
		var v Version
		if w.want(http.StatusOK, &v, "POST", "/api/documents/restore", restore{Path: "notes.md", Version: 1}); v.Number != 4 || len(texts) != 4 {
			t.Errorf("version %d, and the versions are %q", v.Number, texts)
		}
	}
	var v Version
	if w.want(http.StatusOK, &v, "PUT", "/api/documents", fileEdit{Path: "notes.md", Content: "# First", Version: 4}); v.Number != 4 || len(texts) != 4 {
		t.Errorf("with nothing changed version %d was made, and the versions are %q", v.Number, texts)
	}
}
