package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle"
)

func (p *program) addCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add ARCHIVE",
		Short: "Unpack the zip archive of a bundle into the project",
		Long: "Unpacks the zip archive of a bundle into bmad/custom/bundles, under the name that its bundle.yaml gives it.\n" +
			"An archive that holds anything but files and directories, or names that lead elsewhere, is refused whole.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := p.projectDir()
			if err != nil {
				return err
			}
			name, err := bundle.Unpack(args[0], filepath.Join(dir, "bmad", "custom", "bundles"))
			if err != nil {
				return err
			}
			where := filepath.Join("bmad", "custom", "bundles", name)
			if p.flags.json {
				return p.writeJSON(struct {
					Bundle string `json:"bundle"`
					Dir    string `json:"dir"`
				}{name, filepath.ToSlash(where)})
			}
			fmt.Fprintln(p.out, where)
			p.tell("'troupe lint %s' says whether anything is wrong with it.", where)
			return nil
		},
	}
}

// projectDir returns the project's directory, which must be there. What is in it need
// not be right: a bundle may be what it lacks.
func (p *program) projectDir() (string, error) {
	info, err := os.Stat(p.flags.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("project %s: there is no such directory", p.flags.dir)
	case err != nil:
		return "", fmt.Errorf("project: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("project %s: it is not a directory", p.flags.dir)
	}
	return filepath.Abs(p.flags.dir)
}
