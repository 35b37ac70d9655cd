package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

const toolGather = "gather_files"

// What a file map may take.
const (
	maxMapped    = 1000     // files listed
	maxMapDepth  = 8        // directories deep
	maxExcerpt   = 4 << 10  // bytes of one file
	maxExcerpts  = 48 << 10 // bytes of all
	maxLeftNamed = 20       // names of what was left out
)

type gatherRequest struct {
	Words []string `json:"words,omitempty" jsonschema:"what the excerpts should be about"`
}

// gatherTool returns the tool gather_files. It only reads, through the workspace, and
// keeps to a budget.
func gatherTool(project *workspace.Workspace) troupe.Tool {
	return troupe.NewToolWithCall(toolGather, "Lists the files of a directory, with excerpts.",
		func(ctx context.Context, _ *troupe.Invocation, in gatherRequest) (FileMap, error) {
			if project == nil {
				return FileMap{}, errors.New("no project was granted")
			}
			g := gathering{ws: project, root: "{" + workspace.ProjectRoot + "}"}
			if err := g.walk(ctx, "", 1); err != nil {
				return FileMap{}, err
			}
			g.excerpt(ctx, in.Words)
			g.conclude()
			return g.FileMap, nil
		}, troupe.RepeatSafe(), troupe.Timeout(uploadTime))
}

// A gathering is a file map in the making.
type gathering struct {
	ws   *workspace.Workspace
	root string
	more int // files beyond the budget
	FileMap
}

// walk lists a directory and those below it, which the workspace shows without
// dot-files and keys.
func (g *gathering) walk(ctx context.Context, dir string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	loc, err := g.ws.Resolve(strings.TrimSuffix(g.root+"/"+dir, "/"))
	if err != nil {
		return err
	}
	list, err := g.ws.List(loc, 1)
	if err != nil {
		return err
	}
	if list.Truncated {
		g.leaveOut(cmp.Or(dir, "."), "has more entries than are read")
	}
	for _, entry := range list.Entries {
		name := path.Join(dir, entry.Path)
		switch {
		case entry.IsLink:
			g.leaveOut(name, "is a link")
		case !entry.IsDir:
			g.add(name, entry.Size)
		case isGenerated(entry.Path):
			g.leaveOut(name+"/", "holds what others made or what can be made again")
		case depth == maxMapDepth:
			g.leaveOut(name+"/", "is too deep")
		default:
			if err := g.walk(ctx, name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// isGenerated tells directories that say nothing about a project by their names.
func isGenerated(name string) bool {
	return slices.Contains([]string{"node_modules", "vendor", "dist", "build", "target", "__pycache__", "venv", "coverage"}, name)
}

func (g *gathering) add(name string, size int64) {
	if len(g.Files) == maxMapped {
		g.more++
		return
	}
	g.Files = append(g.Files, FileEntry{name, size})
}

func (g *gathering) leaveOut(name, why string) {
	if len(g.LeftOut) < maxLeftNamed {
		g.LeftOut = append(g.LeftOut, name+" "+why)
	}
}

// excerpt reads the beginnings of files, those first that seem to matter most.
func (g *gathering) excerpt(ctx context.Context, words []string) {
	files := slices.Clone(g.Files)
	slices.SortStableFunc(files, func(a, b FileEntry) int {
		return cmp.Compare(interest(b.Path, words), interest(a.Path, words))
	})
	room := int64(maxExcerpts)
	for _, f := range files {
		if room <= 0 || ctx.Err() != nil {
			return
		}
		loc, err := g.ws.Resolve(g.root + "/" + f.Path)
		if err != nil {
			continue
		}
		text, err := g.ws.ReadText(loc, 0, min(maxExcerpt, room))
		switch {
		case err != nil:
			g.leaveOut(f.Path, "cannot be read")
		case text.Binary:
			g.leaveOut(f.Path, "is binary")
		case text.Size > 0:
			g.Excerpts = append(g.Excerpts, Excerpt{f.Path, text.Content, text.Truncated()})
			room -= int64(len(text.Content))
		}
	}
}

// interest guesses from its name how much a file says about a project.
func interest(name string, words []string) int {
	lower, score := strings.ToLower(name), -strings.Count(name, "/")
	base := path.Base(lower)
	if strings.HasPrefix(base, "readme") {
		score += 6
	}
	if slices.Contains([]string{"go.mod", "package.json", "pyproject.toml", "cargo.toml", "pom.xml", "makefile"}, base) {
		score += 5
	}
	if stem, _, _ := strings.Cut(base, "."); slices.Contains([]string{"main", "index", "app", "server"}, stem) {
		score += 3
	}
	for _, word := range words {
		if len(word) > 3 && strings.Contains(lower, word) {
			score += 4
		}
	}
	return score
}

// conclude says what else was left out.
func (g *gathering) conclude() {
	if g.more > 0 {
		g.LeftOut = append(g.LeftOut, fmt.Sprintf("%d more files", g.more))
	}
	if n := len(g.Files) - len(g.Excerpts); n > 0 {
		g.LeftOut = append(g.LeftOut, fmt.Sprintf("%d files are listed without an excerpt", n))
	}
	g.LeftOut = append(g.LeftOut, "dot-files and keys are never shown")
}
