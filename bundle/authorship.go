package bundle

import (
	"encoding/json"
	"errors"

	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/workspace"
)

// errUnread reports a document that is not replaced, because nobody has looked at what a
// person wrote there.
var errUnread = errors.New("a person has written or changed this document, and you have not read it as it is now. " +
	"Nothing was written. Read it, keep what is theirs, and change what is yours with edit_file; or save it whole, with theirs in it")

// mayReplace refuses to replace a document as a person has left it, unless the session
// has read that.
func (x *session) mayReplace(arguments json.RawMessage) error {
	var in struct {
		FilePath string `json:"file_path"`
		Content  string `json:"content"`
	}
	if json.Unmarshal(arguments, &in) != nil {
		return nil // which the tool will say
	}
	ws := x.workspace()
	loc, _, err := ws.ResolveOutput(in.FilePath)
	if err != nil {
		return nil
	}
	theirs, err := ws.ByPerson(loc)
	if err != nil || theirs == "" || theirs == workspace.Checksum([]byte(in.Content)) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.seen[theirs] {
		return nil
	}
	return files.Failure("unauthorized", errUnread, errUnread.Error(), in.FilePath)
}

// hasWritten notes that a document is as the agent has left it.
func (x *session) hasWritten(arguments json.RawMessage) {
	ws := x.workspace()
	if loc, _, err := ws.ResolveOutput(pathIn(arguments)); err == nil {
		_ = ws.WrittenByAgent(loc) // without it the agent reads before it writes again
	}
}

// hasRead remembers what the session has seen of a document.
func (x *session) hasRead(arguments json.RawMessage) {
	ws := x.workspace()
	loc, err := ws.Resolve(pathIn(arguments))
	if err != nil {
		return
	}
	if theirs, err := ws.ByPerson(loc); err == nil && theirs != "" {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.seen == nil {
			x.seen = make(map[string]bool)
		}
		x.seen[theirs] = true
	}
}

// pathIn is the path among the arguments of a tool.
func pathIn(arguments json.RawMessage) string {
	var in struct {
		FilePath string `json:"file_path"`
	}
	_ = json.Unmarshal(arguments, &in) // none then
	return in.FilePath
}
