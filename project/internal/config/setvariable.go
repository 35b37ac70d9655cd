package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SetVariable sets a variable in the file of [DotEnv] in dir that has it, or in the last of
// them, which nobody but its owner can read from then on. The others stay as they are.
func SetVariable(dir, name, value string) error {
	return holding(dir, nil, DotEnv[len(DotEnv)-1], func(h *Held) error { return h.SetVariable(name, value) })
}

// SetVariable is the function of that name.
func (h *Held) SetVariable(name, value string) error {
	for i, file := range DotEnv {
		lines, err := envLines(filepath.Join(h.dir, file))
		if err != nil {
			return err
		}
		line := name + "=" + value + "\n"
		at := assignments(lines, name)
		switch {
		case len(at) > 0:
			lines[at[0].first] = line
			lines = slices.Delete(lines, at[0].first+1, at[0].end)
		case i < len(DotEnv)-1:
			continue
		default:
			lines = append(lines, line)
		}
		return writeVariables(filepath.Join(h.dir, file), lines)
	}
	return nil
}

// RemoveVariable takes a variable out of the files of [DotEnv]. All else in them stays. Undo
// puts it back, for as long as the configuration is held.
func (h *Held) RemoveVariable(name string) (undo func() error, err error) {
	var undone []func() error
	undo = func() (err error) {
		for _, back := range undone {
			err = errors.Join(err, back())
		}
		return err
	}
	for _, file := range DotEnv {
		path := filepath.Join(h.dir, file)
		lines, err := envLines(path)
		if err != nil {
			return undo, errors.Join(err, undo())
		}
		before, at := slices.Clone(lines), assignments(lines, name)
		if len(at) == 0 {
			continue
		}
		for _, a := range slices.Backward(at) {
			lines = slices.Delete(lines, a.first, a.end)
		}
		if err := writeVariables(path, lines); err != nil {
			return undo, errors.Join(err, undo())
		}
		undone = append(undone, func() error { return writeVariables(path, before) })
	}
	return undo, nil
}

// envLines are the lines of a file, each with its end. One that is not there has none.
func envLines(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(data) == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	text := string(data)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return slices.Collect(strings.Lines(text)), nil
}

// An assignment is where a variable is set: lines from first, up to end.
type assignment struct{ first, end int }

// assignments are the places at which a variable is set, as parseDotEnv reads them: a value in
// double quotes may go over lines.
func assignments(lines []string, name string) (found []assignment) {
	for i := 0; i < len(lines); i++ {
		first := i
		line := strings.TrimSpace(strings.TrimPrefix(lines[i], "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		own, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		value = strings.TrimSpace(value)
		for strings.HasPrefix(value, `"`) && unquotedEnd(value) < 0 && i+1 < len(lines) {
			i++
			value += "\n" + lines[i]
		}
		if strings.TrimSpace(own) == name {
			found = append(found, assignment{first, i + 1})
		}
	}
	return found
}

// writeVariables replaces a file as a whole, so that whoever is killed leaves the keys of
// before. What cannot be replaced, as a file that a container was given, is written in place.
func writeVariables(path string, lines []string) error {
	text := []byte(strings.Join(lines, ""))
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = path, nil
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	temporary := real + ".new"
	if err = os.WriteFile(temporary, text, 0o600); err == nil {
		if err = os.Rename(temporary, real); err == nil {
			return nil
		}
		err = errors.Join(os.Remove(temporary), os.WriteFile(real, text, 0o600), os.Chmod(real, 0o600))
	}
	if err != nil {
		return unwritten(filepath.Base(path), err)
	}
	return nil
}
