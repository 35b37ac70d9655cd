package catalog

import (
	"regexp"
	"strings"
)

// forms are the spellings under which a name is looked up, from the closest to the
// loosest: as it is; in plain letters, without what providers put around it; and
// without a date or the like behind it.
func forms(name string) [3]string {
	plain := plainName(name)
	return [3]string{name, plain, undated(plain)}
}

var (
	around     = []string{"models/", "accounts/fireworks/models/", "@cf/"}
	region     = regexp.MustCompile(`^(us|eu|apac|global|au|jp|ca|sa|me|af|uk|us-gov)\.`)
	wish       = regexp.MustCompile(`:(free|nitro|online|thinking)$`)
	pointDigit = regexp.MustCompile(`(\d)\.(\d)`)
	behind     = []*regexp.Regexp{
		regexp.MustCompile(`[-@](19|20)\d\d-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])$`), // -2025-08-07, @20250514
		regexp.MustCompile(`-(0[1-9]|1[0-2])-(19|20)\d\d$`),                            // -08-2024
		regexp.MustCompile(`-(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$`),                   // -0905
		regexp.MustCompile(`-(latest|preview)$`),
	}
)

func plainName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, prefix := range around {
		name = strings.TrimPrefix(name, prefix)
	}
	name = region.ReplaceAllString(name, "")
	name = wish.ReplaceAllString(name, "")
	for before := ""; before != name; { // digits of one match may begin the next
		before, name = name, pointDigit.ReplaceAllString(name, "$1-$2")
	}
	return name
}

func undated(name string) string {
	for before := ""; before != name; {
		before = name
		for _, pattern := range behind {
			name = pattern.ReplaceAllString(name, "")
		}
	}
	return name
}

// index makes the maps that names are looked up in.
func (s *shelf) index() {
	for i := range s.by {
		s.by[i] = map[string]*entry{}
	}
	for _, name := range s.names {
		e := s.models[name]
		for _, spelling := range append([]string{name}, e.Also...) {
			for i, form := range forms(spelling) {
				// Where two entries become equal, the shorter name wins; an exact name
				// is its own.
				if other := s.by[i][form]; other == nil || form == name && i == 0 || other.name != form && len(name) < len(other.name) {
					s.by[i][form] = e
				}
			}
		}
	}
}

func (s *shelf) find(name string) *entry {
	for i, form := range forms(name) {
		if e := s.by[i][form]; e != nil {
			return e
		}
	}
	return nil
}
