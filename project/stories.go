package project

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe/bundle/sprint"
)

// Stories reads what the project keeps of its epics and stories: from the folders that
// the configuration of its bundles names, and from the documents that agents have written.
func (p *Project) Stories() (sprint.Board, error) {
	folders := []string{"docs", "_bmad-output"}
	for _, b := range p.catalog().Bundles() {
		for _, folder := range b.DocumentFolders() {
			if !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	board, err := readBoard(p.dir, folders...)
	if err != nil || p.documents().InPlace {
		return board, err
	}
	kept, err := readBoard(p.documents().Dir, ".")
	if len(kept.Items) > 0 { // what agents have written counts before the project's own
		return kept, err
	}
	return board, err
}

// readBoard reads folders of a directory, and nothing outside of it.
func readBoard(dir string, folders ...string) (board sprint.Board, err error) {
	root, err := os.OpenRoot(filepath.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return sprint.Board{}, nil
	}
	if err != nil {
		return board, err
	}
	defer func() { err = cmp.Or(err, root.Close()) }()
	return sprint.Read(root.FS(), folders...), nil
}
