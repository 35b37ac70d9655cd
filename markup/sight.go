package markup

import (
	"slices"
	"strings"
)

// sightings are the offsets of everything that looks like a start or end tag, by name in lower case, whatever
// surrounds it. They answer what lies ahead.
type sightings map[string]*tagOffsets

type tagOffsets struct{ starts, ends []int }

func sightTags(src string) sightings {
	seen := sightings{}
	for pos := 0; ; {
		i := strings.IndexByte(src[pos:], '<')
		if i < 0 {
			return seen
		}
		at := pos + i
		pos = at + 1
		isEnd := strings.HasPrefix(src[pos:], "/")
		if isEnd {
			pos++
		}
		name := strings.ToLower(nameAt(src, pos))
		if name == "" {
			continue
		}
		pos += len(name)
		offsets := seen[name]
		if offsets == nil {
			offsets = &tagOffsets{}
			seen[name] = offsets
		}
		if isEnd {
			offsets.ends = append(offsets.ends, at)
		} else {
			offsets.starts = append(offsets.starts, at)
		}
	}
}

// endsAfter returns the offsets of the next and of the last end tag of a name after pos, or -1.
func (seen sightings) endsAfter(name string, pos int) (next, last int) {
	s := seen[name]
	if s == nil {
		return -1, -1
	}
	i, _ := slices.BinarySearch(s.ends, pos)
	if i == len(s.ends) {
		return -1, -1
	}
	return s.ends[i], s.ends[len(s.ends)-1]
}

// endsBetween tells whether, between two offsets, an end tag of a name comes before any start tag of that name.
func (seen sightings) endsBetween(name string, from, to int) bool {
	end, _ := seen.endsAfter(name, from)
	if end < 0 || end >= to {
		return false
	}
	starts := seen[name].starts
	i, _ := slices.BinarySearch(starts, from)
	return i == len(starts) || starts[i] > end
}
