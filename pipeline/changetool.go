package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/tool/repo"
)

type applyRequest struct {
	state
	At   time.Time `json:"at"`
	Step string    `json:"step"`
	// Changes are all that is to be done, what was held from earlier answers included.
	Changes []edit.Change `json:"changes"`
	// Runs are those of the conversation, by which it is known what was shown in full.
	Runs []string `json:"runs,omitempty"`
	// Own are paths that the agent itself wrote in this step: it knows them.
	Own []string `json:"own,omitempty"`
	// Made are those of them that were not there before the step.
	Made []string `json:"made,omitempty"`
}

type applyResult struct {
	state
	Files     []git.Stat     `json:"files,omitempty"`
	Notes     []string       `json:"notes,omitempty"`
	Problems  []edit.Problem `json:"problems,omitempty"`
	Fits      []string       `json:"fits,omitempty"`
	Sensitive []string       `json:"sensitive,omitempty"`
	// Made are files that were not there before.
	Made []string `json:"made,omitempty"`
}

func (s *workshop) applyTool() troupe.Tool {
	return onSite(s, toolApply, "Applies changes to the worktree: all of them, or none.", func(ctx context.Context, o *openSite, in applyRequest) (applyResult, error) {
		return o.apply(ctx, in)
	})
}

func (o *openSite) apply(ctx context.Context, in applyRequest) (out applyResult, err error) {
	if out.state, err = o.find(ctx, in.state, in.At); err != nil {
		return out, err
	}
	tree, err := o.worktree.Tree(ctx, out.Tree)
	if err != nil {
		return out, err
	}
	shown := o.shown(in.Runs)
	plan, err := edit.Make(tree, in.Changes, edit.Rules{Protected: o.Protect, Made: in.Made, Shown: func(path, content string) bool {
		return slices.Contains(in.Own, path) || slices.Contains(shown, path+" "+hashOf(content))
	}})
	if err != nil {
		return out, err
	}
	out.Notes, out.Problems, out.Fits, out.Sensitive = plan.Notes, plan.Problems, plan.Fits, plan.Sensitive
	if len(plan.Problems) > 0 || len(plan.Writes) == 0 {
		return out, nil
	}
	for _, w := range plan.Writes {
		if tree.Mode(w.Path) == "" && !w.Delete {
			out.Made = append(out.Made, w.Path)
		}
	}
	before := out.Tree
	if out.Tree, err = tree.With(plan.Writes); err != nil {
		return out, err
	}
	if out.Files, err = o.worktree.Stats(ctx, before, out.Tree); err != nil {
		return out, err
	}
	return out, o.become(ctx, out.Tree)
}

// noteShown remembers, on disk, that a conversation has seen the whole of a file: the
// log has it too, but whoever resumes does not read files again to find out.
func (s *workshop) noteShown(session, run, path, content string) error {
	name := filepath.Join(s.folder(session), "shown", slugOf(hashOf(run)[:16]))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	line, _ := json.Marshal(path + " " + hashOf(content)) // of a string it cannot fail
	_, err = f.Write(append(line, '\n'))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func (o *openSite) shown(runs []string) (list []string) {
	for _, run := range runs {
		data, err := os.ReadFile(filepath.Join(o.folder, "shown", slugOf(hashOf(run)[:16])))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			var text string
			if json.Unmarshal([]byte(line), &text) == nil {
				list = append(list, text)
			}
		}
	}
	return list
}

type commitRequest struct {
	state
	At      time.Time `json:"at"`
	Step    string    `json:"step"`
	Message string    `json:"message"`
}

type commitResult struct {
	state
	Commit string     `json:"commit"`
	Files  []git.Stat `json:"files,omitempty"`
}

func (s *workshop) commitTool() troupe.Tool {
	return onSite(s, toolCommit, "Commits what was checked.", func(ctx context.Context, o *openSite, in commitRequest) (out commitResult, err error) {
		out.state = in.state
		message := strings.TrimSpace(in.Message) + "\n\n" + o.trailer(in.Step)
		if out.Commit, err = o.worktree.Commit(ctx, in.Tree, in.Head, message, in.At); err != nil {
			return out, err
		}
		if out.Files, err = o.worktree.Stats(ctx, in.Head, out.Commit); err != nil {
			return out, err
		}
		out.Head = out.Commit // the folder holds the tree already
		return out, nil
	})
}

type resetRequest struct {
	state
	At   time.Time `json:"at"`
	Step string    `json:"step"`
	Try  int       `json:"try"`
}

type resetResult struct {
	state
	Ref string `json:"ref,omitempty"`
}

// resetTool goes back to the last commit, and keeps what was tried under a ref.
func (s *workshop) resetTool() troupe.Tool {
	return onSite(s, toolReset, "Goes back to the last commit and keeps what was tried.", func(ctx context.Context, o *openSite, in resetRequest) (out resetResult, err error) {
		if out.state, err = o.find(ctx, in.state, in.At); err != nil { // what a person did is not the attempt's
			return out, err
		}
		tree, err := o.worktree.TreeOf(ctx, out.Head)
		if err != nil {
			return out, err
		}
		if tree != out.Tree {
			out.Ref = fmt.Sprintf("refs/troupe/%s/attempts/%s-%d", o.ID, nameOf(in.Step), in.Try)
			if _, err := o.worktree.Keep(ctx, out.Ref, out.Tree, out.Head, "Attempt at step "+in.Step+"\n\n"+o.trailer(in.Step), in.At); err != nil {
				return out, err
			}
		}
		out.Tree = tree
		return out, o.become(ctx, tree)
	})
}

