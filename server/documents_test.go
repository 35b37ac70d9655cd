package server

import (
	"context"
	"net/http"
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
