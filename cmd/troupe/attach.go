package main

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/words"
)

// maxAttachment bounds a file that is attached, in bytes, as the server does.
const maxAttachment = 8 << 20

// attachFlag gives a command --attach.
func (p *program) attachFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&p.attach, "attach", nil, "attach this file to the first message; may be given several times")
}

// attachments reads the files that are to go with the first message.
func (p *program) attachments() (parts []troupe.Part, err error) {
	for _, name := range p.attach {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, usage("--attach: %w", err)
		case !info.Mode().IsRegular():
			return nil, usage("--attach: %s is no file", name)
		case info.Size() > maxAttachment:
			return nil, usage("--attach: %s has %d bytes; at most %d can be attached", name, info.Size(), maxAttachment)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, usage("--attach: %w", err)
		}
		part := troupe.Part{Name: filepath.Base(name), MIME: typeOf(name, data), Data: data}
		if !isShown(part.MIME) {
			p.tell("%s is %s, which models cannot read: they are told its name, type and size.", name, part.MIME)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// isShown says whether there are models that are shown files of a type: text, and what some
// can see or hear.
func isShown(media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	return wire.IsText(media) || kind == "image" || kind == "audio" || kind == "video" || media == "application/pdf"
}

// typeOf says of what type a file is, by its name or else by what it begins with.
func typeOf(name string, data []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".yaml", ".yml":
		return "application/yaml"
	}
	for _, known := range []string{mime.TypeByExtension(filepath.Ext(name)), http.DetectContentType(data)} {
		if media, _, err := mime.ParseMediaType(known); err == nil {
			return media
		}
	}
	return "application/octet-stream"
}

// shownMessages is how much of a conversation is shown when it goes on.
const shownMessages = 20

// soFar is the latest of what was said in a session, so that whoever goes on with it
// knows where it stands.
func (c *conversation) soFar(ctx context.Context) ([]terminal.Said, error) {
	var said []terminal.Said
	say := func(by terminal.Speaker, text string) {
		if strings.TrimSpace(text) != "" {
			said = append(said, terminal.Said{By: by, Text: text})
		}
	}
	for e, err := range c.stage.folders.Events(ctx, c.session, 0) {
		if err != nil {
			return nil, err
		}
		c.used.Note(&e)
		if e.Parent != "" {
			continue
		}
		switch b := e.Body.(type) {
		case *troupe.UserSaid:
			if !b.Hidden {
				say(terminal.User, b.Text)
				say(terminal.Aside, attached(b.Parts))
			}
		case *troupe.RunFinished:
			say(terminal.Agent, b.Output.Summary)
		case *troupe.RunFailed:
			say(terminal.Agent, b.Partial)
			say(terminal.Aside, "failed: "+terminal.OneLine(b.Error, 200))
		case *troupe.RunCancelled:
			say(terminal.Agent, b.Partial)
			say(terminal.Aside, "stopped")
		}
	}
	if left := len(said) - shownMessages; left > 0 {
		more := fmt.Sprintf("(%s before this; 'troupe sessions export %s' has them all)", words.Counted(left, "message"), c.session[:8])
		said = append([]terminal.Said{{By: terminal.Aside, Text: more}}, said[left:]...)
	}
	return said, nil
}

// attached names the files that go with a message, empty for none.
func attached(parts []troupe.Part) string {
	var names []string
	for _, part := range parts {
		if part.Name != "" {
			names = append(names, part.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "attached: " + strings.Join(names, ", ")
}
