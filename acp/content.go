package acp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/converse"
	"github.com/troupe-dev/troupe/workspace"
)

// input is what a person said in the editor. Files of the project are named as agents
// may name them; what the editor sends along is attached.
func (s *session) input(blocks []acp.ContentBlock) (troupe.Input, error) {
	var in troupe.Input
	var text strings.Builder
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			text.WriteString(s.mention(b.ResourceLink.Uri, b.ResourceLink.Name))
		case b.Resource != nil:
			part, uri, err := embedded(b.Resource.Resource)
			if err != nil {
				return in, err
			}
			part.Name = s.mention(uri, part.Name)
			text.WriteString(part.Name)
			in.Parts = append(in.Parts, part)
		case b.Image != nil:
			data, err := base64.StdEncoding.DecodeString(b.Image.Data)
			if err != nil {
				return in, errors.New("an image is not base64")
			}
			in.Parts = append(in.Parts, troupe.Part{MIME: b.Image.MimeType, Data: data})
		default:
			return in, errors.New("a kind of content that is not supported: text, resources and images are")
		}
	}
	in.Text = s.spoken(strings.TrimSpace(text.String()))
	if in.Text == "" && len(in.Parts) == 0 {
		return in, errors.New("the prompt is empty")
	}
	return in, nil
}

// embedded is a resource that the editor sends along.
func embedded(r acp.EmbeddedResourceResource) (part troupe.Part, uri string, err error) {
	switch {
	case r.TextResourceContents != nil:
		t := r.TextResourceContents
		name := baseOf(t.Uri)
		return troupe.Part{Name: name, MIME: or(t.MimeType, converse.MIMEType(name)), Data: []byte(t.Text)}, t.Uri, nil
	case r.BlobResourceContents != nil:
		b := r.BlobResourceContents
		data, err := base64.StdEncoding.DecodeString(b.Blob)
		if err != nil {
			return part, "", errors.New("a resource is not base64")
		}
		return troupe.Part{Name: baseOf(b.Uri), MIME: or(b.MimeType, "application/octet-stream"), Data: data}, b.Uri, nil
	}
	return part, "", errors.New("a resource is empty")
}

func or(text *string, other string) string {
	if text == nil || *text == "" {
		return other
	}
	return *text
}

func baseOf(uri string) string { return uri[strings.LastIndexByte(uri, '/')+1:] }

// mention names a file of the project as agents may name it, and anything else by its
// address.
func (s *session) mention(uri, name string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		if relative, err := filepath.Rel(s.project.Dir(), filepath.FromSlash(u.Path)); err == nil && filepath.IsLocal(relative) {
			return fmt.Sprintf("{%s}/%s", workspace.ProjectRoot, filepath.ToSlash(relative))
		}
		return name // the host's own paths are nothing for a model
	}
	if name == "" || name == uri {
		return uri
	}
	return fmt.Sprintf("[%s](%s)", name, uri)
}
