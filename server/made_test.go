package server

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"testing"

	"github.com/troupe-dev/troupe"
)

// madeFiles are what a delivery has made, by their paths.
type madeFiles map[string]string

func (m madeFiles) Read(_ context.Context, _, path string) (string, error) {
	if text, ok := m[path]; ok {
		return text, nil
	}
	return "", fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}

func (m madeFiles) Write(_ context.Context, _, path, text string) error {
	if _, ok := m[path]; !ok {
		return fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	m[path] = text
	return nil
}

// What a delivery makes are files of its session: listed, read, edited, brought back and put into
// archives, by their place in its output and by their path there.
func TestFilesOfADelivery(t *testing.T) {
	made := madeFiles{"specs/plan.md": "# Plan\n", "cmd/main.go": "package main\n"}
	const name = "{output}/specs/plan.md"
	saves := troupe.NewStep("planning", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return in, run.Emit(ctx, &troupe.ArtifactSaved{Path: name, Size: 7, SHA256: sumOf("# Plan\n"), Description: "Plan"})
	})
	step := troupe.NewStep(Pipeline, func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return run.Do(ctx, saves, in)
	})
	w := open(t, clerk(t, echo()), func(c *Config) { c.Deliveries, c.Made = sites{step: step}, made })
	var begun started
	w.want(http.StatusAccepted, &begun, "POST", "/api/deliveries", delivery{Request: "Make it good"})
	w.follow(begun.Session, 0).until(ends)
	base := "/api/sessions/" + begun.Session

	var folder fileList // with the manifest
	if w.want(http.StatusOK, &folder, "GET", base+"/files", nil); len(folder.Files) != 2 || folder.Files[0].Path != name {
		t.Errorf("the session has %+v", folder)
	}
	var all libraryList
	if w.want(http.StatusOK, &all, "GET", "/api/files?q=plan", nil); len(all.Files) != 1 || all.Files[0].Path != name {
		t.Errorf("found are %+v", all)
	}
	for version, called := range []string{name, "specs/plan.md"} {
		var v Version
		text := fmt.Sprintf("# Plan %d\n", version)
		if w.want(http.StatusOK, &v, "PUT", base+"/files", fileEdit{Path: called, Content: text, Version: version + 1}); v.Number != version+2 || made["specs/plan.md"] != text {
			t.Errorf("%s: %+v, and it holds %q", called, v, made["specs/plan.md"])
		}
		if w.want(http.StatusOK, &folder, "GET", base+"/files", nil); folder.Files[0].Size != int64(len(text)) {
			t.Errorf("after that the session has %+v", folder)
		}
		var list []Version
		if w.want(http.StatusOK, &list, "GET", base+"/versions?path="+url.QueryEscape(called), nil); len(list) != version+2 || !list[0].ByHand {
			t.Errorf("%s has the versions %+v", called, list)
		}
		path := (&url.URL{Path: base + "/files/" + called}).EscapedPath()
		if _, got := w.do("GET", path+"?raw", nil); got != text {
			t.Errorf("%s reads %q, want %q", called, got, text)
		}
	}
	var view deliveryView
	if w.want(http.StatusOK, &view, "GET", "/api/deliveries/"+begun.Session, nil); len(view.Documents) != 0 { // no call of ours wrote it
		t.Errorf("documents %+v", view.Documents)
	}
	w.want(http.StatusOK, nil, "POST", base+"/restore", restore{Path: "specs/plan.md", Version: 1})
	if made["specs/plan.md"] != "# Plan\n" {
		t.Errorf("what was brought back is %q", made["specs/plan.md"])
	}
	_, sent := w.do("GET", base+"/files.zip", nil)
	archive, err := zip.NewReader(bytes.NewReader([]byte(sent)), int64(len(sent)))
	if err != nil || len(archive.File) != 2 || archive.File[0].Name != "output/specs/plan.md" {
		t.Errorf("the archive has %+v, %v", archive, err)
	}

	// What it has built is read, and changed where it is.
	if _, got := w.do("GET", base+"/files/cmd/main.go?raw", nil); got != "package main\n" {
		t.Errorf("what it has built reads %q", got)
	}
	for _, other := range []string{"cmd/main.go", "{output}/cmd/main.go"} {
		if status, _ := w.do("PUT", base+"/files", fileEdit{Path: other, Content: "x"}); status != http.StatusNotFound && status != http.StatusForbidden || made["cmd/main.go"] != "package main\n" {
			t.Errorf("%s is written: %d", other, status)
		}
	}
	talk := w.session()
	if status, _ := w.do("GET", "/api/sessions/"+talk+"/files/"+url.PathEscape("{output}")+"/specs/plan.md?raw", nil); status != http.StatusNotFound {
		t.Errorf("another conversation reads it: %d", status)
	}
}