type lookRequest struct {
	state
	Paths []string `json:"paths"`
	// Run is the conversation that they are shown to.
	Run string `json:"run"`
	// Since is the commit that the diff is shown from, where it is.
	Since string `json:"since,omitempty"`
	// OnlyMissing asks only which of the paths are not there.
	OnlyMissing bool `json:"only_missing,omitempty"`
	// ByName takes a file for one of its name, wherever it is.
	ByName bool `json:"by_name,omitempty"`
	// Tests are names of tests that are looked for in the files that hold tests.
	Tests []string `json:"tests,omitempty"`
}

type lookResult struct {
	Files string `json:"files,omitempty"`
	Diff  string `json:"diff,omitempty"`
	// Missing are paths that are not there, MissingTests names of tests that no test has.
	Missing      []string `json:"missing,omitempty"`
	MissingTests []string `json:"missing_tests,omitempty"`
}

// maxSearched is how many files are searched for the names of tests.
const maxSearched = 5000

// missingTests are those of the names that no file has: first those are looked at that
// hold tests. Of a repository with too many files it is not known.
func missingTests(v *view, names []string) ([]string, error) {
	missing := slices.Clone(names)
	paths := slices.Clone(v.Paths())
	if len(paths) > maxSearched {
		return nil, nil
	}
	slices.SortStableFunc(paths, func(a, b string) int {
		switch {
		case edit.IsTest(a) == edit.IsTest(b):
			return 0
		case edit.IsTest(a):
			return -1
		}
		return 1
	})
	for _, path := range paths {
		if len(missing) == 0 {
			break
		}
		content, _, err := v.Read(path)
		if err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return strings.Contains(content, name) })
	}
	return missing, nil
}

// maxLook is what is shown of the files that a step names, and of a diff, in bytes.
const maxLook = 48 << 10

func (s *workshop) lookTool() troupe.Tool {
	return onSite(s, toolLook, "Shows files with line numbers, and what was changed so far.", func(ctx context.Context, o *openSite, in lookRequest) (out lookResult, err error) {
		v, err := o.view(ctx, in.Tree)
		if err != nil {
			return out, err
		}
		if out.MissingTests, err = missingTests(v, in.Tests); err != nil {
			return out, err
		}
		var b strings.Builder
		for _, path := range in.Paths {
			content, ok, err := v.Read(path)
			switch {
			case err != nil:
				return out, err
			case !ok && in.ByName && slices.ContainsFunc(v.Paths(), func(p string) bool { return strings.HasSuffix(p, "/"+path) }):
				continue
			case !ok:
				out.Missing = append(out.Missing, path)
				continue
			case in.OnlyMissing || !edit.IsText(content):
				continue
			}
			text, whole := repo.Numbered(path, content, 1, 2000)
			if b.Len()+len(text) > maxLook {
				fmt.Fprintf(&b, "%s is not shown: there is no room left; read it in parts\n\n", path)
				continue
			}
			b.WriteString(text + "\n")
			if whole {
				if err := s.noteShown(o.session, in.Run, path, content); err != nil {
					return out, err
				}
			}
		}
		out.Files = b.String()
		if in.Since != "" {
			out.Diff, err = o.worktree.Diff(ctx, in.Since, in.Tree)
			out.Diff = clipText(out.Diff, maxLook)
		}
		return out, err
	})
}

type diffRequest struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Log wants the commits, too.
	Log bool `json:"log,omitempty"`
}

type diffResult struct {
	Diff  string       `json:"diff"`
	Files []git.Stat   `json:"files"`
	Log   []git.Commit `json:"log,omitempty"`
}

func (s *workshop) diffTool() troupe.Tool {
	return onSite(s, toolDiff, "Shows the whole change.", func(ctx context.Context, o *openSite, in diffRequest) (out diffResult, err error) {
		if out.Files, err = o.worktree.Repo.Renamed(ctx, in.From, in.To); err != nil {
			return out, err
		}
		text, err := o.worktree.Diff(ctx, in.From, in.To)
		out.Diff = clipText(text, 4*maxLook)
		return out, err
	})
}

// statTool says which files differ, without showing how.
func (s *workshop) statTool() troupe.Tool {
	return onSite(s, "count_changes", "Says which files were changed.", func(ctx context.Context, o *openSite, in diffRequest) (diffResult, error) {
		files, err := o.worktree.Repo.Renamed(ctx, in.From, in.To)
		out := diffResult{Files: append([]git.Stat{}, files...)}
		if err == nil && in.Log {
			out.Log, err = o.worktree.Repo.Log(ctx, in.From, in.To)
		}
		return out, err
	})
}
