package server

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/troupe-dev/troupe"
)

// What an agent saves in a directory that it was granted is a file of its session like others, to
// whoever has the session: listed, found, read in each version, given to others. It is not written
// by hand, and nothing else of the directory can be read.
func TestFilesInGrantedDirectories(t *testing.T) {
	docs := map[string]string{"{docs}/key.txt": "secret"}
	type text struct {
		Content string `json:"content"`
	}
	save := troupe.NewToolWithCall("save", "Saves a text.", func(ctx context.Context, call *troupe.Invocation, in text) (string, error) {
		docs["{docs}/otters.md"] = in.Content
		return "saved", call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: "{docs}/otters.md", Size: int64(len(in.Content)), SHA256: sumOf(in.Content), Description: "Otters"})
	})
	model := scriptedFunc(func(req *troupe.Request) troupe.Chunk {
		last := req.Messages[len(req.Messages)-1]
		if last.Role != troupe.RoleUser {
			return troupe.Chunk{Text: "Done."}
		}
		arguments, _ := json.Marshal(text{last.Text})
		return troupe.Chunk{Call: &troupe.ToolCall{ID: "c", Name: "save", Arguments: string(arguments)}}
	})
	granted := func(_ context.Context, agent, name string) (string, error) {
		if content, ok := docs[name]; ok && agent == "clerk" {
			return content, nil
		}
		return "", errors.New("no such file")
	}
	w := open(t, clerk(t, model, save), func(c *Config) { c.Granted = granted })
	session := w.session()
	base := "/api/sessions/" + session
	w.talk(session, "# Otters swim")
	w.talk(session, "# Otters dive")

	var folder fileList
	if w.want(http.StatusOK, &folder, "GET", base+"/files", nil); len(folder.Files) == 0 || folder.Files[0].Path != "{docs}/otters.md" || folder.Files[0].Size != 13 {
		t.Errorf("the session has %+v", folder)
	}
	for _, words := range []string{"", "?q=dive"} {
		var all libraryList
		if w.want(http.StatusOK, &all, "GET", "/api/files"+words, nil); len(all.Files) != 1 || all.Files[0].Path != "{docs}/otters.md" || all.Files[0].Version != 2 || all.Files[0].By != "clerk" {
			t.Errorf("%q finds %+v", words, all)
		}
	}
	var versions []Version
	if w.want(http.StatusOK, &versions, "GET", base+"/versions?path="+url.QueryEscape("{docs}/otters.md"), nil); len(versions) != 2 || !versions[1].Known {
		t.Errorf("versions %+v", versions)
	}
	docs["{docs}/otters.md"] = "# Otters, by somebody"
	versionsNow := func() (list []Version) {
		w.want(http.StatusOK, &list, "GET", base+"/versions?path="+url.QueryEscape("{docs}/otters.md"), nil)
		return list
	}
	changed := versionsNow()
	if len(changed) != 3 || changed[0].By != "" || changed[0].ByHand || !changed[0].Known {
		t.Errorf("with an editor's the versions are %+v", changed)
	}
	docs["{docs}/otters.md"] = "# Otters, by an editor" // once more, which is no other version
	if changed = versionsNow(); len(changed) != 3 || changed[0].By != "" || changed[0].Size != 22 {
		t.Errorf("with an editor's again the versions are %+v", changed)
	}
	for query, want := range map[string]string{"?raw": "# Otters, by an editor", "?raw&version=3": "# Otters, by an editor", "?raw&version=2": "# Otters dive", "?raw&version=1": "# Otters swim"} {
		if _, got := w.do("GET", base+"/files/"+url.PathEscape("{docs}")+"/otters.md"+query, nil); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	_, sent := w.do("GET", base+"/files.zip", nil)
	archive, err := zip.NewReader(bytes.NewReader([]byte(sent)), int64(len(sent)))
	if err != nil || len(archive.File) == 0 || archive.File[0].Name != "docs/otters.md" {
		t.Errorf("the archive has %+v %v", archive, err)
	}
	w.want(http.StatusForbidden, nil, "PUT", base+"/files", fileEdit{Path: "{docs}/otters.md", Content: "By hand", Version: 2})
	w.want(http.StatusForbidden, nil, "POST", base+"/restore", restore{"{docs}/otters.md", 1})
	w.want(http.StatusNotFound, nil, "GET", base+"/files/"+url.PathEscape("{docs}")+"/key.txt", nil)
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+w.session()+"/files/"+url.PathEscape("{docs}")+"/otters.md", nil)
	if docs["{docs}/otters.md"] != "# Otters, by an editor" {
		t.Errorf("it was changed to %q", docs["{docs}/otters.md"])
	}
	// What somebody wrote there is a version still when an agent has written over it.
	w.talk(session, "# Otters rest")
	if changed = versionsNow(); len(changed) != 4 || changed[0].By != "clerk" || changed[1].By != "" || changed[1].ByHand || !changed[1].Known {
		t.Errorf("with one over an editor's the versions are %+v", changed)
	}
	for query, want := range map[string]string{"?raw": "# Otters rest", "?raw&version=3": "# Otters, by an editor", "?raw&version=2": "# Otters dive"} {
		if _, got := w.do("GET", base+"/files/"+url.PathEscape("{docs}")+"/otters.md"+query, nil); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	var all libraryList
	if w.want(http.StatusOK, &all, "GET", "/api/files", nil); len(all.Files) != 1 || all.Files[0].Version != 4 || all.Files[0].By != "clerk" {
		t.Errorf("the library has %+v", all)
	}
}

// Where nobody can read them, such files are in no list.
func TestFilesThatNobodyCanReadAreNotListed(t *testing.T) {
	save := troupe.NewToolWithCall("save", "Saves a text.", func(ctx context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		return "saved", call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: "{docs}/otters.md", Size: 1})
	})
	model := scriptedFunc(func(req *troupe.Request) troupe.Chunk {
		if req.Messages[len(req.Messages)-1].Role != troupe.RoleUser {
			return troupe.Chunk{Text: "Done."}
		}
		return troupe.Chunk{Call: &troupe.ToolCall{ID: "c", Name: "save", Arguments: "{}"}}
	})
	w := open(t, clerk(t, model, save))
	session := w.session()
	w.talk(session, "Save it")
	var all libraryList
	if w.want(http.StatusOK, &all, "GET", "/api/files", nil); len(all.Files) != 0 {
		t.Errorf("%+v", all)
	}
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session+"/files/"+url.PathEscape("{docs}")+"/otters.md", nil)
}
