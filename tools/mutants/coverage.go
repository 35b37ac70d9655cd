package main

import (
	"path"
	"path/filepath"

	"golang.org/x/tools/cover"
	"golang.org/x/tools/go/packages"
)

// coverage is what a package's tests reach, by file.
type coverage map[string][]cover.ProfileBlock

func readCoverage(profile string, p *packages.Package) (coverage, error) {
	profiles, err := cover.ParseProfiles(profile)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for _, file := range p.CompiledGoFiles {
		files[path.Join(p.PkgPath, filepath.Base(file))] = file
	}
	covered := make(coverage)
	for _, file := range profiles {
		if at, ok := files[file.FileName]; ok {
			covered[at] = file.Blocks
		}
	}
	return covered, nil
}

// has says whether a place is in a block that was carried out.
func (c coverage) has(file string, line, column int) bool {
	for _, b := range c[file] {
		after := line > b.StartLine || line == b.StartLine && column >= b.StartCol
		before := line < b.EndLine || line == b.EndLine && column < b.EndCol
		if after && before && b.Count > 0 {
			return true
		}
	}
	return false
}
