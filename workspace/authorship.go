package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
)

// authorFile holds the checksum of what an agent has last written to a document, beside
// the document's earlier versions.
const authorFile = "agent"

// Checksum identifies the content of a document.
func Checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ByPerson returns the checksum of a document that is not as an agent has left it: a
// person wrote it, or has changed it since. It is empty for everything else, and where
// nothing is kept ([Config.Temporary]).
func (w *Workspace) ByPerson(loc Location) (string, error) {
	if !w.isDurable {
		return "", nil
	}
	content, record, err := w.document(loc)
	if err != nil || record == "" {
		return "", err
	}
	sum := Checksum(content)
	if last, err := w.documents.kept.dir.ReadFile(record); err == nil && string(last) == sum {
		return "", nil
	}
	return sum, nil
}

// WrittenByAgent notes that a document is as an agent has left it.
func (w *Workspace) WrittenByAgent(loc Location) error {
	if !w.isDurable {
		return nil
	}
	content, record, err := w.document(loc)
	if err != nil || record == "" {
		return err
	}
	dir := w.documents.kept.dir
	if err := dir.MkdirAll(path.Dir(record), 0o755); err != nil {
		return failed("write", loc.String(), err)
	}
	in, err := openOnlyDir(dir, path.Dir(record))
	if err != nil {
		return failed("write", loc.String(), err)
	}
	defer in.Close()
	if err := w.replaceFile(in, authorFile, []byte(Checksum(content)), 0o644); err != nil {
		return failed("write", loc.String(), err)
	}
	return nil
}

// document returns a document and where it is noted who wrote it, which is empty where
// there is no document.
func (w *Workspace) document(loc Location) (content []byte, record string, err error) {
	versions, err := w.versionsOf(loc)
	if err != nil || versions == "" {
		return nil, "", err
	}
	text, err := w.ReadCurrent(loc)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrTooLarge) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return []byte(text), path.Join(versions, authorFile), nil
}
