package acp

import (
	"context"
	"time"

	"github.com/coder/acp-go-sdk"
)

// buffers are the files of the editor: what a person has changed and not saved is in them.
// They implement [workspace.Buffers] as far as the editor can.
type buffers struct {
	editor  *acp.AgentSideConnection
	session acp.SessionId
	can     acp.FileSystemCapabilities
}

// answersWithin is how long the editor may take over a file.
const answersWithin = 10 * time.Second

// Read asks the editor for a file. One that it does not know of, or refuses, is as it is
// on disk.
func (b *buffers) Read(path string) (text string, ok bool) {
	if !b.can.ReadTextFile {
		return "", false
	}
	ctx, cancel := context.WithTimeout(context.Background(), answersWithin)
	defer cancel()
	response, err := b.editor.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: b.session, Path: path})
	return response.Content, err == nil
}

// Write has the editor write a file, so that what a person sees there is what was written.
func (b *buffers) Write(path, text string) bool {
	if !b.can.WriteTextFile {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), answersWithin)
	defer cancel()
	_, err := b.editor.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: b.session, Path: path, Content: text})
	return err == nil
}
