package lint

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
)

// unreached reports, in one finding, the files of a bundle that nothing names.
func (l *linter) unreached(b *bundle.Bundle) {
	var unused []string
	for _, file := range l.below(b.Dir) {
		if l.owner(file) == b && !isIncidental(b, file) && !l.isNamed(file) {
			unused = append(unused, strings.TrimPrefix(file, b.Dir+"/"))
		}
	}
	if len(unused) == 0 {
		return
	}
	const shown = 8
	list := strings.Join(unused[:min(len(unused), shown)], ", ")
	if len(unused) > shown {
		list += ", and more"
	}
	l.warn(CodeUnused, b.Dir, 1, "no agent or workflow names %d of the files here: %s; name them where they are used, or remove them", len(unused), list)
}

// owner returns the innermost bundle that a file is in.
func (l *linter) owner(file string) (owner *bundle.Bundle) {
	for _, b := range l.catalog.Bundles() {
		isIn := b.Dir == "." || strings.HasPrefix(file, b.Dir+"/")
		if isIn && (owner == nil || owner.Dir == "." || len(b.Dir) > len(owner.Dir)) {
			owner = b
		}
	}
	return owner
}

// isIncidental says whether a file is of use without being named: for people, for
// installers and for other programs.
func isIncidental(b *bundle.Bundle, file string) bool {
	dirs := strings.Split(path.Dir(strings.TrimPrefix(file, b.Dir+"/")), "/")
	if slices.ContainsFunc(dirs, func(dir string) bool {
		return len(dir) > 1 && (dir[0] == '_' || dir[0] == '.') || slices.Contains([]string{"docs", "teams", "agent-teams", "sub-modules", "sub-agents"}, dir)
	}) {
		return true
	}
	base := path.Base(file)
	stem := strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))
	return base[0] == '.' || strings.HasPrefix(stem, "readme") || strings.HasPrefix(stem, "module") || stem == "bmad-skill-manifest" ||
		slices.Contains([]string{"license", "changelog", "config", "core-config", "bundle", "customize", "skill", "install-manifest"}, stem)
}

// isNamed says whether any other file names this one: by a reference that was
// followed, or in its text. Where several files have the same name, the directory
// must be right, too.
func (l *linter) isNamed(file string) bool {
	if l.named[file] {
		return true
	}
	if l.mentions == nil {
		l.readMentions()
	}
	dir, base := path.Dir(file), path.Base(file)
	parent, ext := path.Base(dir), path.Ext(base)
	isElsewhere := func(in string) bool { return in != file }
	isAbove := func(in string) bool {
		return in != file && (path.Dir(in) == dir || strings.HasPrefix(dir, path.Dir(in)+"/"))
	}
	if slices.ContainsFunc(l.mentions[parent+"/"+base], isElsewhere) || slices.ContainsFunc(l.mentions[parent+"/*"+ext], isElsewhere) ||
		slices.ContainsFunc(l.mentions["./"+base], isAbove) || slices.ContainsFunc(l.mentions[parent+"/"], isAbove) {
		return true
	}
	if b := l.owner(file); b != nil && b.Layout == bundle.LayoutV4 { // names are plain there, in teams as in agents
		isBeside := func(in string) bool { return in != file && l.owner(in) == b }
		if slices.ContainsFunc(l.mentions["./"+base], isBeside) {
			return true
		}
	}
	isUnique := len(l.bases[base]) == 1
	return isUnique && (slices.ContainsFunc(l.mentions[base], isElsewhere) || slices.ContainsFunc(l.mentions[stemOf(base)], isElsewhere))
}

func stemOf(base string) string { return strings.TrimSuffix(base, path.Ext(base)) }

// readMentions notes for all texts of the project which files they seem to name:
// dir/name.md, ./name.md where no directory is given, name.md for both, name,
// dir/*.md for whatever is in a directory, and dir/ for the directory alone.
func (l *linter) readMentions() {
	l.mentions = make(map[string][]string)
	stems := make(map[string]bool, len(l.bases))
	for base := range l.bases {
		stems[stemOf(base)] = true
	}
	for file := range l.homes {
		if !isText(file) {
			continue
		}
		note := func(key string) {
			if files := l.mentions[key]; len(files) == 0 || files[len(files)-1] != file {
				l.mentions[key] = append(files, file)
			}
		}
		for name := range pathWords(l.read(file)) {
			dir, base := path.Split(name)
			parent := path.Base(dir)
			if dir == "" || strings.ContainsAny(parent, "{}*") {
				parent = "."
			}
			switch {
			case base == "":
				note(parent + "/")
			case !bundle.HasExtension(base):
				if stems[base] {
					note(base)
				}
			case strings.ContainsAny(base, "{}*"):
				note(parent + "/*" + path.Ext(base))
			default:
				note(base)
				note(parent + "/" + base)
			}
		}
	}
}

func isText(file string) bool {
	return slices.Contains([]string{".md", ".xml", ".yaml", ".yml", ".csv", ".txt", ".toml", ".json"}, path.Ext(file))
}

// pathWords yields the words of a text, where a path is one word.
func pathWords(text string) iter.Seq[string] {
	isPart := func(c byte) bool {
		return c == '_' || c == '-' || c == '.' || c == '/' || c == '{' || c == '}' || c == '*' ||
			'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
	}
	return func(yield func(string) bool) {
		start := 0
		for i := range len(text) + 1 {
			if i < len(text) && isPart(text[i]) {
				continue
			}
			if word := strings.TrimRight(text[start:i], "."); word != "" && !yield(word) {
				return
			}
			start = i + 1
		}
	}
}
