package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DotEnv lists the files beside troupe.yaml that hold variables. The environment
// goes before them, and the first before the second.
var DotEnv = []string{".env.local", ".env"}

// ownPrefix is what the names of Troupe's own variables begin with: set to nothing, they
// switch off what the files say.
const ownPrefix = "TROUPE_"

// Environment returns a lookup that finds what the given one does, and then the
// variables of [DotEnv] in dir. A variable of others that is empty is as good as none:
// containers are given such for what nobody has set outside. Problems says what is wrong with those files; no
// value is part of it.
func Environment(dir string, lookup func(string) (string, bool)) (func(string) (string, bool), error) {
	var found []map[string]string
	var problems Problems
	for _, name := range DotEnv {
		file := filepath.Join(dir, name)
		src, err := readSmall(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return lookup, fmt.Errorf("read variables: %w", err)
		}
		values, wrong := parseDotEnv(file, src)
		found, problems = append(found, values), append(problems, wrong...)
	}
	if len(problems) > 0 {
		return lookup, problems
	}
	if len(found) == 0 {
		return lookup, nil
	}
	return func(name string) (string, bool) {
		here, isSet := lookup(name)
		if isSet && (here != "" || strings.HasPrefix(name, ownPrefix)) {
			return here, true
		}
		for _, values := range found {
			if value, ok := values[name]; ok {
				return value, true
			}
		}
		return "", isSet
	}, nil
}

// readSmall reads a file that is no larger than a configuration may be. What is no
// regular file, such as a directory of that name, counts as absent.
func readSmall(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fs.ErrNotExist
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(src) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes", file, maxBytes)
	}
	return string(src), err
}

// parseDotEnv reads lines of NAME=value. A value may stand in quotes, of which the
// double ones know \n, \t, \" and \\ and may go over lines; without quotes it ends
// before a # that follows a space. Nothing is expanded.
func parseDotEnv(file, src string) (map[string]string, Problems) {
	values := map[string]string{}
	var problems Problems
	lines := strings.Split(strings.TrimPrefix(strings.ReplaceAll(src, "\r\n", "\n"), "\ufeff"), "\n")
	for i := 0; i < len(lines); i++ {
		at := i + 1
		line := strings.TrimSpace(lines[i])
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		name = strings.TrimSpace(name)
		if !ok || !isVariable(name) {
			problems = append(problems, Problem{file, at, "a line here is NAME=value, or begins with #"})
			continue
		}
		value = strings.TrimSpace(value)
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			quote := value[:1]
			for unquotedEnd(value) < 0 && quote == `"` && i+1 < len(lines) {
				i++
				value += "\n" + lines[i]
			}
			end := unquotedEnd(value)
			if end < 0 {
				problems = append(problems, Problem{file, at, "the quote that the value of " + name + " begins with does not end"})
				continue
			}
			value = value[1:end]
			if quote == `"` {
				value = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, "$").Replace(value)
			}
		} else if comment := strings.Index(value, " #"); comment >= 0 {
			value = strings.TrimSpace(value[:comment])
		}
		values[name] = value
	}
	return values, problems
}

// unquotedEnd is where the quote ends that a value begins with, or -1.
func unquotedEnd(value string) int {
	for i := 1; i < len(value); i++ {
		switch {
		case value[i] == '\\' && value[0] == '"':
			i++
		case value[i] == value[0]:
			return i
		}
	}
	return -1
}
